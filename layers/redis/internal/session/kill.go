package session

import (
	"context"
	"strings"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// victims are the sessions that CLIENT KILL is to end.
type victims struct {
	id                int64
	addr, laddr, user string
	others            bool // not the session itself
	none              bool // of a type that is not there
}

func (v *victims) match(i Info, self int64) bool {
	return !v.none && (v.id == 0 || v.id == i.ID) && (v.addr == "" || v.addr == i.Addr) &&
		(v.laddr == "" || v.laddr == i.Laddr) && (v.user == "" || v.user == i.User) &&
		!(v.others && i.ID == self)
}

func parseVictims(args [][]byte) (v victims, err error) {
	v.others = true
	if len(args)%2 != 0 {
		return v, command.ErrSyntax
	}
	for i := 0; i < len(args); i += 2 {
		value := string(args[i+1])
		switch strings.ToLower(string(args[i])) {
		case "id":
			var ok bool
			if v.id, ok = resp.ParseInt(args[i+1]); !ok || v.id <= 0 {
				return v, resp.Error("ERR client-id should be greater than 0")
			}
		case "addr":
			v.addr = value
		case "laddr":
			v.laddr = value
		case "user":
			v.user = value
		case "type":
			v.none = !strings.EqualFold(value, "normal")
		case "skipme":
			v.others = strings.EqualFold(value, "yes")
			if !v.others && !strings.EqualFold(value, "no") {
				return v, command.ErrSyntax
			}
		default:
			return v, command.ErrSyntax
		}
	}
	return v, nil
}

func (s *Session) kill(_ context.Context, args [][]byte) error {
	self := s.Info().ID
	if len(args) == 3 { // the old form
		v := victims{addr: string(args[2])}
		if s.end(v, self) == 0 {
			return resp.Error("ERR No such client")
		}
		s.out.Status("OK")
		return nil
	}
	v, err := parseVictims(args[2:])
	if err != nil {
		return err
	}
	s.out.Int(int64(s.end(v, self)))
	return nil
}

// end ends sessions, the one that asks after its replies.
func (s *Session) end(v victims, self int64) int {
	return s.shared.Directory.End(func(i Info) bool {
		if !v.match(i, self) {
			return false
		}
		s.closing = s.closing || i.ID == self
		return true
	}, self)
}
