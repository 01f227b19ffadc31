package strictkv

import (
	"context"
	"time"

	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/txn"
)

// Observer is told what a handle does, for metrics, traces, and charts: see WithObserver. It is
// a struct of functions, of which any may be nil; later versions may add functions, and fields
// to what they are told.
//
// The functions are called synchronously, by the goroutines that do the work, many at once. No
// lock is held meanwhile, but the work waits: they must return fast, must not wait for anything,
// and must not use the database. What they are told is theirs to keep. If one panics, that is
// logged at level Error (WithLogger), and its observer is told nothing any more.
//
// Those that tell of a beginning return the context in which the work goes on: ctx itself, for
// which nil stands, or one derived from it, such as one that holds a span. The function that tells
// of the end gets that. What is told of in between comes with a context that is derived from it.
type Observer struct {
	// TxBegin and TxEnd are called for each DB.Tx and DB.View, and what is made of them, and for
	// each read of one key outside of a transaction, once its arguments were found valid.
	TxBegin func(ctx context.Context, e TxBegin) context.Context
	TxEnd   func(ctx context.Context, e TxEnd)
	// TxAttempt is called when a transaction has made an attempt to commit. Transactions that
	// commit together make them with the context of one of them.
	TxAttempt func(ctx context.Context, e TxAttempt)
	// TxRetry is called when what a transaction's function did has turned out to be void, before
	// it is run once more, or the transaction is given up.
	TxRetry func(ctx context.Context, e TxRetry)
	// WaitEnd is called when a transaction, or another call, has waited for another transaction.
	WaitEnd func(ctx context.Context, e WaitEnd)
	// RequestBegin and RequestEnd are called for each request to the store, each time that it is
	// sent. Its context is that of the transaction, or of the call, that needs it first.
	RequestBegin func(ctx context.Context, e RequestBegin) context.Context
	RequestEnd   func(ctx context.Context, e RequestEnd)
	// Resend is called when a request has failed in passing, before it is sent again.
	Resend func(ctx context.Context, e Resend)
	// WorkBegin and WorkEnd are called for what is done beside transactions, by calls such as
	// DB.Sweep and in the background. In the background, ctx is that of Open, without its end.
	WorkBegin func(ctx context.Context, e WorkBegin) context.Context
	WorkEnd   func(ctx context.Context, e WorkEnd)
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
	// OutcomeAborted: it had no effect, and ended with an error of the store, the context's, or
	// ErrConflict; or its function panicked, and then Err is nil.
	OutcomeAborted = TxOutcome(observe.Aborted)
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
	// Err is what the call returns, without the key that a KindRead adds.
	Err error
	// Runs is how often its function was run, Attempts how often it was tried to commit what that
	// did, and Protocol how the last time. Transactions that commit together count the attempts
	// of all at one of them.
	Runs, Attempts int
	Protocol       Protocol
	// Grouped says that it has committed together with others of the handle, Escalated that it
	// has taken locks.
	Grouped, Escalated bool
	// Requests is how many requests to the store were made for it and have been answered. What
	// several transactions share is counted for one of them: the reading of a key for which
	// several wait, and the commit of those that commit together.
	Requests int
	// Rounds is the length of the longest chain of these in which each was sent after the one
	// before was answered: what a transaction takes, in round trips.
	Rounds int
	// BytesRead and BytesWritten count the bytes of objects in them.
	BytesRead, BytesWritten int64
	// Waits is how often it has waited for others, in several keys at once perhaps, and Waited
	// how long in all.
	Waits  int
	Waited time.Duration
}

// Protocol is how an attempt commits.
type Protocol uint8

// The protocols. NoProtocol is that of a transaction that has made no attempt.
const (
	NoProtocol = Protocol(observe.NoProtocol)
	// Direct: one key, in one request.
	Direct = Protocol(observe.Direct)
	// Parallel: several keys, and all that was read is among them.
	Parallel = Protocol(observe.Parallel)
	// Validated: some key or range was read, but not written.
	Validated = Protocol(observe.Validated)
	// Locked: under locks, after attempts that others have undone.
	Locked = Protocol(observe.Locked)
)

// AttemptOutcome is how an attempt to commit has ended.
type AttemptOutcome uint8

// The outcomes.
const (
	// AttemptRefused: it can never commit. Others were faster, or the store has failed.
	AttemptRefused = AttemptOutcome(observe.Dead)
	// AttemptCommitted: it has committed.
	AttemptCommitted = AttemptOutcome(observe.Landed)
	// AttemptInDoubt: it may have.
	AttemptInDoubt = AttemptOutcome(observe.Doubtful)
	// AttemptWithdrawn: nothing was sent, as one of those that were to commit together has left.
	AttemptWithdrawn = AttemptOutcome(observe.Withdrawn)
)

// TxAttempt tells of an attempt to commit that has ended. Stats count those that are Direct,
// Parallel and Validated under these names, and all that were refused.
type TxAttempt struct {
	// Database is the name of the database.
	Database string
	Protocol Protocol
	// Keys is how many it writes.
	Keys    int
	Outcome AttemptOutcome
	// Lost is a key that has refused its write, if any is known; else its Collection is nil.
	Lost Key
	// Err is why it was given up, if that ends the transaction, or why it is in doubt.
	Err error
}

