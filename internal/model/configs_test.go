package model

import (
	"slices"

	"github.com/strictkv/strictkv/internal/raced"
)

// acc reads one letter per cell: r read, w blind put, m read-modify-write,
// i insert, d blind delete, l lock, x visit (folders, sweeps), . nothing.
func acc(s string) (a [maxCells]uint8) {
	for c := range s {
		switch s[c] {
		case 'r', 'x':
			a[c] = acRead
		case 'w':
			a[c] = acPut
		case 'm':
			a[c] = acRMW
		case 'i':
			a[c] = acInsert
		case 'd':
			a[c] = acDelete
		case 'l':
			a[c] = acLock
		}
	}
	return a
}

type cs = []client
type ts = []txn

// one: a client with one transaction (its index) and some attempts.
func one(name string, tx, attempts uint8) client {
	return client{Name: name, Prog: []uint8{tx}, Attempts: attempts}
}
func (c client) crashes() client  { c.Crashes = true; return c }
func (c client) quits() client    { c.Quits = true; return c }
func (c client) resolves() client { c.Resolve = true; return c }
func (c client) freezes() client  { c.Freezes = true; return c }

// leaves says which of two riders may leave.
func (c client) leaves(rider, other uint8) client {
	c.Leaves, c.Stays = rider+1, other
	return c
}
func (c client) waits() client { c.NoKill = true; return c }
func chain(name string, attempts uint8, txns ...uint8) client {
	return client{Name: name, Prog: txns, Attempts: attempts}
}

func w(name, a string) txn   { return txn{Name: name, Acc: acc(a)} }
func ro(name, a string) txn  { return txn{Name: name, Acc: acc(a), Kind: txRead} }
func seq(name, a string) txn { return txn{Name: name, Acc: acc(a), Kind: txRead, Seq: true} }
func fold(name, a string) txn {
	return txn{Name: name, Acc: acc(a), Kind: txFold}
}
func sweep(name, a string) txn {
	return txn{Name: name, Acc: acc(a), Kind: txSweep}
}
func (t txn) cached(a string) txn { t.Cached = set(a); return t }

// set is a bit for each cell with an x.
func set(a string) (cells uint8) {
	for c := range a {
		if a[c] == 'x' {
			cells |= bit(uint8(c))
		}
	}
	return cells
}

func (t txn) external(c uint8) txn { t.External = c + 1; return t }

func (t txn) grounded() txn { t.Grounded = true; return t }

func (t txn) carries(u ...uint8) txn { t.Riders = u; return t }

func (t txn) scans(a string) txn       { t.Scan = set(a); return t }
func (t txn) esc() txn                 { t.Esc = true; return t }
func (t txn) lockFirst() txn           { t.Esc, t.LockFirst = true, true; return t }
func lateKey(t txn, primary uint8) txn { t.First = primary + 1; return t }
func (t txn) hot(c uint8) txn          { t.Hot = c + 1; return t }
func (t txn) long() txn                { t.Long = true; return t }
func (t txn) oneWave() txn             { t.OneWave = true; return t }

const mega = 1_000_000

var configs = slices.Concat(committing, meeting, duplicates, leaping, locking, scanning, grouped)

// limit is how many states are visited, of few or all.
func (c *config) limit(whole bool, few int) int {
	switch {
	case *most > 0:
		return *most
	case !whole && raced.Enabled():
		return few / 10
	case !whole:
		return few
	case c.Limit > 0:
		return c.Limit
	}
	return 10 * mega
}
