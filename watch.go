package strictkv

import (
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
	told []*watcher
}

// watcher is an observer, until it has panicked.
type watcher struct {
	Observer
	broken   atomic.Bool
	log      *slog.Logger
	database string
}

// observer is nil if nobody wants to be told.
func (db *DB) observer(rt seam.Runtime, s *settings) *observe.Observer {
	if len(s.observers) == 0 {
		return nil
	}
	w := &watch{db: db}
	for _, o := range s.observers {
		w.told = append(w.told, &watcher{Observer: o, log: s.logger, database: db.name})
	}
	return w.wanted(rt)
}

// wanted is told what any observer has a function for: the rest is not even made.
func (w *watch) wanted(rt seam.Runtime) *observe.Observer {
	seen := &observe.Observer{Runtime: rt}
	for _, x := range w.told {
		want(x.TxBegin != nil, &seen.TxBegin, w.txBegin)
		want(x.TxEnd != nil, &seen.TxEnd, w.txEnd)
		want(x.TxAttempt != nil, &seen.Attempted, w.txAttempt)
		want(x.TxRetry != nil, &seen.Retried, w.txRetry)
		want(x.WaitEnd != nil, &seen.WaitEnd, w.waitEnd)
		want(x.RequestBegin != nil, &seen.RequestBegin, w.requestBegin)
		want(x.RequestEnd != nil, &seen.RequestEnd, w.requestEnd)
		want(x.Resend != nil, &seen.Resent, w.resend)
		want(x.WorkBegin != nil, &seen.WorkBegin, w.workBegin)
		want(x.WorkEnd != nil, &seen.WorkEnd, w.workEnd)
	}
	return seen
}

func want[F any](yes bool, place *F, f F) {
	if yes {
		*place = f
	}
}

// guard is deferred by what calls an observer.
func (x *watcher) guard() {
	if p := recover(); p != nil {
		x.broken.Store(true)
		x.log.Error("an observer has panicked, and is told nothing any more",
			"database", x.database, "panic", p, "stack", string(debug.Stack()))
	}
}

// begin tells of a beginning, and returns the context in which the work goes on.
func begin[E any](
	ctx context.Context, x *watcher, f func(context.Context, E) context.Context, e *E,
) (within context.Context) {
	within = ctx
	if f == nil || x.broken.Load() {
		return within
	}
	defer x.guard()
	if derived := f(ctx, *e); derived != nil {
		within = derived
	}
	return within
}

// tell tells of all else. Events are large: they are copied for the observer alone.
func tell[E any](ctx context.Context, x *watcher, f func(context.Context, E), e *E) {
	if f == nil || x.broken.Load() {
		return
	}
	defer x.guard()
	f(ctx, *e)
}

func (w *watch) begun(tx *observe.Tx) TxBegin {
	return TxBegin{
		Database: w.db.name, Kind: TxKind(tx.Kind), Name: tx.Name, Start: tx.Start,
	}
}

func (w *watch) txBegin(ctx context.Context, tx *observe.Tx) context.Context {
	e := w.begun(tx)
	for _, x := range w.told {
		ctx = begin(ctx, x, x.TxBegin, &e)
	}
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
	for _, x := range w.told {
		tell(ctx, x, x.TxEnd, &e)
	}
}

func (w *watch) txAttempt(ctx context.Context, a observe.Attempt) {
	e := TxAttempt{
		Database: w.db.name, Protocol: Protocol(a.Protocol), Keys: a.Keys,
		Outcome: AttemptOutcome(a.End), Lost: w.db.keyOf(a.Lost),
		Err: w.db.outward(a.Err),
	}
	for _, x := range w.told {
		tell(ctx, x, x.TxAttempt, &e)
	}
}

func (w *watch) txRetry(ctx context.Context, r observe.Retry) {
	e := TxRetry{Database: w.db.name, Cause: RetryCause(r.Cause), Lost: w.db.keyOf(r.Lost)}
	for _, x := range w.told {
		tell(ctx, x, x.TxRetry, &e)
	}
}

func (w *watch) waitEnd(ctx context.Context, y observe.Wait) {
	e := WaitEnd{
		Database: w.db.name, For: WaitFor(y.For), Start: y.Start, Duration: y.Took,
		Outcome: WaitOutcome(y.How), Key: w.db.keyOf(y.Name),
	}
	for _, x := range w.told {
		tell(ctx, x, x.WaitEnd, &e)
	}
}

func (w *watch) sent(r *observe.Request) RequestBegin {
	kind := ObjectListing
	if r.Op != observe.List {
		kind = ObjectKind(r.Kind)
	}
	return RequestBegin{
		Database: w.db.name, Op: Op(r.Op), Kind: kind, Object: r.Full, Start: r.Start,
		Round: int(r.Round), db: w.db,
	}
}

func (w *watch) requestBegin(ctx context.Context, r observe.Request) context.Context {
	e := w.sent(&r)
	for _, x := range w.told {
		ctx = begin(ctx, x, x.RequestBegin, &e)
	}
	return ctx
}

func (w *watch) requestEnd(ctx context.Context, r observe.Request) {
	e := RequestEnd{
		RequestBegin: w.sent(&r), Duration: r.Took, Result: RequestResult(r.Result), Err: r.Err,
		BytesRead: r.Read, BytesWritten: r.Written,
	}
	for _, x := range w.told {
		tell(ctx, x, x.RequestEnd, &e)
	}
}

func (w *watch) resend(ctx context.Context, r observe.Resend) {
	e := Resend{
		Database: w.db.name, Try: r.Try, Pause: r.Pause, Result: RequestResult(r.Result),
		Err: r.Err,
	}
	for _, x := range w.told {
		tell(ctx, x, x.Resend, &e)
	}
}

func (w *watch) workBegin(ctx context.Context, y *observe.Work) context.Context {
	e := w.started(y)
	for _, x := range w.told {
		ctx = begin(ctx, x, x.WorkBegin, &e)
	}
	return ctx
}

func (w *watch) started(x *observe.Work) WorkBegin {
	return WorkBegin{Database: w.db.name, Task: Task(x.Task), Start: x.Start}
}

func (w *watch) workEnd(ctx context.Context, y *observe.Work) {
	e := WorkEnd{
		WorkBegin: w.started(y), Duration: y.Took, Objects: y.Objects, Err: w.db.outward(y.Err),
	}
	for _, x := range w.told {
		tell(ctx, x, x.WorkEnd, &e)
	}
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
