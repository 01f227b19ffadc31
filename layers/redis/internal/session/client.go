package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// unknownSub is the reply to a subcommand that is not there.
func unknownSub(name string, sub []byte) resp.Error {
	return resp.Error(fmt.Sprintf("ERR unknown subcommand '%.128s'. Try %s HELP.",
		sub, strings.ToUpper(name)))
}

// subcommand is one of a command that has some.
type subcommand struct {
	least, most int // arguments, both names included; most of -1 is any number
	run         control
}

// dispatch runs a subcommand.
func (s *Session) dispatch(
	ctx context.Context, name string, all map[string]subcommand, args [][]byte,
) error {
	word := strings.ToLower(string(args[1]))
	sub, ok := all[word]
	switch {
	case !ok:
		return unknownSub(name, args[1])
	case len(args) < sub.least, sub.most >= 0 && len(args) > sub.most:
		return command.WrongNumber(name + "|" + word)
	}
	return sub.run(s, ctx, args)
}

var clientSubs = map[string]subcommand{
	"id": {2, 2, func(s *Session, _ context.Context, _ [][]byte) error {
		s.out.Int(s.Info().ID)
		return nil
	}},
	"getname": {2, 2, func(s *Session, _ context.Context, _ [][]byte) error {
		if name := s.Info().Name; name != "" {
			s.out.String(name)
		} else {
			s.out.Null()
		}
		return nil
	}},
	"setname": {3, 3, (*Session).setName},
	"setinfo": {4, 4, (*Session).setInfo},
	"info": {2, 2, func(s *Session, _ context.Context, _ [][]byte) error {
		s.out.Verbatim(line(s.Info()))
		return nil
	}},
	"kill":     {3, -1, (*Session).kill},
	"list":     {2, -1, (*Session).listClients},
	"no-evict": {3, 3, (*Session).switchNothing},
	"no-touch": {3, 3, (*Session).switchNothing},
}

func (s *Session) doClient(ctx context.Context, args [][]byte) error {
	return s.dispatch(ctx, "client", clientSubs, args)
}

func (s *Session) setName(_ context.Context, args [][]byte) error {
	if !nameable(string(args[2])) {
		return errName
	}
	s.tell(func(i *Info) { i.Name = string(args[2]) })
	s.out.Status("OK")
	return nil
}

func (s *Session) setInfo(_ context.Context, args [][]byte) error {
	value := string(args[3])
	if !nameable(value) {
		return resp.Error("ERR " + strings.ToLower(string(args[2])) +
			" cannot contain spaces, newlines or special characters.")
	}
	switch {
	case command.Is(args[2], "LIB-NAME"):
		s.tell(func(i *Info) { i.Library = value })
	case command.Is(args[2], "LIB-VER"):
		s.tell(func(i *Info) { i.LibraryVersion = value })
	default:
		return resp.Error("ERR Unrecognized option '" + string(args[2]) + "'")
	}
	s.out.Status("OK")
	return nil
}

// switchNothing takes ON and OFF of what is not there to be switched.
func (s *Session) switchNothing(_ context.Context, args [][]byte) error {
	if !command.Is(args[2], "ON") && !command.Is(args[2], "OFF") {
		return command.ErrSyntax
	}
	s.out.Status("OK")
	return nil
}

func (s *Session) listClients(_ context.Context, args [][]byte) error {
	wanted := map[string]bool{}
	switch {
	case len(args) == 2:
	case len(args) == 4 && command.Is(args[2], "TYPE"):
		if !command.Is(args[3], "NORMAL") {
			s.out.Verbatim("")
			return nil
		}
	case len(args) > 3 && command.Is(args[2], "ID"):
		for _, id := range args[3:] {
			wanted[string(id)] = true
		}
	default:
		return command.ErrSyntax
	}
	var b strings.Builder
	s.shared.Directory.Each(func(i Info) {
		if len(wanted) == 0 || wanted[fmt.Sprint(i.ID)] {
			b.WriteString(line(i))
		}
	})
	s.out.Verbatim(b.String())
	return nil
}

// line is what CLIENT LIST tells of a session.
func line(i Info) string {
	now := time.Now()
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=0 name=%s age=%d idle=%d flags=N db=%d sub=0 "+
		"psub=0 ssub=0 multi=%d qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 obl=0 oll=0 omem=0 "+
		"tot-mem=0 events=r cmd=%s user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s\n",
		i.ID, i.Addr, i.Laddr, i.Name, seconds(now.Sub(i.Begun)), seconds(now.Sub(i.Active)),
		i.Database, i.Queued, i.Last, i.User, i.Version, i.Library, i.LibraryVersion)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