// TxRetry tells that a transaction's function is run once more. Stats.StaleReads counts those
// whose cause is StaleRead or WriteConflict.
type TxRetry struct {
	// Database is the name of the database.
	Database string
	Cause    RetryCause
	// Lost is a key that others have changed, if one is known; else its Collection is nil.
	Lost Key
}

// WaitFor is what was waited for.
type WaitFor uint8

// What is waited for.
const (
	// WaitForTx: an undecided transaction that holds a key, of any process.
	WaitForTx = WaitFor(observe.ForIntent)
	// WaitForTurn: others of the same handle that want the same keys.
	WaitForTurn = WaitFor(observe.ForTurn)
)

// WaitOutcome is how waiting has ended.
type WaitOutcome uint8

// The outcomes. There may be more with time.
const (
	// WaitGaveUp: by an error, mostly the context's.
	WaitGaveUp = WaitOutcome(observe.GaveUp)
	// WaitOver: the other transaction is decided, or the turn has come.
	WaitOver = WaitOutcome(observe.Over)
	// WaitKilled: the other transaction was killed, as it is younger or patience had ended.
	WaitKilled = WaitOutcome(observe.Killed)
	// WaitTogether: the others have committed this one with theirs.
	WaitTogether = WaitOutcome(observe.Together)
	// WaitAlone: the turn has not come, and the transaction goes on without.
	WaitAlone = WaitOutcome(observe.Alone)
)

// WaitEnd tells of waiting for others that has ended.
type WaitEnd struct {
	// Database is the name of the database.
	Database string
	For      WaitFor
	Start    time.Time
	Duration time.Duration
	Outcome  WaitOutcome
	// Key is the one that is held; with WaitForTurn its Collection is nil.
	Key Key
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
	// ObjectFeed is one of hints for followers: see WithFeed.
	ObjectFeed = ObjectKind(keyspace.HintKind)
	// ObjectListing is a page of a listing.
	ObjectListing = ObjectFeed + 1
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
	// Round is the number of the transaction's round that it belongs to, from 1 on: see
	// TxEnd.Rounds. It is 0 for what is not of a transaction.
	Round int

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
	key = e.db.keyOf(name)
	return key, key.Collection != nil
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

// Resend tells of a request that has failed in passing. Stats.Resent counts them.
type Resend struct {
	// Database is the name of the database.
	Database string
	// Try is how often it was sent, Pause how long it is until it is again.
	Try   int
	Pause time.Duration
	// Result and Err are how it has failed.
	Result RequestResult
	Err    error
}

// Task is what work beside transactions is for.
type Task uint8

// The tasks. There may be more with time.
const (
	// TaskOpen, TaskSweep, TaskCheck, TaskDrop, TaskLoad and TaskItems are calls: Open, DB.Sweep,
	// DB.Check, DB.Drop and Collection.Drop, Collection.Load, Collection.Items.
	TaskOpen  = Task(observe.Open)
	TaskSweep = Task(observe.Sweep)
	TaskCheck = Task(observe.Check)
	TaskDrop  = Task(observe.Drop)
	TaskLoad  = Task(observe.Load)
	TaskItems = Task(observe.Items)
	// TaskResolve goes on in the background: putting values in the place of the intents that a
	// transaction has left.
	TaskResolve = Task(observe.Resolve)
	// TaskUnlink does, too: removing a value that is an object of its own, and not needed.
	TaskUnlink = Task(observe.Unlink)
	// TaskSettle does, too: settling a transaction in doubt.
	TaskSettle = Task(observe.Settle)
	// TaskFeed does, too: writing hints for followers (see WithFeed), and removing old ones.
	TaskFeed = Task(observe.Feed)
	// TaskFollow is a pass of Follow over all that is followed.
	TaskFollow = Task(observe.Follow)
)

// Background reports whether the task goes on in the background.
func (t Task) Background() bool { return t >= TaskResolve && t <= TaskFeed }

// WorkBegin tells of work beside transactions.
type WorkBegin struct {
	// Database is the name of the database.
	Database string
	Task     Task
	Start    time.Time
}

// WorkEnd tells of such work that has ended.
type WorkEnd struct {
	WorkBegin
	Duration time.Duration
	// Objects counts what was gone through: listed by a sweep or a check, dropped, loaded,
	// yielded, or resolved.
	Objects int64
	// Err is the first error. In the background it means that something was left to others.
	Err error
}

// Name is the option made by Named.
type Name string

// Named names what a transaction is for, such as "checkout": an observer is told so. It is meant
// to be one of few, not to have an id in it. It serves Tx and View.
func Named(name string) Name { return Name(name) }

func (n Name) applyTx(o *txn.Options)   { o.Name = string(n) }
func (n Name) applyView(o *txn.Options) { o.Name = string(n) }
