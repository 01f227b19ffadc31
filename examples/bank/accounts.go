package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/strictkv/strictkv"
)

// startBalance is what each account has at first.
const startBalance = 1000

// accounts are the accounts in the database, and a counter for each worker.
type accounts struct {
	db       *strictkv.DB
	n        int
	balances *strictkv.Collection // by account
	counters *strictkv.Collection // by worker: how many transfers it has made
}

func newAccounts(db *strictkv.DB, n int) *accounts {
	return &accounts{
		db: db, n: n,
		balances: db.Collection([]byte("balances")),
		counters: db.Collection([]byte("counters")),
	}
}

func (a *accounts) account(i int) strictkv.Key {
	return a.balances.Key(fmt.Appendf(nil, "account-%d", i))
}

func (a *accounts) counter(worker int) strictkv.Key {
	return a.counters.Key(fmt.Appendf(nil, "worker-%d", worker))
}

// all are the keys of all accounts.
func (a *accounts) all() []strictkv.Key {
	keys := make([]strictkv.Key, a.n)
	for i := range keys {
		keys[i] = a.account(i)
	}
	return keys
}

// surely runs a transaction that may as well run twice, until its outcome is known.
func (a *accounts) surely(ctx context.Context, f func(*strictkv.Tx) error) error {
	for {
		err := a.db.Tx(ctx, f)
		if !errors.Is(err, strictkv.ErrInDoubt) || ctx.Err() != nil {
			return err
		}
	}
}

// open opens those accounts that are not there yet.
func (a *accounts) open(ctx context.Context) error {
	return a.surely(ctx, func(tx *strictkv.Tx) error {
		for i, r := range tx.ReadMulti(a.all()...) {
			if r.Err == nil {
				continue
			} else if !errors.Is(r.Err, strictkv.ErrNotFound) {
				return r.Err
			}
			if err := write(tx, a.account(i), startBalance); err != nil {
				return err
			}
		}
		return nil
	})
}

// transfer moves a random amount between two random accounts, and counts that for the
// worker, all in one transaction. It returns the worker's count.
func (a *accounts) transfer(ctx context.Context, worker int) (int64, error) {
	from, to := rand.IntN(a.n), rand.IntN(a.n-1)
	if to >= from {
		to++
	}
	amount := rand.Int64N(10) + 1
	return strictkv.Do(ctx, a.db, func(tx *strictkv.Tx) (int64, error) {
		keys := []strictkv.Key{a.account(from), a.account(to), a.counter(worker)}
		have, err := read(tx, keys)
		if err != nil {
			return 0, err
		}
		count := have[2] + 1
		for i, n := range []int64{have[0] - amount, have[1] + amount, count} {
			if err := write(tx, keys[i], n); err != nil {
				return 0, err
			}
		}
		return count, nil
	})
}

// check compares the total with what it must be.
func (a *accounts) check(ctx context.Context) error {
	total, err := strictkv.DoView(ctx, a.db, func(tx *strictkv.Tx) (total int64, err error) {
		have, err := read(tx, a.all())
		for _, n := range have {
			total += n
		}
		return total, err
	})
	if want := int64(a.n) * startBalance; err == nil && total != want {
		return violation("the accounts have %d in total, not %d", total, want)
	}
	return err
}

// count returns how many transfers a worker has made.
func (a *accounts) count(ctx context.Context, worker int) (int64, error) {
	return strictkv.DoView(ctx, a.db, func(tx *strictkv.Tx) (int64, error) {
		have, err := read(tx, []strictkv.Key{a.counter(worker)})
		if err != nil {
			return 0, err
		}
		return have[0], nil
	})
}

// touch writes each account, and returns how long the slowest took.
func (a *accounts) touch(ctx context.Context) (slowest time.Duration, err error) {
	for i := range a.n {
		start := time.Now()
		err := a.surely(ctx, func(tx *strictkv.Tx) error {
			keys := []strictkv.Key{a.account(i)}
			have, err := read(tx, keys)
			if err != nil {
				return err
			}
			return write(tx, keys[0], have[0])
		})
		if err != nil {
			return 0, violation("account %d is not writable for %v: %v", i, time.Since(start), err)
		}
		slowest = max(slowest, time.Since(start))
	}
	return slowest, nil
}

// sound examines every object of the database.
func (a *accounts) sound(ctx context.Context) error {
	report, err := a.db.Check(ctx, strictkv.CheckOptions{})
	if err == nil && len(report.Problems) > 0 {
		return violation("%d objects are damaged: %v", len(report.Problems), report.Problems)
	}
	return err
}

// read reads numbers; those of absent keys are 0.
func read(tx *strictkv.Tx, keys []strictkv.Key) ([]int64, error) {
	numbers := make([]int64, len(keys))
	for i, r := range tx.ReadMulti(keys...) {
		switch {
		case errors.Is(r.Err, strictkv.ErrNotFound):
		case r.Err != nil:
			return nil, r.Err
		case len(r.Value) != 8:
			return nil, fmt.Errorf("%q has %d bytes, not 8", keys[i].Key, len(r.Value))
		default:
			numbers[i] = int64(binary.BigEndian.Uint64(r.Value))
		}
	}
	return numbers, nil
}

func write(tx *strictkv.Tx, key strictkv.Key, n int64) error {
	return tx.Write(key.Collection, key.Key, binary.BigEndian.AppendUint64(nil, uint64(n)))
}

// errViolation: the database has not kept its promise.
var errViolation = errors.New("VIOLATION")

func violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errViolation, fmt.Sprintf(format, args...))
}
