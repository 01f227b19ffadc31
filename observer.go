package strictkv

import (
	"context"
	"strconv"
	"time"

	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/txn"
)

// Observer is told what a handle does, for metrics, traces, and charts: see WithObserver. It is
// a struct of functions, of which any may be nil; later versions may add functions, and fields
// to what they are told.
//
// The functions are called synchronously, by the goroutines that do the work, many at once. No
// lock is held meanwhile, but the work waits: they must return fast, must not wait for anything,
// and must not use the database. What they are told is theirs to keep.
//
// Those that tell of a beginning return the context in which the work goes on: ctx itself, or one
// derived from it, such as one that holds a span. The function that tells of the end gets that.
type Observer struct {
	// TxBegin and TxEnd are called for each DB.Tx and DB.View, and what is made of them, and for
	// each read of one key outside of a transaction, once its arguments were found valid.
	TxBegin func(ctx context.Context, e TxBegin) context.Context
	TxEnd   func(ctx context.Context, e TxEnd)
	// RequestBegin and RequestEnd are called for each request to the store, each time that it is
	// sent. Its context is that of the transaction, or of the call, that needs it first.
	RequestBegin func(ctx context.Context, e RequestBegin) context.Context
	RequestEnd   func(ctx context.Context, e RequestEnd)
}

// WithObserver has the handle tell an observer what it does. Given several times, each is told,
// in the order given. Without one nothing is measured, and nothing allocated.
func WithObserver(o Observer) Option {
	return func(s *settings) { s.observers = append(s.observers, o) }
}

// TxKind says what a transaction is.
type TxKind uint8

// The kinds. There may be more with time.
const (
	// KindTx is a DB.Tx, or what is made of one, such as Collection.Write.
	KindTx = TxKind(observe.Update)
	// KindView is a DB.View.
	KindView = TxKind(observe.View)
	// KindRead is a read of one key outside of a transaction, as by Collection.Read.
	KindRead = TxKind(observe.Read)
)

// TxBegin tells of a transaction that begins.
type TxBegin struct {
	// Database is the name of the database.
	Database string
	Kind     TxKind
	// Name is what the option Named has given it, if any.
	Name string
	// Start is when it began.
	Start time.Time
}

// TxOutcome is how a transaction has ended.
type TxOutcome uint8

// The outcomes. Those but the first are counted by Stats, under the same names.
const (
	// OutcomeGivenUp: it had no effect, and ended with an error of the store, the context's, or
	// ErrConflict; or its function panicked, and then Err is nil.
	OutcomeGivenUp = TxOutcome(observe.GivenUp)
	// OutcomeCommitted: it has written.
	OutcomeCommitted = TxOutcome(observe.Committed)
	// OutcomeReadOnly: it had nothing to write. A KindRead may have an error nevertheless, such
	// as ErrNotFound.
	OutcomeReadOnly = TxOutcome(observe.ReadOnly)
	// OutcomeFailed: its function returned an error, and it had no effect.
	OutcomeFailed = TxOutcome(observe.Failed)
	// OutcomeInDoubt: ErrInDoubt.
	OutcomeInDoubt = TxOutcome(observe.InDoubt)
)

// TxEnd tells of a transaction that has ended.
type TxEnd struct {
	TxBegin
	// Duration is how long the call took.
	Duration time.Duration
	Outcome  TxOutcome
	// Err is what the call returns.
	Err error
	// Runs is how often its function was run.
	Runs int
	// Requests is how many requests to the store were made for it and have been answered. What
	// several transactions share is counted for one of them: the reading of a key for which
	// several wait, and the commit of those that commit together.
	Requests int
	// Rounds is the length of the longest chain of these in which each was sent after the one
	// before was answered: what a transaction takes, in round trips.
	Rounds int
	// BytesRead and BytesWritten count the bytes of objects in them.
	BytesRead, BytesWritten int64
}

// Op is an operation of a store.
type Op uint8

// The operations.
const (
	OpGet    = Op(observe.Get)
	OpPut    = Op(observe.Put)
	OpDelete = Op(observe.Delete)
	OpList   = Op(observe.List)
)

// ObjectKind is what a request is about.
type ObjectKind uint8

// The kinds of objects.
const (
	// ObjectOther is what is there for a moment, to learn what the store can, or its time; and
	// what a Check has moved aside.
	ObjectOther = ObjectKind(keyspace.OtherKind)
	// ObjectCell is the object of a key.
	ObjectCell = ObjectKind(keyspace.CellKind)
	// ObjectValue is a value that is too large for its key's object.
	ObjectValue = ObjectKind(keyspace.ValueKind)
	// ObjectMeta is what says that there is a database.
	ObjectMeta = ObjectKind(keyspace.MetaKind)
	// ObjectListing is a page of a listing.
	ObjectListing = ObjectMeta + 1
)

// RequestBegin tells of a request to the store.
type RequestBegin struct {
	// Database is the name of the database.
	Database string
	Op       Op
	Kind     ObjectKind
	// Object is the full name of the object in the bucket; of a listing it is the prefix. It has
	// the key in it.
	Object string
	// Start is when it was sent.
	Start time.Time

	db *DB
}

// Key is the key that the object is of. Other objects, and listings, are of none.
func (e RequestBegin) Key() (key Key, ok bool) {
	name := e.Object[min(len(e.Database)+1, len(e.Object)):]
	if e.Kind == ObjectValue {
		name, _, _ = keyspace.ParseValue(name)
	}
	if e.Kind != ObjectCell && e.Kind != ObjectValue {
		return Key{}, false
	}
	path, k, err := keyspace.ParseCell(name)
	if err != nil {
		return Key{}, false
	}
	return Key{Collection: &Collection{db: e.db, path: path}, Key: k}, true
}

