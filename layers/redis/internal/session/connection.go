package session

import (
	"context"
	"strconv"
	"time"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// control runs a command of the connection. It replies by itself, or returns what is wrong. Those
// that MULTI queues may be run twice.
type control func(s *Session, ctx context.Context, args [][]byte) error

// controls are the commands of Commands.
var controls map[string]control

func init() {
	controls = map[string]control{
		"ping": (*Session).doPing, "echo": (*Session).doEcho, "select": (*Session).doSelect,
		"auth": (*Session).doAuth, "hello": (*Session).doHello, "quit": (*Session).doQuit,
		"reset": (*Session).doReset, "time": (*Session).doTime,
		"multi": (*Session).doMulti, "exec": (*Session).doExec, "discard": (*Session).doDiscard,
		"watch": (*Session).doWatch, "unwatch": (*Session).doUnwatch,
		"keys": (*Session).doKeys, "dbsize": (*Session).doSize, "scan": (*Session).doScan,
		"randomkey": (*Session).doRandom, "flushdb": (*Session).doFlush,
		"flushall": (*Session).doFlushAll, "client": (*Session).doClient,
		"info": (*Session).doInfo, "config": (*Session).doConfig, "command": (*Session).doCommand,
	}
}

// Commands are those of the connection, which have no Run.
var Commands = []command.Command{
	{Name: "ping", Arity: -1, Flags: command.Fast},
	{Name: "echo", Arity: 2, Flags: command.Loading | command.Stale | command.Fast},
	{Name: "select", Arity: 2, Flags: command.Loading | command.Stale | command.Fast},
	{Name: "auth", Arity: -2, Flags: entering},
	{Name: "hello", Arity: -1, Flags: entering},
	{Name: "quit", Arity: -1, Flags: entering &^ command.NoMulti},
	{Name: "reset", Arity: 1, Flags: entering &^ command.NoMulti},
	{Name: "time", Arity: 1, Flags: command.Loading | command.Stale | command.Fast},
	{Name: "multi", Arity: 1, Flags: multiFlags | command.Fast},
	{Name: "exec", Arity: 1, Flags: multiFlags},
	{Name: "discard", Arity: 1, Flags: multiFlags | command.Fast},
	{Name: "watch", Arity: -2, Flags: multiFlags | command.Fast, First: 1, Last: -1, Step: 1},
	{Name: "unwatch", Arity: 1, Flags: multiFlags | command.Fast},
	{Name: "keys", Arity: 2, Flags: command.ReadOnly | command.NoMulti},
	{Name: "dbsize", Arity: 1, Flags: command.ReadOnly | command.Fast | command.NoMulti},
	{Name: "scan", Arity: -2, Flags: command.ReadOnly | command.NoMulti},
	{Name: "randomkey", Arity: 1, Flags: command.ReadOnly | command.NoMulti},
	{Name: "flushdb", Arity: -1, Flags: command.Write | command.NoMulti},
	{Name: "flushall", Arity: -1, Flags: command.Write | command.NoMulti},
	{Name: "client", Arity: -2, Flags: telling},
	{Name: "info", Arity: -1, Flags: command.Loading | command.Stale},
	{Name: "config", Arity: -2, Flags: command.Admin | telling},
	{Name: "command", Arity: -1, Flags: command.Loading | command.Stale},
}

const telling = command.NoScript | command.Loading | command.Stale

const multiFlags = command.NoScript | command.Loading | command.Stale

// entering are the flags of what a client may do before it is let in.
const entering = command.NoScript | command.Loading | command.Stale | command.Fast |
	command.NoAuth | command.NoMulti

func (s *Session) doPing(_ context.Context, args [][]byte) error {
	switch len(args) {
	case 1:
		s.out.Status("PONG")
	case 2:
		s.out.Bulk(args[1])
	default:
		return command.WrongNumber("ping")
	}
	return nil
}

func (s *Session) doEcho(_ context.Context, args [][]byte) error {
	s.out.Bulk(args[1])
	return nil
}

func (s *Session) doTime(_ context.Context, _ [][]byte) error {
	now := time.Now()
	s.out.Array(2)
	s.out.String(strconv.FormatInt(now.Unix(), 10))
	s.out.String(strconv.Itoa(now.Nanosecond() / int(time.Microsecond)))
	return nil
}

func (s *Session) doSelect(_ context.Context, args [][]byte) error {
	n, ok := resp.ParseInt(args[1])
	if !ok {
		return command.ErrNotInt
	}
	if n < 0 || n >= keys.Databases {
		return resp.Error("ERR DB index is out of range")
	}
	s.database = int(n)
	s.tell(func(i *Info) { i.Database = s.database })
	s.out.Status("OK")
	return nil
}

func (s *Session) doQuit(_ context.Context, _ [][]byte) error {
	s.closing = true
	s.out.Status("OK")
	return nil
}

func (s *Session) doReset(_ context.Context, _ [][]byte) error {
	s.forget()
	s.database, s.out.Version, s.admitted = 0, 2, s.shared.Admit == nil
	s.tell(func(i *Info) {
		i.Database, i.Version, i.Name, i.User = 0, 2, "", ""
		if s.admitted {
			i.User = defaultUser
		}
	})
	s.out.Status("RESET")
	return nil
}

const errWrongPass = resp.Error("WRONGPASS invalid username-password pair or user is disabled.")

// enter lets a user in who has the password.
func (s *Session) enter(user, password string) error {
	admit := s.shared.Admit
	if admit == nil && user != defaultUser || admit != nil && !admit(user, password) {
		s.shared.Stats.Denied.Add(1)
		s.shared.Log.Warn("a client has given a wrong password", "addr", s.Info().Addr)
		return errWrongPass
	}
	s.admitted = true
	s.tell(func(i *Info) { i.User = user })
	return nil
}

func (s *Session) doAuth(_ context.Context, args [][]byte) error {
	user, password := defaultUser, args[1]
	switch {
	case len(args) > 3:
		return command.ErrSyntax
	case len(args) == 3:
		user, password = string(args[1]), args[2]
	case s.shared.Admit == nil:
		return resp.Error("ERR AUTH <password> called without any password configured for the " +
			"default user. Are you sure your configuration is correct?")
	}
	if err := s.enter(user, string(password)); err != nil {
		return err
	}
	s.out.Status("OK")
	return nil
}

// hello is what HELLO asks for.
type hello struct {
	version        int
	user, password string
	auth           bool
	name           string
	named          bool
}

func parseHello(args [][]byte, version int) (h hello, err error) {
	h.version = version
	if len(args) > 1 {
		n, ok := resp.ParseInt(args[1])
		if !ok {
			return h, resp.Error("ERR Protocol version is not an integer or out of range")
		}
		if n != 2 && n != 3 {
			return h, resp.Error("NOPROTO unsupported protocol version")
		}
		h.version = int(n)
	}
	for i := 2; i < len(args); i++ {
		switch {
		case command.Is(args[i], "AUTH") && i+2 < len(args):
			h.auth, h.user, h.password = true, string(args[i+1]), string(args[i+2])
			i += 2
		case command.Is(args[i], "SETNAME") && i+1 < len(args):
			h.named, h.name = true, string(args[i+1])
			i++
		default:
			return h, resp.Error("ERR Syntax error in HELLO option '" + string(args[i]) + "'")
		}
	}
	return h, nil
}

func (s *Session) doHello(_ context.Context, args [][]byte) error {
	h, err := parseHello(args, s.out.Version)
	if err != nil {
		return err
	}
	if h.named && !nameable(h.name) {
		return errName
	}
	if h.auth {
		if err := s.enter(h.user, h.password); err != nil {
			return err
		}
	}
	if !s.admitted {
		return resp.Error("NOAUTH HELLO must be called with the client already authenticated, " +
			"otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate " +
			"the client and select the RESP protocol version at the same time")
	}
	s.out.Version = h.version
	s.tell(func(i *Info) {
		i.Version = h.version
		if h.named {
			i.Name = h.name
		}
	})
	s.out.Map(7)
	for _, field := range [][2]string{{"server", "redis"}, {"version", Version}} {
		s.out.String(field[0])
		s.out.String(field[1])
	}
	s.out.String("proto")
	s.out.Int(int64(h.version))
	s.out.String("id")
	s.out.Int(s.Info().ID)
	for _, field := range [][2]string{{"mode", "standalone"}, {"role", "master"}} {
		s.out.String(field[0])
		s.out.String(field[1])
	}
	s.out.String("modules")
	s.out.Array(0)
	return nil
}

// Version is that of Redis whose commands these are: clients choose by it what they send.
const Version = "7.2.0"

const errName = resp.Error(
	"ERR Client names cannot contain spaces, newlines or special characters.")

// clientNameMax is how long the name of a connection may be, in bytes.
const clientNameMax = 512

// nameable reports whether a connection can have a name.
func nameable(name string) bool {
	if len(name) > clientNameMax {
		return false
	}
	for _, c := range []byte(name) {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}
