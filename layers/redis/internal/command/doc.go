// Package command says what a command is: a row of a table, and a function that runs it.
//
// # How a command is added
//
// Each family has a package (stringcmd, keycmd, hashcmd, ...) with a function Commands that returns
// its rows; package redis joins them in its table. A row has the name in lower case, the arity, the
// flags and the places of the keys as COMMAND INFO of Redis 7 tells them (the table uses the places
// to read keys ahead and to tell who writes what), and Run:
//
//	{Name: "strlen", Arity: 2, Flags: command.ReadOnly | command.Fast,
//		First: 1, Last: 1, Step: 1, Run: strlen},
//
//	func strlen(c *command.Call) error {
//		e, err := c.Value(c.Args[1], keys.String)
//		if err != nil {
//			return err
//		}
//		c.Out.Int(int64(len(e.Body)))
//		return nil
//	}
//
// Run works within a transaction that may have other commands before and after it, and that may be
// run again: it has no effect but through c.Tx (embedded: package keys) and c.Out, both of which
// the next run has anew. It writes one reply to c.Out and returns nil; or it returns a resp.Error,
// which is the reply, and leaves the other commands of the transaction alone. So:
//
//   - It returns a resp.Error before it writes anything: what it has written would stay.
//   - Any other error it returns as it is. The transaction fails with it.
//   - c.Args must be neither changed nor kept: clone what goes into an Entry only if it is kept
//     beyond the call. (keys.Tx.Set copies.)
//   - A collection value without elements is no value: the last element's removal deletes the key.
//   - An Entry that is changed is written as a whole by Set, with its Expires as it was unless the
//     command says otherwise.
//
// Small collection values are encoded by pure functions, in a file of their own beside the
// commands, with golden files and a fuzzed decoder. Above named limits (package keys: SmallMax,
// SmallElements) they become large: NewLarge makes the header, Elements reads and writes elements,
// Elements.Order is a collection beside them for another order, Tx.Set writes the header: when the
// value becomes large, and when what Entry.Header holds changes. A transaction writes 1000 keys at
// most. So a command that would write more than keys.WritesMax elements of a large value replies
// keys.ErrTooMany; and a value that one command has brought above the limits with more elements
// than that stays small, up to StringMax, until it has less.
//
// Tests run commands over a connection: redistest.Open in layers/redis/internal/redistest.
package command
