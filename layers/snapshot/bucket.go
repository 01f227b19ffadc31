package snapshot

import (
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

const (
	// uploadsMax is how many parts of a save are under way at once.
	uploadsMax = 8
	// triesMax is how often a request is sent that fails, with pauses from tryPause to tryPauseMax.
	triesMax    = 8
	tryPause    = 50 * time.Millisecond
	tryPauseMax = 5 * time.Second
)

// partsCached is how many bytes of parts a Bucket keeps in memory, unless one alone has more.
var partsCached = 64 << 20 // a test lowers it

// Bucket returns the store below a prefix of a bucket; "" is the whole bucket. Segments of files,
// of about 1 MiB, are objects by their hash, so that a snapshot shares them with others: a save
// uploads only what is not there. They are fetched when they are read, and the last 64 MiB kept;
// who reads most of a snapshot copies it into a directory before: Copy.
func Bucket(b backend.Backend, prefix string) Store {
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return &bucket{in: b, prefix: prefix, cached: map[table.Sum]*list.Element{}, order: list.New()}
}

type bucket struct {
	in     backend.Backend
	prefix string

	mu     sync.Mutex // guards all below
	cached map[table.Sum]*list.Element
	order  *list.List // of *part, the last used first
	size   int
}

type part struct {
	sum  table.Sum
	data []byte
}

func (b *bucket) object(kind, id string) string { return b.prefix + kind + "/" + id }

// try sends a request again that failed for a reason that may pass. Each must do no harm twice.
func try(ctx context.Context, f func() error) error {
	pause := tryPause
	for n := 1; ; n++ {
		err := f()
		passes := errors.Is(err, backend.ErrThrottled) || errors.Is(err, backend.ErrUnavailable) ||
			errors.Is(err, backend.ErrOutcomeUnknown)
		if err == nil || !passes || n == triesMax {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(max(pause, backend.PauseAsked(err))):
		}
		pause = min(2*pause, tryPauseMax)
	}
}

func (b *bucket) get(ctx context.Context, name string) (o backend.Object, err error) {
	err = try(ctx, func() error {
		o, err = b.in.Get(ctx, name, "")
		return err
	})
	return o, err
}

// put writes an object, whatever was there before; two that do so at once write the same.
func (b *bucket) put(ctx context.Context, name string, data []byte) (at backend.Stamp, err error) {
	c := backend.IfAbsent()
	for range triesMax {
		err = try(ctx, func() error {
			at, err = b.in.Put(ctx, name, data, c)
			return err
		})
		if !errors.Is(err, backend.ErrPrecondition) {
			return at, err
		}
		if c, err = b.state(ctx, name); err != nil {
			return at, err
		}
	}
	return at, err
}

// state is the condition that an object is as it is now. It needs no leave to read it.
func (b *bucket) state(ctx context.Context, name string) (c backend.Condition, err error) {
	var page backend.Page
	err = try(ctx, func() error {
		page, err = b.in.List(ctx, backend.ListOptions{Prefix: name, Limit: 1})
		return err
	})
	if len(page.Objects) > 0 && page.Objects[0].Name == name {
		return backend.IfVersion(page.Objects[0].Version), err
	}
	return backend.IfAbsent(), err
}

func (b *bucket) open(ctx context.Context, kind, id string) (*table.File, error) {
	o, err := b.get(ctx, b.object(kind, id))
	if err != nil {
		return nil, err
	}
	return table.New(o.Data, &parts{b})
}

// parts are a file's segments in a bucket.
type parts struct{ *bucket }

// Bytes implements table.Source.
func (p *parts) Bytes(
	ctx context.Context, s *table.Segment, offset, n int64,
) ([]byte, bool, error) {
	data := p.lookup(s.Sum)
	if data == nil {
		name := p.object(kindPart, hex.EncodeToString(s.Sum[:]))
		o, err := p.get(ctx, name)
		if errors.Is(err, backend.ErrNotFound) {
			return nil, false, fmt.Errorf("%w: the part %s is missing", ErrCorrupt, name)
		} else if err != nil {
			return nil, false, err
		}
		if sha256.Sum256(o.Data) != s.Sum {
			return nil, false, &backend.CorruptError{
				Object: name, Err: errors.New("its content has another hash"),
			}
		}
		data = o.Data
		p.keep(s.Sum, data)
	}
	if offset+n > int64(len(data)) {
		return nil, false, fmt.Errorf("%w: a part of %d bytes", ErrCorrupt, len(data))
	}
	return data[offset : offset+n : offset+n], true, nil
}

// Close implements table.Source.
func (p *parts) Close() error { return nil }

func (b *bucket) lookup(sum table.Sum) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.cached[sum]
	if e == nil {
		return nil
	}
	b.order.MoveToFront(e)
	return e.Value.(*part).data
}

func (b *bucket) keep(sum table.Sum, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cached[sum] != nil {
		return
	}
	b.cached[sum] = b.order.PushFront(&part{sum, data})
	for b.size += len(data); b.size > partsCached && b.order.Len() > 1; {
		p := b.order.Remove(b.order.Back()).(*part)
		delete(b.cached, p.sum)
		b.size -= len(p.data)
	}
}

