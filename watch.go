package strictkv

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/seam"
)

// watch makes public what the engine tells.
type watch struct {
	db   *DB
	log  *slog.Logger
	told []*watcher
}

// watcher is an observer, until it has panicked.
type watcher struct {
	Observer
	broken atomic.Bool
}

// observer is nil if nobody wants to be told.
func (db *DB) observer(rt seam.Runtime, s *settings) *observe.Observer {
	if len(s.observers) == 0 {
		return nil
	}
	w := &watch{db: db, log: s.logger}
	for _, o := range s.observers {
		w.told = append(w.told, &watcher{Observer: o})
	}
	return &observe.Observer{
		Runtime: rt, TxBegin: w.txBegin, TxEnd: w.txEnd, Attempted: w.txAttempt,
		Retried: w.txRetry, WaitEnd: w.waitEnd, Resent: w.resend,
		RequestBegin: w.requestBegin, RequestEnd: w.requestEnd,
		WorkBegin: w.workBegin, WorkEnd: w.workEnd,
	}
}

// each calls f for each observer that has not panicked.
func (w *watch) each(f func(o *Observer)) {
	for _, x := range w.told {
		if !x.broken.Load() {
			w.call(x, f)
		}
	}
}

func (w *watch) call(x *watcher, f func(o *Observer)) {
	defer func() {
		if p := recover(); p != nil {
			x.broken.Store(true)
			w.log.Error("an observer has panicked, and is told nothing any more",
				"database", w.db.name, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f(&x.Observer)
}

func (w *watch) begun(tx *observe.Tx) TxBegin {
	return TxBegin{
		Database: w.db.name, Kind: TxKind(tx.Kind), Name: tx.Name, Start: tx.Start,
	}
}

func (w *watch) txBegin(ctx context.Context, tx *observe.Tx) context.Context {
	w.each(func(o *Observer) {
		if o.TxBegin != nil {
			ctx = cmp.Or(o.TxBegin(ctx, w.begun(tx)), ctx)
		}
	})
	return ctx
}

func (w *watch) txEnd(
	ctx context.Context, tx *observe.Tx, took time.Duration, err error,
) {
	t := tx.Tally()
	e := TxEnd{
		TxBegin: w.begun(tx), Duration: took, Outcome: TxOutcome(tx.Outcome),
		Err: w.db.outward(err), Runs: int(tx.Runs), Attempts: t.Attempts,
		Protocol: Protocol(t.Protocol), Grouped: tx.Grouped, Escalated: tx.Escalated,
		Requests: t.Requests, Rounds: t.Rounds,
		BytesRead: t.BytesRead, BytesWritten: t.BytesWritten, Waits: t.Waits, Waited: t.Waited,
	}
	w.each(func(o *Observer) {
		if o.TxEnd != nil {
			o.TxEnd(ctx, e)
		}
	})
}

func (w *watch) txAttempt(ctx context.Context, a observe.Attempt) {
	e := TxAttempt{
		Database: w.db.name, Protocol: Protocol(a.Protocol), Keys: a.Keys,
		Outcome: AttemptOutcome(a.End), Lost: w.db.keyOf(a.Lost),
		Err: w.db.outward(a.Err),
	}
	w.each(func(o *Observer) {
		if o.TxAttempt != nil {
			o.TxAttempt(ctx, e)
		}
	})
}

func (w *watch) txRetry(ctx context.Context, r observe.Retry) {
	e := TxRetry{Database: w.db.name, Cause: RetryCause(r.Cause), Lost: w.db.keyOf(r.Lost)}
	w.each(func(o *Observer) {
		if o.TxRetry != nil {
			o.TxRetry(ctx, e)
		}
	})
}

func (w *watch) waitEnd(ctx context.Context, x observe.Wait) {
	e := WaitEnd{
		Database: w.db.name, For: WaitFor(x.For), Start: x.Start, Duration: x.Took,
		Outcome: WaitOutcome(x.How), Key: w.db.keyOf(x.Name),
	}
	w.each(func(o *Observer) {
		if o.WaitEnd != nil {
			o.WaitEnd(ctx, e)
		}
	})
}

func (w *watch) sent(r *observe.Request) RequestBegin {
	kind := ObjectListing
	if r.Op != observe.List {
		kind = ObjectKind(keyspace.KindOf(r.Name))
	}
	return RequestBegin{
		Database: w.db.name, Op: Op(r.Op), Kind: kind, Object: r.Full, Start: r.Start,
		Round: int(r.Round), db: w.db,
	}
}

func (w *watch) requestBegin(ctx context.Context, r observe.Request) context.Context {
	w.each(func(o *Observer) {
		if o.RequestBegin != nil {
			ctx = cmp.Or(o.RequestBegin(ctx, w.sent(&r)), ctx)
		}
	})
	return ctx
}

func (w *watch) requestEnd(ctx context.Context, r observe.Request) {
	e := RequestEnd{
		RequestBegin: w.sent(&r), Duration: r.Took, Result: RequestResult(r.Result), Err: r.Err,
		BytesRead: r.Read, BytesWritten: r.Written,
	}
	w.each(func(o *Observer) {
		if o.RequestEnd != nil {
			o.RequestEnd(ctx, e)
		}
	})
}

func (w *watch) resend(ctx context.Context, r observe.Resend) {
	e := Resend{
		Database: w.db.name, Try: r.Try, Pause: r.Pause, Result: RequestResult(r.Result),
		Err: r.Err,
	}
	w.each(func(o *Observer) {
		if o.Resend != nil {
			o.Resend(ctx, e)
		}
	})
}

func (w *watch) workBegin(ctx context.Context, x *observe.Work) context.Context {
	w.each(func(o *Observer) {
		if o.WorkBegin != nil {
			ctx = cmp.Or(o.WorkBegin(ctx, w.started(x)), ctx)
		}
	})
	return ctx
}

func (w *watch) started(x *observe.Work) WorkBegin {
	return WorkBegin{Database: w.db.name, Task: Task(x.Task), Start: x.Start}
}

func (w *watch) workEnd(ctx context.Context, x *observe.Work) {
	e := WorkEnd{
		WorkBegin: w.started(x), Duration: x.Took, Objects: x.Objects, Err: w.db.outward(x.Err),
	}
	w.each(func(o *Observer) {
		if o.WorkEnd != nil {
			o.WorkEnd(ctx, e)
		}
	})
}

// keyOf is the key of a cell; without a Collection if there is none.
func (db *DB) keyOf(name string) Key {
	if name == "" {
		return Key{}
	}
	path, key, err := keyspace.ParseCell(name)
	if err != nil {
		return Key{}
	}
	return Key{Collection: &Collection{db: db, path: path}, Key: key}
}

// word is the name of a number among others; of one that has none it is the number.
func word(n uint8, words ...string) string {
	if int(n) < len(words) {
		return words[n]
	}
	return strconv.Itoa(int(n))
}

// String is a word for the kind, as metrics and logs use it.
func (k TxKind) String() string { return word(uint8(k), "tx", "view", "read") }

// String is a word for the outcome, as metrics and logs use it.
func (o TxOutcome) String() string {
	return word(uint8(o), "aborted", "committed", "read_only", "failed", "in_doubt")
}

// String is a word for the protocol, as metrics and logs use it.
func (p Protocol) String() string {
	return word(uint8(p), "none", "direct", "parallel", "validated", "locked")
}

// String is a word for the outcome, as metrics and logs use it.
func (o AttemptOutcome) String() string {
	return word(uint8(o), "refused", "committed", "in_doubt", "withdrawn")
}

// String is a word for it, as metrics and logs use it.
func (w WaitFor) String() string { return word(uint8(w), "tx", "turn") }

// String is a word for the outcome, as metrics and logs use it.
func (o WaitOutcome) String() string {
	return word(uint8(o), "gave_up", "over", "killed", "together", "alone")
}

// String is a word for the operation, as metrics and logs use it.
func (o Op) String() string { return word(uint8(o), "get", "put", "delete", "list") }

// String is a word for the kind, as metrics and logs use it.
func (k ObjectKind) String() string {
	return word(uint8(k), "other", "cell", "value", "meta", "feed", "listing")
}

// String is a word for the result, as metrics and logs use it.
func (r RequestResult) String() string {
	return word(uint8(r), "ok", "not_modified", "not_found", "refused", "throttled",
		"unavailable", "denied", "canceled", "unknown", "failed")
}

// String is a word for the task, as metrics and logs use it.
func (t Task) String() string {
	return word(uint8(t), "open", "sweep", "check", "drop", "load", "items", "resolve",
		"unlink", "settle", "feed", "follow")
}
