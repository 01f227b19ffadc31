package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/history"
)

const (
	writers      = 16
	incrementsOf = 10 // each writer
	accounts     = 8  // of the transfers
	// requestsMax is how many reads and writes each writer sends at most for its transfers.
	requestsMax = 4000
)

// errImpossible: the engine has met what a store that keeps to the contract can't bring about.
var errImpossible = errors.New("the database is in a state that can't be")

// each opens a handle for each writer, has it work, and closes it.
func (p *Probe) each(
	ctx context.Context, work func(ctx context.Context, writer int, db *strictkv.DB) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range writers {
		group.Go(func() (err error) {
			defer func() {
				if met := recover(); met != nil {
					err = fmt.Errorf("%w: %v", errImpossible, met)
				}
			}()
			b := p.Bucket
			if i%2 > 0 {
				b = p.Second
			}
			db, err := strictkv.Open(ctx, p.name, b)
			if err != nil {
				return err
			}
			return errors.Join(work(ctx, i, db), db.Close(ctx))
		})
	}
	return group.Wait()
}

// broken is how a question ends that could not be carried through: the store's fault, or an error.
func (p *Probe) broken(question string, err error) error {
	if errors.Is(err, errImpossible) || errors.Is(err, strictkv.ErrCorrupt) {
		p.Told(Finding{Question: question, Detail: err.Error()})
		return nil
	}
	return err
}

// race has writers increment one key at the same time. Increments that are in doubt, as they may be
// where somebody on the way sends writes again, may be there or not.
func (p *Probe) race(ctx context.Context) error {
	question := fmt.Sprintf("%d writers lose no increment of one key", writers)
	key := []byte("counter")
	var done, doubtful atomic.Int64
	err := p.each(ctx, func(ctx context.Context, _ int, db *strictkv.DB) error {
		for range incrementsOf {
			err := db.Collection(key).Update(ctx, key, func(old []byte) ([]byte, error) {
				n, _ := strconv.Atoi(string(old))
				return strconv.AppendInt(nil, int64(n+1), 10), nil
			})
			switch {
			case err == nil:
				done.Add(1)
			case errors.Is(err, strictkv.ErrInDoubt) && ctx.Err() == nil:
				doubtful.Add(1)
			default:
				return err
			}
		}
		return nil
	})
	if err != nil {
		return p.broken(question, err)
	}
	db, err := strictkv.Open(ctx, p.name, p.Bucket)
	if err != nil {
		return err
	}
	v, err := db.Collection(key).Read(ctx, key)
	n, _ := strconv.ParseInt(string(v), 10, 64)
	p.Told(Finding{
		Question: question,
		Passed:   n >= done.Load() && n <= done.Load()+doubtful.Load(),
		Detail:   fmt.Sprintf("%d, %d acknowledged, %d in doubt", n, done.Load(), doubtful.Load()),
	})
	return errors.Join(err, db.Close(ctx))
}

// transfers has writers move amounts between accounts, and judges what they have seen.
func (p *Probe) transfers(ctx context.Context) error {
	const question = "transfers between accounts are strictly serializable"
	began := time.Now()
	r := history.NewRecorder("t", func() int64 { return int64(time.Since(began)) }, nil)
	err := p.each(ctx, func(ctx context.Context, writer int, db *strictkv.DB) error {
		for time.Since(began) < p.Lasting {
			if s := db.Stats(); s.Gets+s.Puts >= requestsMax {
				break
			}
			if err := transfer(ctx, db, r.Begin(strconv.Itoa(writer)), writer); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return p.broken(question, err)
	}
	report, err := history.Check(r.History(), history.Options{})
	if err != nil {
		return err
	}
	f := Finding{
		Question: question, Passed: true,
		Detail: fmt.Sprintf("%d transactions of %d writers judged", report.Transactions, writers),
	}
	if err := report.Err(); err != nil {
		f.Passed, f.Detail = false, err.Error()
	}
	p.Told(f)
	return nil
}

// transfer moves an amount from an account to another, or looks at all. Values are unique, so that
// who reads one knows who has written it: a balance, and the writer's own count behind a colon.
func transfer(ctx context.Context, db *strictkv.DB, call *history.Call, writer int) error {
	c, unique := db.Collection([]byte("accounts")), rand.Uint64()
	err := db.Tx(ctx, func(tx *strictkv.Tx) error {
		call.Restart()
		order := rand.Perm(accounts)
		if rand.N(4) > 0 {
			order = order[:2]
		}
		for i, account := range order {
			key := "account" + strconv.Itoa(account)
			v, err := tx.Read(c, []byte(key))
			if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
				return err
			}
			call.Read(key, string(v), err == nil)
			if len(order) > 2 {
				continue
			}
			digits, _, _ := strings.Cut(string(v), ":")
			balance, _ := strconv.Atoi(digits)
			next := fmt.Sprintf("%d:%d.%x.%d", balance+2*i-1, writer, unique, tx.Attempt())
			if err := tx.Write(c, []byte(key), []byte(next)); err != nil {
				return err
			}
			call.Write(key, next)
		}
		return nil
	})
	switch {
	case err == nil:
		call.Commit()
	case errors.Is(err, strictkv.ErrInDoubt) && ctx.Err() == nil:
		call.Doubt()
	default:
		call.Fail(false)
		return err
	}
	return nil
}
