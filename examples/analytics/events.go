package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv"
)

// batchMax is how many events are rolled up in one transaction, at most.
const batchMax = 100

// event is what happened: somebody looked at a page for some seconds.
type event struct {
	Page    string
	Seconds int64
}

// sum is what events come to.
type sum struct{ Events, Seconds int64 }

func (s sum) plus(t sum) sum { return sum{s.Events + t.Events, s.Seconds + t.Seconds} }

// events are the collections of the database.
type events struct {
	db *strictkv.DB
	// log holds a collection for each process that appends, with its events by number.
	log *strictkv.Collection
	// appended are the sums of what each process has appended.
	appended *strictkv.Collection
	// rolledUp are the sums, by page, of the events that are in the log no more.
	rolledUp *strictkv.Collection
}

func newEvents(db *strictkv.DB) *events {
	return &events{
		db: db, log: db.Collection([]byte("log")),
		appended: db.Collection([]byte("appended")),
		rolledUp: db.Collection([]byte("rolled-up")),
	}
}

// append appends events to the log of a process, of whose sum before it is told, and adds
// them to that sum, all in one transaction. If that is in doubt it is tried again: the sum
// tells whether it had been committed.
func (e *events) append(
	ctx context.Context, process string, before sum, added []event,
) (after sum, err error) {
	after = before
	for _, x := range added {
		after = after.plus(sum{1, x.Seconds})
	}
	log, key := e.log.Collection([]byte(process)), e.appended.Key([]byte(process))
	fn := func(tx *strictkv.Tx) error {
		sums, err := read[sum](tx, key)
		switch {
		case err != nil:
			return err
		case sums[0] == after:
			return nil
		case sums[0] != before:
			return violation("process %s has appended %v, not %v", process, sums[0], before)
		}
		for i, x := range added {
			number := fmt.Appendf(nil, "%012d", before.Events+int64(i))
			if err := write(tx, log.Key(number), x); err != nil {
				return err
			}
		}
		return write(tx, key, after)
	}
	return after, e.surely(ctx, fn)
}

// surely runs a transaction that may as well run twice, until its outcome is known.
func (e *events) surely(ctx context.Context, f func(*strictkv.Tx) error) error {
	for {
		err := e.db.Tx(ctx, f)
		if !errors.Is(err, strictkv.ErrInDoubt) || ctx.Err() != nil {
			return err
		}
	}
}

// compact rolls up all events that it finds in the log, and returns how many.
func (e *events) compact(ctx context.Context) (n int, err error) {
	for process, err := range e.log.Collections(ctx) {
		if err != nil {
			return n, err
		}
		m, err := e.compactLog(ctx, e.log.Collection(process))
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// compactLog rolls up the events of one process.
func (e *events) compactLog(ctx context.Context, log *strictkv.Collection) (n int, err error) {
	var batch []strictkv.Key
	for item, err := range log.Items(ctx, strictkv.Range{KeysOnly: true}) {
		if err != nil {
			return n, err
		}
		if batch = append(batch, log.Key(item.Key)); len(batch) < batchMax {
			continue
		}
		m, err := e.rollUp(ctx, batch)
		if n += m; err != nil {
			return n, err
		}
		batch = nil
	}
	m, err := e.rollUp(ctx, batch)
	return n + m, err
}

// rollUp takes events out of the log, and adds them to the sums of their pages, in one
// transaction: each is counted exactly once, whoever is killed, and whoever else is at it.
// Those that are in the log no more have been counted.
func (e *events) rollUp(ctx context.Context, batch []strictkv.Key) (n int, err error) {
	err = e.surely(ctx, func(tx *strictkv.Tx) error {
		found, err := read[event](tx, batch...)
		if err != nil {
			return err
		}
		byPage := map[string]sum{}
		n = 0
		for i, x := range found {
			if x == (event{}) {
				continue
			}
			n++
			byPage[x.Page] = byPage[x.Page].plus(sum{1, x.Seconds})
			if err := tx.Delete(batch[i].Collection, batch[i].Key); err != nil {
				return err
			}
		}
		return e.add(tx, byPage)
	})
	return n, err
}

// add adds to the sums of pages.
func (e *events) add(tx *strictkv.Tx, byPage map[string]sum) error {
	var keys []strictkv.Key
	for page := range byPage {
		keys = append(keys, e.rolledUp.Key([]byte(page)))
	}
	sums, err := read[sum](tx, keys...)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if err := write(tx, key, sums[i].plus(byPage[string(key.Key)])); err != nil {
			return err
		}
	}
	return nil
}

// books are all sums at one instant.
type books struct {
	appended map[string]sum // by process
	rolledUp map[string]sum // by page
	log      sum            // of the events that are to be rolled up
}

// balance compares both sides.
func (b books) balance() error {
	if in, out := total(b.appended), total(b.rolledUp).plus(b.log); in != out {
		return violation("appended %v, but rolled up, or to be rolled up, %v", in, out)
	}
	return nil
}

func total(sums map[string]sum) (t sum) {
	for _, s := range sums {
		t = t.plus(s)
	}
	return t
}

// books reads everything in one transaction: the sides balance at any time, also while
// others write.
func (e *events) books(ctx context.Context) (books, error) {
	return strictkv.DoView(ctx, e.db, func(tx *strictkv.Tx) (b books, err error) {
		b.appended, b.rolledUp = map[string]sum{}, map[string]sum{}
		err = errors.Join(
			scan(tx, e.appended, func(name string, s sum) { b.appended[name] = s }),
			scan(tx, e.rolledUp, func(name string, s sum) { b.rolledUp[name] = s }))
		for process := range b.appended {
			log := e.log.Collection([]byte(process))
			err = errors.Join(err, scan(tx, log, func(_ string, x event) {
				b.log = b.log.plus(sum{1, x.Seconds})
			}))
		}
		return b, err
	})
}

// scan goes through a collection.
func scan[T any](tx *strictkv.Tx, c *strictkv.Collection, f func(key string, value T)) error {
	for item, err := range tx.Scan(c, strictkv.Range{}) {
		if err != nil {
			return err
		}
		var v T
		if err := json.Unmarshal(item.Value, &v); err != nil {
			return fmt.Errorf("value of %q: %w", item.Key, err)
		}
		f(string(item.Key), v)
	}
	return nil
}

// read reads values in parallel; those of absent keys are zero.
func read[T any](tx *strictkv.Tx, keys ...strictkv.Key) ([]T, error) {
	values := make([]T, len(keys))
	for i, r := range tx.ReadMulti(keys...) {
		err := r.Err
		if err == nil {
			err = json.Unmarshal(r.Value, &values[i])
		}
		if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
			return nil, err
		}
	}
	return values, nil
}

func write(tx *strictkv.Tx, key strictkv.Key, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Write(key.Collection, key.Key, data)
}

// errViolation: the database has not kept its promise.
var errViolation = errors.New("VIOLATION")

func violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errViolation, fmt.Sprintf(format, args...))
}
