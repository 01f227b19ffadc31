package replica

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/strictkv/strictkv"
)

// Item is a key with its value. Both are the caller's. Small ones that a scan yields one after the
// other share memory, up to 4 KiB: who keeps few of many should copy them.
type Item struct {
	Key []byte
	// Value is nil only if keys alone were wanted.
	Value []byte
	// Expires is when the value expires; zero if it does not.
	Expires time.Time

	version [16]byte
}

// Version is the value's, as of a strictkv.Item: Tx.Require of it finds out in a transaction
// whether the value is still the current one.
func (i Item) Version() strictkv.Version {
	v, _ := versionFrom(i.version) // it was one
	return v
}

// View is one state of a Replica, which does not change. It must not be used after the function
// that it was given to has returned.
type View struct {
	s   *shown
	now time.Time // what is due by then is not seen
}

// View calls fn with what the Replica shows now. The state stays as it is for as long as fn takes;
// the disk keeps what is replaced meanwhile. It returns fn's error, or ErrNotReady or
// strictkv.ErrClosed.
func (r *Replica) View(fn func(v *View) error) error {
	s, err := r.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	return fn(&View{s, time.Now()})
}

// Read returns the value of a key. It is the caller's. Errors: strictkv.ErrNotFound, ErrNotReady,
// strictkv.ErrInvalid for a collection that is not copied, strictkv.ErrClosed.
func (r *Replica) Read(c *strictkv.Collection, key []byte) ([]byte, error) {
	name := ""
	if n, err := r.number(c); err == nil {
		var room [nameRoom]byte
		name = string(cellKey(room[:0], keyRecord, n, key))
		if f, ok := r.records.Load().get(name); ok {
			return f.read(key)
		}
	}
	s, err := r.acquire()
	if err != nil {
		return nil, err
	}
	defer s.release()
	return s.read(c, key, name)
}

// nameRoom is where the key of a record fits mostly, in bytes.
const nameRoom = 600

// read is Read of what is kept in memory.
func (f found) read(key []byte) ([]byte, error) {
	due := f.expires != 0 && f.expires <= time.Now().UnixNano()
	if f.absent || due {
		return nil, fmt.Errorf("read %q: %w", key, strictkv.ErrNotFound)
	}
	return append(make([]byte, 0, len(f.value)), f.value...), nil
}

// read is Read of what is not kept in memory, and keeps it there.
func (s *shown) read(c *strictkv.Collection, key []byte, name string) ([]byte, error) {
	v := View{s: s}
	i, err := v.ReadItem(c, key)
	switch {
	case err == nil:
		s.records.keep(s.edition, name, found{expires: nanoseconds(i.Expires), value: i.Value})
	case errors.Is(err, strictkv.ErrNotFound):
		s.records.keep(s.edition, name, found{absent: true})
	}
	return i.Value, err
}

// Scan yields the keys of a range that have a value, in order, with their values, of one state.
// Errors, of which one ends the loop, are as for Read.
func (r *Replica) Scan(c *strictkv.Collection, within strictkv.Range) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		s, err := r.acquire()
		if err != nil {
			yield(Item{}, err)
			return
		}
		defer s.release()
		v := View{s, time.Now()}
		v.Scan(c, within)(yield)
	}
}

// Read returns the value of a key, as Replica.Read does.
func (v *View) Read(c *strictkv.Collection, key []byte) ([]byte, error) {
	i, err := v.ReadItem(c, key)
	return i.Value, err
}

// ReadItem is Read that tells also which version the value has, and when it expires.
func (v *View) ReadItem(c *strictkv.Collection, key []byte) (Item, error) {
	n, err := v.s.r.number(c)
	if err != nil {
		return Item{}, fmt.Errorf("read %q: %w", key, err)
	}
	var room [nameRoom]byte
	var rec record
	name := cellKey(room[:0], keyRecord, n, key)
	err = v.s.get(name, func(b []byte) error {
		err := rec.decode(b)
		rec.value = append(make([]byte, 0, len(rec.value)), rec.value...)
		return err
	})
	switch {
	case err != nil:
		return Item{}, v.failed("read", key, err)
	case rec.expires != 0 && rec.due(v.time()):
		return Item{}, v.failed("read", key, errAbsent)
	case rec.large:
		if rec.value, err = v.large(n, key); err != nil {
			return Item{}, v.failed("read", key, err)
		}
	}
	return Item{key, rec.value, instant(rec.expires), rec.version}, nil
}