func (b *bucket) list(ctx context.Context, kind string) (all []stored, err error) {
	o := backend.ListOptions{Prefix: b.object(kind, "")}
	for {
		var page backend.Page
		err := try(ctx, func() (err error) {
			page, err = b.in.List(ctx, o)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, x := range page.Objects {
			id := strings.TrimPrefix(x.Name, o.Prefix)
			all = append(all, stored{id, x.Size, x.Modified, x.Version})
			o.After = x.Name
		}
		if !page.More {
			return all, nil
		}
	}
}

func (b *bucket) remove(ctx context.Context, kind string, s stored) error {
	err := try(ctx, func() error { return b.in.Delete(ctx, b.object(kind, s.id), s.version) })
	if errors.Is(err, backend.ErrPrecondition) || errors.Is(err, backend.ErrNotFound) {
		return nil // somebody was quicker, or has written it again
	}
	return err
}

const gcObject = "lock"

// exclude announces a GC by an object, and looks for saves only then; a save does it the other way
// round. So one of them sees the other.
func (b *bucket) exclude(ctx context.Context) (now time.Time, done func() error, err error) {
	locks, err := b.list(ctx, "gc")
	if err != nil {
		return now, nil, err
	}
	c := backend.IfAbsent()
	if len(locks) > 0 {
		if fresh(locks) {
			return now, nil, ErrBusy
		}
		c = backend.IfVersion(locks[0].version)
	}
	at, err := b.lock(ctx, c)
	if err != nil {
		return now, nil, err
	}
	mine := stored{id: gcObject, version: at.Version}
	done = func() error { return b.remove(context.WithoutCancel(ctx), "gc", mine) }
	saves, err := b.list(ctx, kindSaving)
	if err == nil && fresh(saves) {
		err = ErrBusy
	}
	if err != nil {
		return now, nil, errors.Join(err, done())
	}
	if now = at.Time; now.IsZero() {
		now = time.Now()
	}
	return now, done, nil
}

// lock writes the object that announces a GC; another GC may be quicker.
func (b *bucket) lock(ctx context.Context, c backend.Condition) (at backend.Stamp, err error) {
	name, text := b.object("gc", gcObject), rand.Text()
	err = try(ctx, func() error {
		at, err = b.in.Put(ctx, name, []byte(text), c)
		return err
	})
	if !errors.Is(err, backend.ErrPrecondition) {
		return at, err
	}
	o, err := b.get(ctx, name) // it may be one's own, whose answer was lost
	if err == nil && string(o.Data) == text {
		return backend.Stamp{Version: o.Version, Time: o.Time}, nil
	}
	return at, errors.Join(ErrBusy, err)
}

// fresh reports whether an announcement is of a process that may be alive.
func fresh(all []stored) bool {
	return slices.ContainsFunc(all, func(s stored) bool {
		return time.Since(s.modified) < staleAfter
	})
}

func (b *bucket) begin(ctx context.Context) (session, error) {
	s := &bucketSession{bucket: b, ctx: ctx, id: rand.Text(), there: map[table.Sum]bool{}}
	if err := s.announce(); err != nil {
		return nil, err
	}
	locks, err := b.list(ctx, "gc")
	if err == nil && fresh(locks) {
		err = ErrBusy
	}
	if err == nil {
		err = s.lookAround()
	}
	if err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

// bucketSession knows which parts are there: no GC removes any before it ends.
type bucketSession struct {
	*bucket
	ctx context.Context
	id  string

	mu        sync.Mutex // guards all below
	there     map[table.Sum]bool
	announced time.Time
	at        backend.Version
}

func (s *bucketSession) announce() error {
	at, err := s.put(s.ctx, s.object(kindSaving, s.id), []byte(rand.Text()))
	s.announced, s.at = time.Now(), at.Version
	return err
}

func (s *bucketSession) lookAround() error {
	all, err := s.list(s.ctx, kindPart)
	for _, x := range all {
		if sum, err := parseName(x.id); err == nil {
			s.there[sum] = true
		}
	}
	return err
}

func (s *bucketSession) scratch() string { return os.TempDir() }

func (s *bucketSession) touch(kind, id string) error {
	name := s.object(kind, id)
	o, err := s.get(s.ctx, name)
	if err == nil {
		_, err = s.put(s.ctx, name, o.Data)
	}
	return err
}

func (s *bucketSession) create() (draft, error) {
	d := &bucketDraft{bucketSession: s}
	d.uploads.SetLimit(uploadsMax)
	return d, nil
}

func (s *bucketSession) end() error {
	return s.remove(context.WithoutCancel(s.ctx), kindSaving, stored{id: s.id, version: s.at})
}

// bucketDraft uploads segments as they come. Those of what is not published are left for the GC, or
// whoever saves the same.
type bucketDraft struct {
	*bucketSession
	uploads errgroup.Group
}

func (d *bucketDraft) segment(data []byte, sum table.Sum) error {
	d.mu.Lock()
	known := d.there[sum]
	d.there[sum] = true
	var err error
	if time.Since(d.announced) > staleAfter/24 {
		err = d.announce()
	}
	d.mu.Unlock()
	if known || err != nil {
		return err
	}
	data = append([]byte(nil), data...)
	d.uploads.Go(func() error {
		err := try(d.ctx, func() error {
			name := d.object(kindPart, hex.EncodeToString(sum[:]))
			_, err := d.in.Put(d.ctx, name, data, backend.IfAbsent())
			return err
		})
		if errors.Is(err, backend.ErrPrecondition) {
			return nil // it has the same content, as its name says
		}
		return err
	})
	return nil
}

func (d *bucketDraft) restart() error { return d.uploads.Wait() }

func (d *bucketDraft) reopen(tail []byte) (*table.File, error) {
	if err := d.uploads.Wait(); err != nil {
		return nil, err
	}
	return table.New(tail, &parts{d.bucket})
}

func (d *bucketDraft) publish(kind, id string, tail []byte) error {
	if err := d.uploads.Wait(); err != nil {
		return err
	}
	_, err := d.put(d.ctx, d.object(kind, id), tail)
	return err
}
