package recordlog

import (
	"errors"
	"time"
)

const (
	// bufferMax is how many bytes of records are written by one call, but for a record that is
	// larger.
	bufferMax = 256 << 10
	// dropMax is how many records are forgotten at a time.
	dropMax = 10_000
	// forever is longer than any log is open.
	forever = 100 * 365 * 24 * time.Hour
)

// writer appends records to the last segment. It belongs to one goroutine at a time.
type writer struct {
	l      *Log
	active *segment  // nil before the first record
	last   uint32    // the highest number of a segment
	buf    []byte    // what is to be written at the end of it
	placed []kept    // the records in buf
	until  time.Time // nothing is written before
}

// write writes a batch of records. If that fails, it throws away the segment, of which nothing
// is known any more, and lets the disk alone for a while.
func (w *writer) write(batch []*record) {
	if w.l.o.Runtime.Now().Before(w.until) {
		w.l.count(&w.l.stats.Dropped, len(batch))
		return
	}
	err := w.append(batch)
	if err == nil {
		return
	}
	w.l.count(&w.l.stats.Dropped, len(batch))
	w.l.o.Logger.Warn("the disk cache can't be written", "pause", quiet, "err", err)
	w.until = w.l.o.Runtime.Now().Add(quiet)
	w.buf, w.placed = nil, nil
	if s := w.active; s != nil {
		w.active = nil
		w.l.count(&w.l.stats.Discarded, 1)
		if err := w.discard(s); err != nil {
			w.l.o.Logger.Warn("the disk cache stops writing: a file can't be removed", "err", err)
			w.until = w.l.o.Runtime.Now().Add(forever) // else the log would exceed its size
		}
	}
}

func (w *writer) append(batch []*record) error {
	for i, r := range batch {
		size := sizeOf(r.key, r.version, r.data)
		if err := w.makeRoom(size); err != nil {
			return err
		}
		w.buf = appendRecord(w.buf, r.key, r.version, r.data)
		if err := w.place(r.hash, size); err != nil {
			return err
		}
		batch[i] = nil // its bytes are not needed any more
	}
	return w.finish()
}

// place notes the record of some size that buf ends with.
func (w *writer) place(hash uint64, size int64) error {
	end := w.active.size + int64(len(w.buf))
	w.placed = append(w.placed, kept{hash, place{w.active.id, uint32(end - size), uint32(size)}})
	if len(w.buf) < bufferMax {
		return nil
	}
	return w.flush()
}

// flush writes buf, after which its records can be read.
func (w *writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if _, err := w.active.file.WriteAt(w.buf, w.active.size); err != nil {
		return err
	}
	w.l.mu.Lock()
	w.l.index.grow(w.active, int64(len(w.buf)))
	for _, k := range w.placed {
		w.l.index.put(w.active, k.hash, int64(k.offset), k.bytes())
	}
	w.l.stats.Written += int64(len(w.placed))
	w.l.mu.Unlock()
	if w.buf, w.placed = w.buf[:0], w.placed[:0]; cap(w.buf) > 4*bufferMax {
		w.buf = nil
	}
	return nil
}

// finish writes buf, and syncs if need be.
func (w *writer) finish() error {
	if err := w.flush(); err != nil || !w.l.o.Sync {
		return err
	}
	return w.active.file.Sync()
}

// makeRoom sees to it that the active segment has room for a record: if need be it begins
// another, for which it gives up old ones.
func (w *writer) makeRoom(size int64) error {
	target := max(min(w.l.o.Size/segmentsPart, segmentMax), w.l.o.Size/filesMax)
	if s := w.active; s != nil && s.size+int64(len(w.buf))+size <= target {
		return nil
	}
	if err := w.begin(); err != nil {
		return err
	}
	for w.l.Stats().Bytes+int64(len(w.buf))+max(target, segmentHead+size) > w.l.o.Size {
		if err := w.evict(); err != nil {
			return err
		}
	}
	return nil
}

// begin begins another segment.
func (w *writer) begin() error {
	if w.active != nil {
		if err := w.finish(); err != nil {
			return err
		}
		w.active = nil // it is as good as it was, if the next can't be made
	}
	f, _, err := w.l.dir.Open(segmentName(w.last + 1))
	if err != nil {
		return err
	}
	w.last++
	w.active = &segment{id: w.last, file: f}
	w.l.mu.Lock()
	w.l.index.segments = append(w.l.index.segments, w.active)
	w.l.mu.Unlock()
	w.buf = append(w.buf, segmentStart()...)
	return nil
}

// evict gives up a segment. What it carries over is written first.
func (w *writer) evict() error {
	w.l.mu.Lock()
	s := w.l.index.victim()
	var list []kept
	if s != nil {
		list = w.l.index.carried(s)
	}
	w.l.mu.Unlock()
	if s == nil {
		return errors.New("no segment to give up")
	}
	for _, k := range list {
		b := make([]byte, k.bytes())
		_, err := s.file.ReadAt(b, int64(k.offset))
		if _, _, _, ok := decode(b); err != nil || !ok {
			continue
		}
		w.buf = append(w.buf, b...)
		if err := w.place(k.hash, k.bytes()); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.discard(s)
}

// discard forgets a segment, and removes its file.
func (w *writer) discard(s *segment) error {
	for all := false; !all; { // readers wait for the lock
		w.l.mu.Lock()
		all = w.l.index.drop(s, dropMax)
		w.l.mu.Unlock()
	}
	_ = s.file.Close() // it was not to be kept
	return w.l.dir.Remove(segmentName(s.id))
}
