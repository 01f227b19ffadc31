package table

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
)

// keyChunk is how much memory for keys a Cursor takes at once, in bytes.
const keyChunk = 4096

// Cursor stands on an entry of a file, or on none. One goroutine at a time may use it.
type Cursor struct {
	f   *File
	ctx context.Context

	seg   int
	s     Segment
	index block
	blk   int
	b     block
	k     int

	keys []byte // a chunk: what was handed out stays as it is
	e    Entry
	ok   bool
	err  error
}

// Cursor returns one that stands on no entry. Requests end with ctx.
func (f *File) Cursor(ctx context.Context) *Cursor { return &Cursor{f: f, ctx: ctx, seg: -1} }

// Entry is the entry that the cursor stands on, nil if there is none. It is the cursor's, and goes
// on with that; its key and value stay as they are until the file is closed.
func (c *Cursor) Entry() *Entry {
	if !c.ok {
		return nil
	}
	return &c.e
}

// Err is the first error. It leaves the cursor on no entry for good.
func (c *Cursor) Err() error { return c.err }

// Seek goes to the first key that is not less; nil is the first of all.
func (c *Cursor) Seek(key []byte) {
	if i := max(c.f.top.before(key), 0); !c.enter(i) || !c.enterBlock(max(c.index.before(key), 0)) {
		return
	}
	c.k, _ = c.b.search(key)
	c.settle(1)
}

// SeekBefore goes to the last key that is less; nil is the last of all.
func (c *Cursor) SeekBefore(key []byte) {
	i := c.f.top.n - 1
	if key != nil {
		i = c.f.top.before(key)
	}
	if !c.enter(i) {
		return
	}
	j := c.index.n - 1
	if key != nil {
		j = c.index.before(key)
	}
	if !c.enterBlock(j) {
		return
	}
	c.k = c.b.n
	if key != nil {
		c.k, _ = c.b.search(key)
	}
	c.k--
	c.settle(-1)
}

// Next goes to the next key.
func (c *Cursor) Next() {
	c.k++
	if c.k < c.b.n {
		c.load()
		return
	}
	c.settle(1)
}

// Prev goes to the key before.
func (c *Cursor) Prev() {
	c.k--
	c.settle(-1)
}

// settle goes on, in a direction, to the first place at which there is an entry.
func (c *Cursor) settle(by int) {
	for c.err == nil && (c.k < 0 || c.k >= c.b.n) {
		c.ok = false
		if j := c.blk + by; j >= 0 && j < c.index.n {
			if !c.enterBlock(j) {
				return
			}
		} else {
			if !c.enter(c.seg + by) {
				return
			}
			j = 0
			if by < 0 {
				j = c.index.n - 1
			}
			if !c.enterBlock(j) {
				return
			}
		}
		c.k = 0
		if by < 0 {
			c.k = c.b.n - 1
		}
	}
	c.load()
}

// enter goes to a segment; it reports whether there is one.
func (c *Cursor) enter(i int) bool {
	c.ok = false
	if c.err != nil || i < 0 || i >= c.f.top.n {
		return false
	}
	if i == c.seg {
		return true
	}
	if c.s, c.err = c.f.Segment(i); c.err == nil {
		if c.f.mapped != nil {
			advise(c.f.mapped, c.s.Offset, c.s.Offset+c.s.Length, readSoon)
		}
		c.index, c.err = c.f.block(c.ctx, &c.s, c.s.indexPlace())
	}
	c.seg, c.blk = i, -1
	return c.err == nil
}

// enterBlock goes to a block of the segment; it reports whether there is one.
func (c *Cursor) enterBlock(j int) bool {
	if c.err != nil || j < 0 || j >= c.index.n {
		return false
	}
	if j == c.blk {
		return true
	}
	at, err := blockPlace(&c.index, &c.s, j)
	if err == nil {
		c.b, err = c.f.block(c.ctx, &c.s, at)
	}
	c.blk, c.err = j, err
	return c.err == nil
}

// load takes the entry at the place of the cursor.
func (c *Cursor) load() {
	if c.ok = false; c.err != nil || c.k < 0 || c.k >= c.b.n {
		return
	}
	if c.err = c.b.into(&c.e, c.k); c.err != nil {
		return
	}
	n := len(c.b.prefix) + len(c.e.Key)
	if cap(c.keys)-len(c.keys) < n {
		c.keys = make([]byte, 0, max(keyChunk, n))
	}
	at := len(c.keys)
	c.keys = append(append(c.keys, c.b.prefix...), c.e.Key...)
	c.e.Key, c.ok = c.keys[at:len(c.keys):len(c.keys)], true
}

// Verify reads all of the file, each segment once, and compares it with every checksum and hash,
// and with what the index and the footer say.
func (f *File) Verify(ctx context.Context) error {
	v := verifying{f: f}
	var entries, deletes int64
	var last []byte
	c := f.Cursor(ctx)
	for c.Seek(nil); c.ok; c.Next() {
		if err := v.segments(ctx, c.seg+1); err != nil {
			return err
		}
		if entries++; c.e.Deleted {
			deletes++
		}
		if bytes.Compare(c.e.Key, last) <= 0 {
			return fmt.Errorf("%w: %x is %w at entry %d", ErrCorrupt, f.Name, ErrOrder, entries)
		}
		last = c.e.Key
	}
	if c.err != nil {
		return c.err
	}
	if err := v.segments(ctx, f.top.n); err != nil {
		return err
	}
	if v.offset != f.Size-int64(len(f.tail)) {
		return fmt.Errorf("%w: %x has %d bytes of segments, not %d", ErrCorrupt, f.Name, v.offset,
			f.Size-int64(len(f.tail)))
	}
	if entries != f.Entries || deletes != f.Deletes {
		return fmt.Errorf("%w: %x has %d entries, %d of them deletions, not %d and %d", ErrCorrupt,
			f.Name, entries, deletes, f.Entries, f.Deletes)
	}
	return nil
}

// verifying is how far the segments of a file were verified.
type verifying struct {
	f               *File
	next            int // the first one that was not
	offset, ordinal int64
}

// segments verifies those before the n-th one.
func (v *verifying) segments(ctx context.Context, n int) error {
	for ; v.next < n; v.next++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, raw, err := v.f.Raw(ctx, v.next)
		if err != nil {
			return err
		}
		if s.Offset != v.offset || s.ordinal != v.ordinal {
			return fmt.Errorf("%w: segment %d of %x is not where it should be", ErrCorrupt, v.next,
				v.f.Name)
		}
		if sha256.Sum256(raw) != s.Sum {
			return fmt.Errorf("%w: the hash of segment %d of %x does not match", ErrCorrupt, v.next,
				v.f.Name)
		}
		index, err := v.f.block(ctx, &s, s.indexPlace())
		if err != nil {
			return err
		}
		v.offset, v.ordinal = v.offset+s.Length, v.ordinal+1+int64(index.n)
	}
	return nil
}
