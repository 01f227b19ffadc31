package session

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// Limits of what a session does at once.
const (
	// QueueMax is how many commands may stand between MULTI and EXEC.
	QueueMax = 100_000
	// WatchMax is how many keys a session may watch.
	WatchMax = 10_000
	// sharedMax is how many commands of a pipeline share a transaction, and sharedKeysMax how many
	// keys these name.
	sharedMax     = 256
	sharedKeysMax = 512
	// repliesMax is from which size on, in bytes, the replies of a transaction are sent before the
	// pipeline goes on in another.
	repliesMax = 16 << 20
	// copiedMax is at how many bytes of values that commands of a pipeline have written, or read
	// again, it goes on in another transaction: the engine keeps each until the end.
	copiedMax = 16 << 20
)

// Shared is what the sessions of a server have in common.
type Shared struct {
	Space *keys.Space
	Table *command.Table
	Log   *slog.Logger
	// Admit reports whether a user has that password. It is nil if everybody may do all.
	Admit func(user, password string) bool
	// Reserve is asked before a session keeps memory; Free takes it back.
	Reserve func(bytes int) error
	Free    func(bytes int)
	// Full reports whether so much is in flight that no more long replies are to be made.
	Full func() bool
	// Combiner has commands of different sessions share transactions; nil: none do.
	Combiner *Combiner
	// Staleness is how old what is read outside of MULTI may be; 0 is strong.
	Staleness time.Duration
	// Timeout is how long a command may take.
	Timeout time.Duration
	Stats   *Stats
	// Directory knows the sessions of the server.
	Directory Directory
	// Settings are what CONFIG GET tells.
	Settings map[string]string
	// Started is when the server was.
	Started time.Time
}

// Directory knows the sessions of a server.
type Directory interface {
	// Each calls f for each session.
	Each(f func(Info))
	// End closes the connections of sessions that f picks, but that of one with an ID, and returns
	// how many f has picked.
	End(f func(Info) bool, but int64) int
}

// Stats count what has been done since a server started.
type Stats struct {
	Connections, Refused, Commands, Transactions, Errors, InDoubt, Denied atomic.Int64
	Clients                                                               atomic.Int64
	BytesIn, BytesOut                                                     atomic.Int64
}

// Info is what a session tells of itself to others.
type Info struct {
	ID             int64
	Addr, Laddr    string
	Name, User     string
	Library        string
	LibraryVersion string
	Database       int
	Version        int
	Queued         int // -1 outside of MULTI
	Begun, Active  time.Time
	Last           string // command
}

// watched is a key that was watched, and its version then.
type watched struct {
	keys.Named
	version strictkv.Version
}

// Session is the state of one connection. It is used by one goroutine, but for Info.
type Session struct {
	shared *Shared
	out    *resp.Writer

	database int
	admitted bool
	closing  bool

	multi   bool
	aborted bool // a command could not be queued
	queue   []call
	watches []watched
	kept    int // bytes of queue and watches, reserved
	held    int // bytes of what the transaction under way has read, reserved

	info   atomic.Pointer[Info]
	active atomic.Int64 // nanoseconds since 1970
	last   atomic.Pointer[command.Command]
	queued atomic.Int64

	// Commands that follow each other soon share a context, which ends at a time.
	within context.Context
	until  time.Time
	stop   context.CancelFunc

	calls []call // reused
	part  part
}

// call is a command that a client has sent.
type call struct {
	command *command.Command
	args    [][]byte
	err     error // a resp.Error: it can't be run
}

// New begins a session, whose replies go to out.
func New(shared *Shared, out *resp.Writer, info Info) *Session {
	s := &Session{shared: shared, out: out, admitted: shared.Admit == nil, stop: func() {}}
	out.Version = 2
	info.Version = 2
	s.queued.Store(-1)
	s.active.Store(info.Begun.UnixNano())
	if s.admitted {
		info.User = defaultUser
	}
	s.info.Store(&info)
	return s
}

const defaultUser = "default"