// RequestResult is how the store has answered.
type RequestResult uint8

// The results. There may be more with time.
const (
	ResultOK = RequestResult(observe.OK)
	// ResultNotModified and ResultNotFound are what a read may find.
	ResultNotModified = RequestResult(observe.NotModified)
	ResultNotFound    = RequestResult(observe.NotFound)
	// ResultRefused: the condition of a write did not hold, mostly as somebody else was faster.
	ResultRefused = RequestResult(observe.Refused)
	// ResultThrottled, ResultUnavailable: backend.ErrThrottled, backend.ErrUnavailable.
	ResultThrottled   = RequestResult(observe.Throttled)
	ResultUnavailable = RequestResult(observe.Unavailable)
	// ResultDenied: backend.ErrDenied.
	ResultDenied = RequestResult(observe.Denied)
	// ResultCanceled: a read or a listing was not waited for, since the context ended or the
	// request took too long.
	ResultCanceled = RequestResult(observe.Canceled)
	// ResultUnknown: it is not known whether the write was applied.
	ResultUnknown = RequestResult(observe.Unknown)
	// ResultFailed is any other error.
	ResultFailed = RequestResult(observe.Other)
)

// RequestEnd tells of a request to the store that was answered, or given up.
type RequestEnd struct {
	RequestBegin
	// Duration is how long it took.
	Duration time.Duration
	Result   RequestResult
	Err      error
	// BytesRead and BytesWritten are of the object.
	BytesRead, BytesWritten int
}

// Name is the option made by Named.
type Name string

// word is the name of a number among others; of one that has none it is the number.
func word(words []string, n uint8) string {
	if int(n) < len(words) {
		return words[n]
	}
	return strconv.Itoa(int(n))
}

// String is a word for the kind, as metrics and logs use it.
func (k TxKind) String() string { return word([]string{"tx", "view", "read"}, uint8(k)) }

// String is a word for the outcome, as metrics and logs use it.
func (o TxOutcome) String() string {
	return word([]string{"given_up", "committed", "read_only", "failed", "in_doubt"}, uint8(o))
}

// String is a word for the operation, as metrics and logs use it.
func (o Op) String() string { return word([]string{"get", "put", "delete", "list"}, uint8(o)) }

// String is a word for the kind, as metrics and logs use it.
func (k ObjectKind) String() string {
	return word([]string{"other", "cell", "value", "meta", "listing"}, uint8(k))
}

// String is a word for the result, as metrics and logs use it.
func (r RequestResult) String() string {
	return word([]string{
		"ok", "not_modified", "not_found", "refused", "throttled", "unavailable", "denied",
		"canceled", "unknown", "failed",
	}, uint8(r))
}

// Named names what a transaction is for, such as "checkout": an observer is told so. It is meant
// to be one of few, not to have an id in it. It serves Tx and View.
func Named(name string) Name { return Name(name) }

func (n Name) applyTx(o *txn.Options)   { o.Name = string(n) }
func (n Name) applyView(o *txn.Options) { o.Name = string(n) }

// watch is what the engine tells, made public.
type watch struct {
	db   *DB
	told []Observer
}

// observer is nil if nobody wants to be told.
func (db *DB) observer(rt seam.Runtime, told []Observer) *observe.Observer {
	if len(told) == 0 {
		return nil
	}
	w := &watch{db: db, told: told}
	return &observe.Observer{
		Runtime: rt, TxBegin: w.txBegin, TxEnd: w.txEnd,
		RequestBegin: w.requestBegin, RequestEnd: w.requestEnd,
	}
}

func (w *watch) begun(tx *observe.Tx) TxBegin {
	return TxBegin{
		Database: w.db.name, Kind: TxKind(tx.Kind), Name: tx.Name, Start: tx.Start,
	}
}

func (w *watch) txBegin(ctx context.Context, tx *observe.Tx) context.Context {
	for i := range w.told {
		if f := w.told[i].TxBegin; f != nil {
			ctx = f(ctx, w.begun(tx))
		}
	}
	return ctx
}

func (w *watch) txEnd(ctx context.Context, tx *observe.Tx) {
	e := TxEnd{
		TxBegin: w.begun(tx), Duration: tx.Took, Outcome: TxOutcome(tx.Outcome),
		Err: w.db.outward(tx.Err), Runs: tx.Runs, Requests: tx.Requests(), Rounds: tx.Rounds(),
	}
	e.BytesRead, e.BytesWritten = tx.Bytes()
	for i := range w.told {
		if f := w.told[i].TxEnd; f != nil {
			f(ctx, e)
		}
	}
}

func (w *watch) sent(r *observe.Request) RequestBegin {
	kind := ObjectListing
	if r.Op != observe.List {
		kind = ObjectKind(keyspace.KindOf(r.Name))
	}
	return RequestBegin{
		Database: w.db.name, Op: Op(r.Op), Kind: kind, Object: r.Full, Start: r.Start, db: w.db,
	}
}

func (w *watch) requestBegin(ctx context.Context, r observe.Request) context.Context {
	for i := range w.told {
		if f := w.told[i].RequestBegin; f != nil {
			ctx = f(ctx, w.sent(&r))
		}
	}
	return ctx
}

func (w *watch) requestEnd(ctx context.Context, r observe.Request) {
	e := RequestEnd{
		RequestBegin: w.sent(&r), Duration: r.Took, Result: RequestResult(r.Result), Err: r.Err,
		BytesRead: r.Read, BytesWritten: r.Written,
	}
	for i := range w.told {
		if f := w.told[i].RequestEnd; f != nil {
			f(ctx, e)
		}
	}
}