// time is when the view was opened.
func (v *View) time() time.Time {
	if v.now.IsZero() {
		v.now = time.Now()
	}
	return v.now
}

// large is the value that is kept beside a record.
func (v *View) large(n int, key []byte) (value []byte, err error) {
	err = v.s.get(cellKey(nil, keyLarge, n, key), func(b []byte) error {
		value = append(make([]byte, 0, len(b)), b...)
		return nil
	})
	if errors.Is(err, errAbsent) {
		return nil, fmt.Errorf("%w: its value is not there", errRecord)
	}
	return value, err
}

// failed makes an error a caller's. Damage is told to who follows.
func (v *View) failed(step string, key []byte, err error) error {
	switch {
	case errors.Is(err, errAbsent):
		return fmt.Errorf("%s %q: %w", step, key, strictkv.ErrNotFound)
	case errors.Is(err, errDamage):
		v.s.r.noticed(err)
		return fmt.Errorf("%s %q: %w: %w", step, key, ErrNotReady, err)
	}
	return fmt.Errorf("%s %q: %w", step, key, err)
}

// Scan yields the keys of a range that have a value, as Replica.Scan does. All scans of a View are
// of one state.
func (v *View) Scan(c *strictkv.Collection, within strictkv.Range) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := v.scan(c, within, func(i Item) bool { return yield(i, nil) }); err != nil {
			yield(Item{}, v.failed("scan", within.From, err))
		}
	}
}

func (v *View) scan(
	c *strictkv.Collection, within strictkv.Range, yield func(Item) bool,
) (err error) {
	n, err := v.s.r.number(c)
	switch {
	case err != nil:
		return err
	case within.Limit < 0:
		return fmt.Errorf("limit %d: %w", within.Limit, strictkv.ErrInvalid)
	}
	from, to := cellKey(nil, keyRecord, n, within.From), cellKey(nil, keyRecord, n+1, nil)
	if len(within.To) > 0 {
		to = cellKey(nil, keyRecord, n, within.To)
	}
	i, err := v.s.cursor(from, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	start, step := i.first, i.next
	if within.Reverse {
		start, step = i.last, i.prev
	}
	var room arena
	left, now := within.Limit, v.time()
	for more := start(); more; more = step() {
		b, err := i.value()
		if err != nil {
			return err
		}
		var rec record
		if err := rec.decode(b); err != nil {
			return err
		}
		if rec.due(now) {
			continue
		}
		key := i.key()[cellHead:]
		item := rec.item(key, within.KeysOnly, &room)
		if rec.large && !within.KeysOnly {
			if item.Value, err = v.large(n, key); err != nil {
				return err
			}
		}
		if !yield(item) {
			return nil
		}
		if left--; left == 0 {
			return nil
		}
	}
	return nil
}

// item is what a scan yields of a record, but for a value that is large.
func (r *record) item(key []byte, keyOnly bool, room *arena) Item {
	if keyOnly {
		key, _ = room.copies(key, nil)
		return Item{Key: key}
	}
	key, value := room.copies(key, r.value)
	return Item{key, value, instant(r.expires), r.version}
}

// arenaMax is how many bytes a scan allocates at once for keys and values that are small: twice as
// many each time. Who keeps one Item keeps its neighbours, up to that.
const arenaMax = 4 << 10

// arena is room for the keys and values of a scan.
type arena []byte

// copies are those of a key and a value. Appending to them changes nothing else.
func (a *arena) copies(key, value []byte) (k, v []byte) {
	size := len(key) + len(value)
	if size > cap(*a)-len(*a) {
		*a = make([]byte, 0, max(size, min(2*cap(*a), arenaMax)))
	}
	b := (*a)[len(*a) : len(*a) : len(*a)+size]
	*a = (*a)[:len(*a)+size]
	b = append(append(b, key...), value...)
	return b[:len(key):len(key)], b[len(key):]
}
