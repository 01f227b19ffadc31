package command

import (
	"bytes"
	"strings"

	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// Flags tell of a command what COMMAND INFO does, and how it is run.
type Flags uint16

// The flags. A command has either Write or ReadOnly if it uses a key.
const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Fast
	Admin
	Loading
	Stale
	NoAuth
	// NoMulti commands are not queued by MULTI.
	NoMulti
	// NoScript is told only.
	NoScript
	// MovableKeys: the places of the keys depend on the arguments.
	MovableKeys
	// Alone commands don't share a transaction with those before and after them.
	Alone
	// Single commands read the entry of one key, once, and nothing else.
	Single
	// Plain commands use the values of the keys that they name, and nothing else but what has to be
	// left of a large value that they replace.
	Plain
)

var flagNames = []struct {
	flag Flags
	name string
}{
	{Write, "write"}, {ReadOnly, "readonly"}, {DenyOOM, "denyoom"}, {Admin, "admin"},
	{NoScript, "noscript"}, {Loading, "loading"}, {Stale, "stale"}, {Fast, "fast"},
	{NoAuth, "no_auth"}, {NoMulti, "no_multi"}, {MovableKeys, "movablekeys"},
}

// Names are those by which COMMAND tells the flags.
func (f Flags) Names() []string {
	var names []string
	for _, x := range flagNames {
		if f&x.flag != 0 {
			names = append(names, x.name)
		}
	}
	return names
}

// Command is a row of the table.
type Command struct {
	// Name is in lower case.
	Name string
	// Arity is how many arguments there are, the name included; -n is at least n.
	Arity int
	Flags Flags
	// First, Last and Step tell which arguments are keys, as COMMAND does: a Last below 0 counts
	// from the end. First is 0 if none is.
	First, Last, Step int
	// Run runs the command, as the package says. It is nil for those of the connection.
	Run func(*Call) error
}

// Call is one call of a command, in one run of a transaction.
type Call struct {
	*keys.Tx
	// Args are the arguments, the name first.
	Args [][]byte
	// Out takes the reply.
	Out *resp.Writer
}

// Takes reports whether a number of arguments, the name included, is right.
func (c *Command) Takes(args int) bool {
	if c.Arity < 0 {
		return args >= -c.Arity
	}
	return args == c.Arity
}

// Keys calls f for each argument that is a key.
func (c *Command) Keys(args [][]byte, f func(key []byte)) {
	if c.First == 0 {
		return
	}
	last := c.Last
	if last < 0 {
		last += len(args)
	}
	for i := c.First; i <= last && i < len(args); i += c.Step {
		f(args[i])
	}
}

// Table finds commands by name.
type Table struct {
	rows   []Command
	byName map[string]*Command
}

// NewTable joins families of commands.
func NewTable(families ...[]Command) *Table {
	t := &Table{byName: map[string]*Command{}}
	for _, rows := range families {
		t.rows = append(t.rows, rows...)
	}
	for i := range t.rows {
		t.byName[t.rows[i].Name] = &t.rows[i]
	}
	return t
}

// Rows are all commands.
func (t *Table) Rows() []Command { return t.rows }

// nameMax is longer than any command's name, in bytes.
const nameMax = 32

// Find returns the command with a name, in capitals or not; nil if there is none.
func (t *Table) Find(name []byte) *Command {
	var low [nameMax]byte
	if len(name) > nameMax {
		return nil
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	return t.byName[string(low[:len(name)])]
}

// Unknown is the reply to a command that is not there.
func Unknown(args [][]byte) resp.Error {
	const shown = 128 // bytes
	var b strings.Builder
	for _, arg := range args[1:] {
		if b.Len() >= shown {
			break
		}
		b.WriteString("'" + clip(arg, shown-b.Len()) + "' ")
	}
	return resp.Error("ERR unknown command '" + clip(args[0], shown) +
		"', with args beginning with: " + b.String())
}

func clip(b []byte, n int) string { return string(b[:min(len(b), n)]) }

// WrongNumber is the reply to a wrong number of arguments.
func WrongNumber(name string) resp.Error {
	return resp.Error("ERR wrong number of arguments for '" + name + "' command")
}

// Is reports whether an argument is a word, in capitals or not.
func Is(arg []byte, word string) bool { return bytes.EqualFold(arg, []byte(word)) }
