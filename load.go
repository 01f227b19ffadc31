package strictkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/seam"
)

const (
	// loadBytesMax bounds the bytes of keys and values that a Load inserts at once, unless one
	// alone has more.
	loadBytesMax = 64 << 20
	// loadFailuresMax bounds the failures that a LoadReport lists.
	loadFailuresMax = 100
	// loadProgressEvery is how many keys are taken between two calls of LoadOptions.Progress.
	loadProgressEvery = 1000
	// loadTriesMax is how often a key is inserted again whose insertion is in doubt.
	loadTriesMax = 3
)

// LoadOptions configures a Collection.Load.
type LoadOptions struct {
	// Concurrency is how many keys are inserted at once; 0 is what WithConcurrency has set,
	// which bounds it as well.
	Concurrency int
	// Progress, if not nil, is called about once for 1000 keys, and at the end, with what has
	// been done so far, always by the goroutine that called Load.
	Progress func(LoadReport)
}

// LoadReport is what a Collection.Load has done.
type LoadReport struct {
	// Taken counts the keys that the sequence has yielded.
	Taken int64
	// Inserted counts those that this Load has inserted, and Present those that were there with
	// the same value.
	Inserted, Present int64
	// Bytes is the size of the keys and values that are inserted or present.
	Bytes int64
	// Failed counts the keys that could not be loaded.
	Failed int64
	// Failures lists them, up to 100, in the order in which they failed.
	Failures []LoadFailure
}

// LoadFailure is a key that could not be loaded.
type LoadFailure struct {
	Key []byte
	// Err matches ErrExists if the key has another value, which stays, or ErrInvalidKey,
	// ErrTooLarge, ErrCorrupt or ErrFormat.
	Err error
}

// Load inserts the keys that a sequence yields, many at once: it is for bringing data into a
// collection. It is not a transaction: each key is inserted by one of its own, which costs one
// request, or two where a request may be sent twice on its way (backend.Capabilities.SendsOnce),
// and can be read as soon as it is there.
//
// A key that is there with the same value is fine, so that a load that was stopped, or killed,
// can be repeated: from its beginning, since any number of insertions may overtake a slow one, so
// that no LoadReport tells of a point up to which all is there. Each such key costs a write
// that is refused and a read. A key that is there with another value is left as it is, and
// reported, like one that is not allowed: LoadReport.Failures tells which, and Load goes on and
// returns nil. Of a key that the sequence yields twice with different values, either may stay.
//
// The sequence is read by the goroutine that called Load, no further ahead than keys are
// inserted at once, and not beyond 64 MiB of them: memory depends neither on the number of keys
// nor on the size of their values. What it yields may be reused as soon as it goes on. A
// sequence has no place for an error of its own: stop it, and look after Load what has stopped
// it. What is loaded goes through the handle's cache; who wants to keep what is in there loads
// by a handle of its own (WithCacheSize).
//
// Any other error ends Load, after the insertions that have begun: ErrClosed (also if the
// handle is closed meanwhile), ErrReadOnly, ErrInvalid, ErrInvalidKey of the collection,
// ErrUnavailable, ErrInDoubt, the backend's, and the context's. The report then tells what is
// certain; up to Concurrency keys of those taken may be there without being counted. Load again.
func (c *Collection) Load(
	ctx context.Context, seq iter.Seq2[[]byte, []byte], o LoadOptions,
) (LoadReport, error) {
	if err := c.begin(); err != nil {
		return LoadReport{}, fmt.Errorf("load: %w", err)
	}
	defer c.db.end()
	switch {
	case seq == nil:
		return LoadReport{}, fmt.Errorf("load: nil sequence: %w", ErrInvalid)
	case o.Concurrency < 0:
		return LoadReport{}, fmt.Errorf("load: concurrency %d: %w", o.Concurrency, ErrInvalid)
	case o.Concurrency == 0 || o.Concurrency > c.db.concurrency:
		o.Concurrency = c.db.concurrency
	}
	if err := c.db.writable(); err != nil {
		return LoadReport{}, fmt.Errorf("load: %w", err)
	}
	ctx, work := c.db.st.Observer().Work(ctx, observe.Load)
	l := load{c: c, tell: o.Progress}
	l.all(ctx, seq, seam.NewPool(c.db.rt, o.Concurrency, 0))
	report, err := l.soFar()
	work.Done(ctx, report.Taken, err)
	if l.tell != nil {
		l.tell(report)
	}
	if err != nil {
		return report, fmt.Errorf("load: %w", err)
	}
	return report, nil
}

