package sweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// roundsMax is how often a Remover goes through the database while others write to it.
const roundsMax = 8

// errStateless: an object that is listed without a version can't be removed by a request.
var errStateless = errors.New("damaged, or of a newer version, so that only a person may remove it")

// Remover removes a database with all of its objects.
type Remover struct {
	st          *store.Store
	concurrency int
	tell        func(listed, removed int64)

	mu              seam.Mutex // guards all below
	listed, removed int64
	failed          int
	err             error // the first
}

// NewRemover returns a Remover that works on so many objects at once, and tells now and then
// how many it has listed and removed, on the goroutine of its caller.
func NewRemover(
	st *store.Store, concurrency int, tell func(listed, removed int64),
) *Remover {
	return &Remover{st: st, concurrency: concurrency, tell: tell}
}

// Remove goes through the database until a listing shows nothing but the object meta, and
// removes that. It returns how many objects it has removed, whether there is an error or not.
func (r *Remover) Remove(ctx context.Context) (int64, error) {
	for range roundsMax {
		meta, left, err := r.round(ctx)
		r.tell(r.listed, r.removed)
		switch {
		case err != nil:
			return r.removed, err
		case r.failed > 0:
			return r.removed, fmt.Errorf("%d objects could not be removed: %w", r.failed, r.err)
		case left > 0:
			continue
		case meta.Name == "":
			return r.removed, nil
		}
		r.remove(ctx, meta)
	}
	return r.removed, fmt.Errorf("others go on writing: %w", backend.ErrUnavailable)
}

// round removes what is listed, but for the object meta, which it returns if it is there. It
// counts the others.
func (r *Remover) round(ctx context.Context) (meta backend.Info, left int, err error) {
	pool := seam.NewPool(r.st.Runtime(), r.concurrency, waitingMax)
	for info, lerr := range r.st.List(ctx, "") {
		if err = lerr; err != nil {
			break
		}
		if info.Name == keyspace.Meta {
			meta = info
			continue
		}
		left++
		if n, removed := r.saw(); n%progressEvery == 0 {
			r.tell(n, removed)
		}
		if err = pool.Do(ctx, func() { r.remove(ctx, info) }); err != nil {
			break
		}
	}
	if werr := pool.Wait(); err == nil {
		err = werr
	}
	if err == nil {
		err = ctx.Err()
	}
	return meta, left, err
}

// saw counts an object that was listed.
func (r *Remover) saw() (listed, removed int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed++
	return r.listed, r.removed
}

// remove removes an object. One that has changed is for the next round.
func (r *Remover) remove(ctx context.Context, info backend.Info) {
	var res store.Result
	err := error(&backend.CorruptError{
		Object: r.st.FullName(info.Name), Err: errStateless,
	})
	if info.Version != "" {
		res, err = r.st.Remove(ctx, info.Name, info.Version)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case res == store.Applied:
		r.removed++
	case res == store.Refused || ctx.Err() != nil:
	default:
		if r.failed++; r.err == nil {
			r.err = err
		}
	}
}