// Info is what the session tells of itself. It may be called by any goroutine.
func (s *Session) Info() Info {
	i := *s.info.Load()
	i.Active, i.Queued = time.Unix(0, s.active.Load()), int(s.queued.Load())
	if c := s.last.Load(); c != nil {
		i.Last = c.Name
	}
	return i
}

// tell changes what Info returns.
func (s *Session) tell(f func(*Info)) {
	i := *s.info.Load()
	f(&i)
	s.info.Store(&i)
}

// Admitted reports whether the client may use commands other than those that let it in.
func (s *Session) Admitted() bool { return s.admitted }

// Closing reports whether the connection is to be closed when the replies are sent.
func (s *Session) Closing() bool { return s.closing }

// Do runs commands that have come together, in order. Those that stand side by side share a
// transaction where they can. It returns how many it has run: less than all if the replies are to
// be sent before the others.
func (s *Session) Do(ctx context.Context, batch [][][]byte) int {
	s.active.Store(time.Now().UnixNano())
	for done := 0; done < len(batch); {
		if s.closing || s.out.Len() >= repliesMax {
			return done
		}
		first := s.prepare(batch[done])
		if !s.joins(first) {
			s.one(ctx, first)
			done++
			continue
		}
		calls, named := s.calls[:0], 0
		for done+len(calls) < len(batch) && len(calls) < sharedMax {
			next := s.prepare(batch[done+len(calls)])
			next.eachKey(func([]byte) { named++ })
			if len(calls) > 0 && (!s.joins(next) || named > sharedKeysMax) {
				break
			}
			calls = append(calls, next)
		}
		done += s.run(ctx, calls)
		clear(calls)
		s.calls = calls[:0]
	}
	return len(batch)
}

// prepare finds the command, and what is wrong with the call before it runs.
func (s *Session) prepare(args [][]byte) call {
	c := call{command: s.shared.Table.Find(args[0]), args: args}
	s.last.Store(c.command)
	switch {
	case c.command == nil:
		c.err = command.Unknown(args)
	case !c.command.Takes(len(args)):
		c.err = command.WrongNumber(c.command.Name)
		if c.command.Name == "exec" {
			c.err = resp.Error("EXECABORT Transaction discarded because of: " +
				strings.TrimPrefix(c.err.Error(), "ERR "))
		}
	case !s.admitted && c.command.Flags&command.NoAuth == 0:
		c.err = errNoAuth
	}
	return c
}

const errNoAuth = resp.Error("NOAUTH Authentication required.")

// joins reports whether a call may share a transaction with others.
func (s *Session) joins(c call) bool {
	return !s.multi && c.err == nil && c.command.Run != nil && c.command.Flags&command.Alone == 0
}

// eachKey calls f for each key that the call names.
func (c *call) eachKey(f func(key []byte)) {
	if c.err == nil {
		c.command.Keys(c.args, f)
	}
}

// one runs a call by itself, or queues it.
func (s *Session) one(ctx context.Context, c call) {
	switch {
	case s.multi && !immediate(c):
		if s.enqueue(c); s.multi {
			s.queued.Store(int64(len(s.queue)))
		}
	case c.err != nil:
		s.fail(c.err)
	case c.command.Run != nil:
		s.run(ctx, []call{c})
	default:
		s.shared.Stats.Commands.Add(1)
		if err := controls[c.command.Name](s, ctx, c.args); err != nil {
			s.fail(err)
		}
	}
}

// keep makes a copy of what a client has sent, which stays until forget.
func (s *Session) keep(args ...[]byte) ([][]byte, error) {
	size := 0
	for _, arg := range args {
		size += len(arg) + keptCost
	}
	if err := s.shared.Reserve(size); err != nil {
		return nil, err
	}
	s.kept += size
	kept := make([][]byte, len(args))
	for i, arg := range args {
		kept[i] = bytes.Clone(arg)
	}
	return kept, nil
}

// keptCost is what an argument takes beside its bytes.
const keptCost = 64

// Close forgets what the session has kept.
func (s *Session) Close() {
	s.forget()
	s.stop()
}

// fail replies what is wrong.
func (s *Session) fail(err error) {
	s.shared.Stats.Errors.Add(1)
	s.out.Error(s.shared.reply(err))
}