// load is a Load. What its goroutines share is guarded by mu.
type load struct {
	c    *Collection
	tell func(LoadReport)

	mu     seam.Mutex // guards all below
	report LoadReport
	err    error      // the first that ends the load
	bytes  int        // of what is being inserted
	room   seam.Event // set when bytes falls; nil if nobody waits
}

// all inserts what the sequence yields, until that ends or something fails. Whatever comes, no
// insertion is under way any more when it returns.
func (l *load) all(ctx context.Context, seq iter.Seq2[[]byte, []byte], pool *seam.Pool) {
	defer func() { l.end(pool.Wait()) }() // also if the sequence panics
	for key, value := range seq {
		item := Item{Key: bytes.Clone(key), Value: bytes.Clone(value)}
		if !l.take(ctx, pool, item) {
			return
		}
	}
}

// take hands a key over to be inserted, once there is room for it, and reports whether the
// load goes on.
func (l *load) take(ctx context.Context, pool *seam.Pool, item Item) bool {
	size := len(item.Key) + len(item.Value)
	if err := l.admit(ctx, size); err != nil {
		l.end(err)
		return false
	}
	err := pool.Do(ctx, func() {
		l.insert(ctx, item)
		l.leave(size)
	})
	if err != nil {
		l.leave(size)
		l.end(err)
		return false
	}
	l.mu.Lock()
	l.report.Taken++
	l.mu.Unlock()
	report, err := l.soFar()
	if err == nil && l.tell != nil && report.Taken%loadProgressEvery == 0 {
		l.tell(report)
	}
	return err == nil
}

// admit waits until there is room for some bytes more.
func (l *load) admit(ctx context.Context, size int) error {
	for {
		l.mu.Lock()
		if l.bytes == 0 || l.bytes+size <= loadBytesMax {
			l.bytes += size
			l.mu.Unlock()
			return ctx.Err()
		}
		room := l.c.db.rt.NewEvent()
		l.room = room
		l.mu.Unlock()
		if err := room.Wait(ctx); err != nil {
			return err
		}
	}
}

func (l *load) leave(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= size
	if l.room != nil {
		l.room.Set()
		l.room = nil
	}
}

// insert inserts a key, unless something has ended the load, and notes what came of it.
func (l *load) insert(ctx context.Context, item Item) {
	if _, err := l.soFar(); err != nil {
		return
	}
	inserted, err := l.once(ctx, item)
	for try := 1; try < loadTriesMax && errors.Is(err, ErrInDoubt) && ctx.Err() == nil; try++ {
		inserted, err = l.once(ctx, item) // it may have been inserted, by us
	}
	if err != nil && !ofTheKey(err) {
		l.end(err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.report.Failed++
		if len(l.report.Failures) < loadFailuresMax {
			l.report.Failures = append(l.report.Failures, LoadFailure{Key: item.Key, Err: err})
		}
		return
	case inserted:
		l.report.Inserted++
	default:
		l.report.Present++
	}
	l.report.Bytes += int64(len(item.Key) + len(item.Value))
}

// once inserts a key, and reports whether it was not there. It is an error if it is with
// another value.
func (l *load) once(ctx context.Context, item Item) (inserted bool, err error) {
	err = l.c.db.Tx(ctx, func(tx *Tx) error {
		err := tx.Insert(l.c, item.Key, item.Value)
		inserted = err == nil
		if !errors.Is(err, ErrExists) {
			return err
		}
		there, rerr := tx.Read(l.c, item.Key)
		if rerr == nil && !bytes.Equal(there, item.Value) {
			return fmt.Errorf("%w with another value", err)
		}
		return rerr
	})
	return inserted, err
}

// ofTheKey reports whether an error is of one key, while others may be loaded.
func ofTheKey(err error) bool {
	for _, target := range []error{ErrExists, ErrInvalidKey, ErrTooLarge, ErrCorrupt, ErrFormat} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// soFar returns what has been done, and what has ended the load. The list of failures is the
// caller's to read: it only grows.
func (l *load) soFar() (LoadReport, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.report, l.err
}

// end keeps the first error that ends the load.
func (l *load) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}
