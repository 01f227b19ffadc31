package patterns

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/strictkv/strictkv"
)

// ErrDeposed: somebody else is the leader.
var ErrDeposed = errors.New("somebody else is the leader")

// Office is what a leader holds. Term grows with each change of leaders: it is the token by
// which others refuse what a former one sends.
type Office struct {
	Leader string
	Term   int64
	Until  time.Time
}

// Candidate is a process that wants to be the leader.
type Candidate struct {
	DB      *strictkv.DB
	Offices *strictkv.Collection
	Office  string
	// Name is that of one start of the process. A former one that stands still, and wakes up when
	// the process has long been started again, is somebody else.
	Name string
}

// NewCandidate is a candidate that has been started just now: name tells people which it is.
func NewCandidate(
	db *strictkv.DB, offices *strictkv.Collection, office, name string,
) Candidate {
	return Candidate{DB: db, Offices: offices, Office: office, Name: name + " " + crand.Text()}
}

func (c Candidate) office(tx *strictkv.Tx) (o Office, err error) {
	value, err := tx.Read(c.Offices, []byte(c.Office))
	if errors.Is(err, strictkv.ErrNotFound) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(value, &o)
}

// Elect makes the candidate the leader until a time, or lets it stay so. It returns the term, or
// ErrDeposed while the time of another leader has not ended.
func (c Candidate) Elect(ctx context.Context, now, until time.Time) (term int64, err error) {
	return strictkv.Do(ctx, c.DB, func(tx *strictkv.Tx) (int64, error) {
		o, err := c.office(tx)
		if err != nil {
			return 0, err
		}
		if o.Leader != c.Name {
			if now.Before(o.Until) {
				return 0, ErrDeposed
			}
			o.Leader = c.Name
			o.Term++
		}
		o.Until = until
		value, err := json.Marshal(o)
		if err != nil {
			return 0, err
		}
		return o.Term, tx.Write(c.Offices, []byte(c.Office), value)
	})
}

// Lead runs a transaction that commits only if nobody else has become the leader since a
// term began. No clock decides that.
func (c Candidate) Lead(
	ctx context.Context, term int64, f func(tx *strictkv.Tx) error,
) error {
	return c.DB.Tx(ctx, func(tx *strictkv.Tx) error {
		o, err := c.office(tx)
		if err != nil {
			return err
		}
		if o.Term != term {
			return ErrDeposed
		}
		return f(tx)
	})
}
