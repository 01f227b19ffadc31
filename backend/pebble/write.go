package pebble

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// change is what is to become of one object.
type change struct {
	name   string
	hash   uint64
	record *record  // nil removes it
	old    *content // the file that goes; nil if it has none
}

// effect puts changes into force, for others to see, at one instant, and tells one after it. If it is
// held up in the very moment, so that an object looks older than it is, they are written once more.
// The names are locked.
func (b *Backend) effect(all []change) (*write, time.Time, error) {
	for {
		at := b.now()
		w := &write{b: b, all: all, batch: b.db.NewBatch()}
		for i := range all {
			if r := all[i].record; r != nil {
				r.version, r.modified = b.next(), at
			}
			w.fill(&all[i])
		}
		w.apply()
		ended := b.now()
		if removes(all) || ended.Sub(at).Abs() <= stampMax {
			return w, ended, nil
		}
		if err := w.wait(); err != nil {
			return nil, ended, err
		}
	}
}

// removes reports whether no object is there afterwards that could look old.
func removes(all []change) bool { return len(all) == 1 && all[0].record == nil }

// write is a batch for the engine on its way to the disk.
type write struct {
	b      *Backend
	all    []change
	batch  *pebble.Batch
	flight *flight // nil: nobody waits for the disk
	err    error   // of apply
}

// fill notes what is to become of an object, and of files.
func (w *write) fill(c *change) {
	if c.old != nil {
		_ = w.batch.Delete(fileKey(c.old.id), nil)
	}
	r := c.record
	if r == nil {
		_ = w.batch.Delete(objectKey(c.name), nil)
		return
	}
	op := w.batch.SetDeferred(1+len(c.name), r.length())
	op.Key[0] = keyObject
	copy(op.Key[1:], c.name)
	r.put(op.Value)
	_ = op.Finish() // Batches in memory do not fail.
	if r.kind == kindFile {
		_ = w.batch.Set(fileKey(r.file.id), nil, nil)
	}
}

// names are those of what is written.
func (w *write) names(room []string) []string {
	for i := range w.all {
		room = append(room, w.all[i].name)
	}
	return room
}

// apply lets the write take effect. Who has called it must call wait.
func (w *write) apply() {
	if w.b.files.sync {
		var room [2]string
		w.flight = w.b.flight.start(w.names(room[:0])...)
		w.err = w.b.db.ApplyNoSyncWait(w.batch, pebble.Sync)
		return
	}
	w.err = w.b.db.Apply(w.batch, pebble.NoSync)
}

// wait waits until the disk has the write, if it is to.
func (w *write) wait() error {
	err := w.err
	if w.flight != nil {
		if err == nil {
			err = w.batch.SyncWait()
		}
		var room [2]string
		w.b.flight.land(w.flight, err, w.names(room[:0])...)
	}
	if err != nil {
		w.b.broken.CompareAndSwap(nil, &err)
		return err // The engine may have the batch still.
	}
	return w.batch.Close()
}
