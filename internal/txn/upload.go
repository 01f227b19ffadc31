package txn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of values.
const (
	// ValueMax is the size of the largest value, in bytes.
	ValueMax = 64 << 20
	// InlineMax is the default of the size up to which a value lives in its key's cell.
	InlineMax = 1 << 20
	// uploadAgeMax is how old an upload may be when an attempt begins to link it. A
	// sweep takes what no cell points to for garbage after its horizon.
	uploadAgeMax = store.AttemptMax / 2
	// uploadsAgainMax bounds how often a transaction writes values once more that have
	// become too old while others were uploaded.
	uploadsAgainMax = 100
	// vanishedMax bounds how often a single read finds that its value has been replaced.
	vanishedMax = 100
)

// upload is an external value on its way. It starts when the function stages the value,
// goes on beside the function, and is awaited before a cell points to it. A later run of
// the function that stages the same bytes takes it over.
type upload struct {
	// External has its beginning by the store's clock once done is set.
	commit.External
	data   []byte
	name   string // of the cell
	cancel context.CancelFunc

	done  seam.Event
	value cell.Value // complete once done is set
	err   error

	// ground, if not nil, is set once it is known what the value is to be linked over: under,
	// which is no object if that has failed. It goes on beside the upload until leave.
	ground seam.Event
	under  store.Snapshot
	leave  context.CancelFunc
}

// upload starts writing an external value, or takes over one that has been started.
func (t *txn) upload(name string, data []byte, keep func([]byte) []byte) *upload {
	for _, u := range t.uploads {
		failed := u.done.IsSet() && u.err != nil
		if u.name == name && !failed && !t.aged(u) && bytes.Equal(u.data, data) {
			return u
		}
	}
	return t.startUpload(name, keep(data))
}

func (t *txn) startUpload(name string, data []byte) *upload {
	rt := t.e.rt
	ctx, cancel := rt.WithCancel(t.ctx)
	u := &upload{
		External: commit.External{Begun: store.Moment{Here: rt.Now()}},
		data:     data, name: name, cancel: cancel,
		value: t.e.st.NewValue(data), done: rt.NewEvent(),
	}
	t.uploads = append(t.uploads, u)
	rt.Go(func() {
		defer cancel()
		u.value, u.Begun.There, u.err = t.e.st.Upload(ctx, name, u.value, data)
		u.done.Set()
	})
	return u
}

// groundLocked begins to make an object that the entry's external value can be linked over, beside
// its upload, if there is none as far as is known. What fails here is tried again before the
// attempt. The caller holds tx.mu.
func (tx *Tx) groundLocked(e *entry) {
	u, fetching := e.upload, e.fetch != nil && !e.known()
	if u == nil || u.ground != nil || fetching || e.Base.Version != "" {
		return
	}
	en := tx.t.e
	ctx, cancel := en.rt.WithCancel(tx.t.ctx)
	u.ground, u.leave = en.rt.NewEvent(), cancel
	en.rt.Go(func() {
		defer cancel()
		u.under, _ = en.st.Ground(ctx, u.name)
		u.ground.Set()
	})
}

// grounded takes over what the entry's external value is to be linked over.
func (t *txn) grounded(e *entry) error {
	u := e.upload
	if u.ground == nil {
		return nil
	}
	if err := u.ground.Wait(t.ctx); err != nil {
		return err
	}
	if u.under.Version != "" && u.under.Proved > e.Base.Proved {
		e.Base = t.e.rs.Known(u.under)
	}
	return nil
}

// since is when the upload began. What it is by the store's clock is known in the end.
func (u *upload) since() store.Moment {
	if u.done.IsSet() {
		return u.Begun
	}
	return store.Moment{Here: u.Begun.Here}
}

// aged reports whether an upload is too old for a new attempt to link it. A sweep fences a cell
// before it removes a value of it. So a write that links one is refused if it is based on what
// the cell was before; what it is now was read later, and by the store's clock, which the
// answer has told, the value is then too old.
func (t *txn) aged(u *upload) bool { return t.e.st.Age(u.since()) >= uploadAgeMax }

// uploaded waits until the external values of the write set are there. One that has got
// too old is written once more.
func (t *txn) uploaded(tx *Tx) error {
	for _, e := range tx.entries {
		if e.op != opPut || e.upload == nil {
			continue
		}
		if err := t.grounded(e); err != nil {
			return err
		}
		if t.aged(e.upload) {
			if t.uploadsAgain++; t.uploadsAgain > uploadsAgainMax {
				return fmt.Errorf("upload: %w: the values together took longer than %v",
					backend.ErrUnavailable, uploadAgeMax)
			}
			e.upload = t.startUpload(e.Name, e.upload.data)
		}
		if err := e.upload.done.Wait(t.ctx); err != nil {
			return err
		}
		if err := e.upload.err; err != nil {
			if t.ctx.Err() == nil {
				err = store.NotTheCallers(err)
			}
			return fmt.Errorf("upload: %w", err)
		}
	}
	return nil
}

