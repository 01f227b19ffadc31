package patterns

import (
	"context"
	crand "crypto/rand"
	"errors"
	"strconv"
	"time"

	"github.com/strictkv/strictkv"
)

// ErrDeposed: somebody else is the leader.
var ErrDeposed = errors.New("somebody else is the leader")

// Term is the time of one leader. Its number grows with each: it is the token by which others
// refuse what a former one sends.
type Term struct {
	Number  int64
	version strictkv.Version
}

// Candidate is a process that wants to be the leader. The lease of an office is a key that
// expires; beside it is the number of the term, which does not.
type Candidate struct {
	DB     *strictkv.DB
	Leases *strictkv.Collection
	Terms  *strictkv.Collection
	Office string
	// Name is that of one start of the process. A former one that stands still, and wakes up when
	// the process has long been started again, is somebody else.
	Name string
}

// NewCandidate is a candidate that has been started just now: name tells people which it is.
func NewCandidate(
	db *strictkv.DB, offices *strictkv.Collection, office, name string,
) Candidate {
	return Candidate{
		DB: db, Office: office, Name: name + " " + crand.Text(),
		Leases: offices.Collection([]byte("leases")), Terms: offices.Collection([]byte("terms")),
	}
}

// holder is whose the lease is; empty if it has ended.
func (c Candidate) holder(tx *strictkv.Tx) (string, error) {
	name, err := tx.Read(c.Leases, []byte(c.Office))
	if errors.Is(err, strictkv.ErrNotFound) {
		return "", nil
	}
	return string(name), err
}

// term is the latest, whose ever it is.
func (c Candidate) term(tx *strictkv.Tx) (t Term, err error) {
	item, err := tx.ReadItem(c.Terms, []byte(c.Office))
	if errors.Is(err, strictkv.ErrNotFound) {
		return t, nil
	}
	if err == nil {
		t.version = item.Version
		t.Number, err = strconv.ParseInt(string(item.Value), 10, 64)
	}
	return t, err
}

// Elect makes the candidate the leader until a time by the store's clock, or lets it stay so. It
// returns the term, or ErrDeposed while another's lease has not ended.
func (c Candidate) Elect(ctx context.Context, until time.Time) (t Term, err error) {
	err = c.DB.Tx(ctx, func(tx *strictkv.Tx) error {
		holder, err := c.holder(tx)
		if err != nil {
			return err
		}
		if holder != "" && holder != c.Name {
			return ErrDeposed
		}
		if holder == "" {
			last, err := c.term(tx)
			if err != nil {
				return err
			}
			number := strconv.AppendInt(nil, last.Number+1, 10)
			if err := tx.Write(c.Terms, []byte(c.Office), number); err != nil {
				return err
			}
		}
		return tx.Write(c.Leases, []byte(c.Office), []byte(c.Name), strictkv.ExpireAt(until))
	})
	if err != nil {
		return t, err
	}
	return strictkv.DoView(ctx, c.DB, func(tx *strictkv.Tx) (Term, error) {
		holder, err := c.holder(tx)
		if err == nil && holder != c.Name { // it has ended already
			err = ErrDeposed
		}
		if err != nil {
			return Term{}, err
		}
		return c.term(tx)
	})
}

// Lead runs a transaction that commits only if nobody else has become the leader since a
// term began. No clock decides that.
func (c Candidate) Lead(ctx context.Context, t Term, f func(tx *strictkv.Tx) error) error {
	if t == (Term{}) { // nobody was elected for it
		return ErrDeposed
	}
	deposed := false
	err := c.DB.Tx(ctx, func(tx *strictkv.Tx) error {
		err := tx.Require(c.Terms, []byte(c.Office), t.version)
		if deposed = errors.Is(err, strictkv.ErrVersion); err != nil {
			return err
		}
		return f(tx)
	})
	if deposed {
		return ErrDeposed
	}
	return err
}
