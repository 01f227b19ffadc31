package session

import (
	"context"
	"strings"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

var commandSubs = map[string]subcommand{
	"count": {2, 2, func(s *Session, _ context.Context, _ [][]byte) error {
		s.out.Int(int64(len(s.shared.Table.Rows())))
		return nil
	}},
	"info":    {2, -1, (*Session).commandInfo},
	"list":    {2, 5, (*Session).commandList},
	"docs":    {2, -1, (*Session).commandDocs},
	"getkeys": {3, -1, (*Session).commandKeys},
}

func (s *Session) doCommand(ctx context.Context, args [][]byte) error {
	if len(args) == 1 {
		s.describe(s.shared.Table.Rows())
		return nil
	}
	return s.dispatch(ctx, "command", commandSubs, args)
}

// describe tells of commands as COMMAND does.
func (s *Session) describe(rows []command.Command) {
	s.out.Array(len(rows))
	for i := range rows {
		s.row(&rows[i])
	}
}

func (s *Session) row(c *command.Command) {
	const fields = 10
	s.out.Array(fields)
	s.out.String(c.Name)
	s.out.Int(int64(c.Arity))
	flags := c.Flags.Names()
	s.out.Set(len(flags))
	for _, f := range flags {
		s.out.Status(f)
	}
	for _, n := range []int{c.First, c.Last, c.Step} {
		s.out.Int(int64(n))
	}
	for range fields - 6 { // categories, tips, key specifications, subcommands
		s.out.Array(0)
	}
}

func (s *Session) commandInfo(_ context.Context, args [][]byte) error {
	if len(args) == 2 {
		s.describe(s.shared.Table.Rows())
		return nil
	}
	s.out.Array(len(args) - 2)
	for _, name := range args[2:] {
		if c := s.shared.Table.Find(name); c != nil {
			s.row(c)
		} else {
			s.out.NullArray()
		}
	}
	return nil
}

func (s *Session) commandList(_ context.Context, args [][]byte) error {
	pattern := []byte("*")
	switch {
	case len(args) == 5 && command.Is(args[2], "FILTERBY") && command.Is(args[3], "PATTERN"):
		pattern = args[4]
	case len(args) == 5 && command.Is(args[2], "FILTERBY"):
		pattern = nil // no modules, no categories
	case len(args) != 2:
		return command.ErrSyntax
	}
	var names []string
	for _, c := range s.shared.Table.Rows() {
		if pattern != nil && command.Match(pattern, []byte(c.Name)) {
			names = append(names, c.Name)
		}
	}
	s.out.Array(len(names))
	for _, name := range names {
		s.out.String(name)
	}
	return nil
}

// commandDocs tells of each command what it has: nothing but its name.
func (s *Session) commandDocs(_ context.Context, args [][]byte) error {
	var names []string
	for _, c := range s.shared.Table.Rows() {
		wanted := len(args) == 2
		for _, arg := range args[2:] {
			wanted = wanted || strings.EqualFold(string(arg), c.Name)
		}
		if wanted {
			names = append(names, c.Name)
		}
	}
	s.out.Map(len(names))
	for _, name := range names {
		s.out.String(name)
		s.out.Map(0)
	}
	return nil
}

func (s *Session) commandKeys(_ context.Context, args [][]byte) error {
	c := s.shared.Table.Find(args[2])
	switch {
	case c == nil:
		return resp.Error("ERR Invalid command specified")
	case !c.Takes(len(args) - 2):
		return resp.Error("ERR Invalid number of arguments specified for command")
	}
	var names [][]byte
	c.Keys(args[2:], func(key []byte) { names = append(names, key) })
	if len(names) == 0 {
		return resp.Error("ERR The command has no key arguments")
	}
	s.out.Array(len(names))
	for _, name := range names {
		s.out.Bulk(name)
	}
	return nil
}