// prune gives up the values that earlier runs of the function have staged and this one
// has not.
func (t *txn) prune(tx *Tx) {
	t.uploads = slices.DeleteFunc(t.uploads, func(u *upload) bool {
		unused := !slices.ContainsFunc(tx.entries, func(e *entry) bool { return e.upload == u })
		if unused {
			t.discard(u)
		}
		return unused
	})
}

// discardRest gives up, at the end, all values that are not linked. Those of an attempt in
// doubt are kept: it may have committed.
func (t *txn) discardRest() {
	for _, u := range t.uploads {
		if !slices.ContainsFunc(t.linked, u.linkedBy) {
			t.discard(u)
		}
	}
}

// linkedBy reports whether a member links the value.
func (u *upload) linkedBy(m *commit.Member) bool { return m.External == &u.External }

// discard removes a value that no cell links, nor will, in the background.
func (t *txn) discard(u *upload) {
	u.cancel()
	if u.ground != nil {
		u.leave()
	}
	t.e.bg.Later(func(ctx context.Context) {
		if u.ground != nil && u.ground.Wait(ctx) != nil {
			return
		}
		if u.done.Wait(ctx) == nil {
			t.e.bg.Unlink(u.name, u.value.Ref)
		}
	})
}

// putLocked stages a value for the entry, as keep returns it. The caller holds tx.mu.
func (tx *Tx) putLocked(
	e *entry, value []byte, expires int64, keep func([]byte) []byte,
) error {
	if len(value) > ValueMax {
		return &SizeError{What: "value", Size: len(value), Limit: ValueMax}
	}
	e.op, e.lent, e.data, e.upload, e.expires = opPut, false, nil, nil, expires
	if len(value) > tx.t.e.inlineMax {
		e.upload = tx.t.upload(e.Name, value, keep)
	} else {
		e.data = keep(value)
	}
	return nil
}

// staged is the value that an opPut will write.
func (e *entry) staged() cell.Value {
	v := cell.Inlined(e.data)
	if e.upload != nil {
		v = e.upload.value
	}
	v.Expires = e.expires
	return v
}

// bytesLocked is the value that the function sees, if it is at hand. The caller holds tx.mu.
func (tx *Tx) bytesLocked(e *entry) (v []byte, known bool, err error) {
	data := e.data
	switch {
	case e.op == opPut && e.upload != nil:
		data = e.upload.data
	case e.op == opPut:
	case e.op == opDelete, e.value.Kind == cell.Absent:
		return nil, true, backend.ErrNotFound
	case e.value.Kind == cell.Inline:
		data = e.value.Data
	default:
		var ok bool
		if data, ok = tx.t.e.st.CachedValue(e.Name, e.value); !ok {
			return nil, false, nil
		}
	}
	return data, true, nil
}

// download fetches the external value that the function is to see. If it is gone, its
// cell has been written since: the function must run again. If the store has failed, the
// transaction must fail with the error.
func (tx *Tx) download(e *entry, v cell.Value) (data []byte, failed bool, err error) {
	t := tx.t
	data, err = t.e.st.Download(t.ctx, e.Name, v)
	if errors.Is(err, store.ErrMissing) && !errors.Is(err, backend.ErrCorrupt) {
		var rd resolve.Reading
		if rd, err = t.e.rereadCell(t.ctx, e.Name, v); err == nil {
			return nil, false, tx.fail(errVanished, rd)
		}
	}
	return data, err != nil, err
}

// fail ends the transaction with a failure of the store, unless its function has returned.
func (tx *Tx) fail(err error, vanished ...resolve.Reading) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.done {
		return ErrTxDone
	}
	tx.vanished = append(tx.vanished, vanished...)
	if tx.broken == nil {
		tx.broken = err
	}
	return err
}

// errVanished is what the function sees of a value that has been replaced meanwhile.
var errVanished = errors.New("a value that was read has been replaced")

// again makes what is known now the start of the function's next run, after a value had
// vanished.
func (t *txn) again(tx *Tx) (done bool, err error) {
	lost := ""
	if len(tx.vanished) > 0 {
		lost = tx.vanished[0].Name
	}
	t.rerun(StaleRead, lost)
	t.fresh = map[string]resolve.Reading{}
	for _, e := range tx.reads() {
		t.fresh[e.Name] = e.Base
	}
	for _, rd := range tx.vanished {
		t.fresh[rd.Name] = rd
	}
	err = t.failed()
	return err != nil, err
}

// rereadCell reads a cell whose external value is missing. If the cell still points to it,
// the value is lost.
func (e *Engine) rereadCell(
	ctx context.Context, name string, v cell.Value,
) (resolve.Reading, error) {
	rd, err := e.rs.Effective(ctx, name, resolve.Role{})
	if err != nil {
		return rd, err
	}
	if now, _ := rd.Effective(); now.Ref == v.Ref {
		return rd, e.st.LostValue(name, v)
	}
	return rd, nil
}
