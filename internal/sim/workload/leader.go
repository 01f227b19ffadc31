package workload

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/patterns"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

// lead is for an office for which clients elect each other, while leaders stand still, and go on
// as if nothing had happened.
func (x *session) lead(r *baton.Source) {
	log := x.named("log")
	if x.office.Name == "" {
		x.office = patterns.NewCandidate(x.db, x.named("offices"), "office", "")
		x.office.Name = x.l.unique(0, x.id) // of this start of the process
	}
	switch r.Below(6) {
	case 0:
		x.lookAtTerms(r)
		return
	case 1:
		x.pause(r, 4*time.Second)
	}
	if x.term.Number == 0 || r.Below(3) == 0 {
		x.elect(r)
		return
	}
	n := int(x.term.Number)
	blind := r.Below(2) == 0
	err := x.call(r, "lead", func(ctx context.Context) error {
		return x.office.Lead(ctx, x.term, func(tx *strictkv.Tx) error {
			if blind {
				return tx.Write(log, []byte("mark"), strconv.AppendInt(nil, x.term.Number, 10))
			}
			terms, err := read(tx, log, "terms")
			terms += strconv.Itoa(n) + " "
			return errors.Join(err, tx.Write(log, []byte("terms"), []byte(terms)))
		})
	})
	switch {
	case err == nil && blind:
		x.l.raise("mark", n)
	case err == nil:
		x.l.raise("terms", n)
	case errors.Is(err, patterns.ErrDeposed) && r.Below(2) == 0:
		x.term = patterns.Term{} // or it goes on as if it had not heard
	}
}

// elect wants to be the leader. No two are so in one term.
func (x *session) elect(r *baton.Source) {
	var t patterns.Term
	until := x.soon(r)
	err := x.call(r, "elect", func(ctx context.Context) (err error) {
		t, err = x.office.Elect(ctx, until)
		return err
	})
	if err == nil {
		x.term = t
		x.l.agree(fmt.Sprint("the leader of term ", t.Number), x.office.Name)
	}
}

// lookAtTerms checks that nothing of an earlier term has landed after something of a later one.
func (x *session) lookAtTerms(r *baton.Source) {
	log := x.named("log")
	marked, _ := x.l.bounds("mark")
	logged, _ := x.l.bounds("terms")
	var mark, terms string
	err := x.call(r, "terms", func(ctx context.Context) error {
		return x.db.View(ctx, func(tx *strictkv.Tx) (err error) {
			if mark, err = read(tx, log, "mark"); err != nil {
				return err
			}
			terms, err = read(tx, log, "terms")
			return err
		})
	})
	if err != nil {
		return
	}
	last := 0
	for _, term := range strings.Fields(terms) {
		n, _ := strconv.Atoi(term)
		if n < last {
			x.l.Fail("a leader of term %d wrote after one of term %d: %s", n, last, terms)
		}
		last = n
	}
	at, _ := strconv.Atoi(mark)
	if at < marked || last < logged {
		x.l.Fail("terms %d and %d have written, and left are %d and %d", marked, logged, at, last)
	}
	x.l.raise("mark", at)
	x.l.raise("terms", last)
}

func (x *session) judgeTerms() { x.lookAtTerms(nil) }
