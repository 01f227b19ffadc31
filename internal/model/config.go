package model

// Access is what a transaction does to one cell.
const (
	acNone   uint8 = iota
	acRead         // read only
	acPut          // blind write
	acRMW          // read and write
	acInsert       // write if absent
	acDelete       // blind delete
	acLock         // tx.Lock: read, and a lock intent
)

// Actions of intents.
const (
	actNone uint8 = iota
	actPut
	actDelete
	actLock
)

// Kinds of programs.
const (
	txWrite uint8 = iota
	txRead        // reads only
	txFold        // a helper that folds what it finds
	txSweep       // removes one tombstone
)

// txn is a fixed program: what one transaction does.
type txn struct {
	Name      string
	Kind      uint8
	Acc       [maxCells]uint8
	Seq       bool    // reads only: one key after another
	Cached    uint8   // cells taken from the cache, read some time before the start
	Scan      uint8   // cells read by a scan: listed, and fetched where that does not tell enough
	Riders    []uint8 // the transactions that a group commits as one, in their order
	External  uint8   // 1 + a cell whose value is an object of its own
	Grounded  bool    // the object to link it over is made before the upload
	Hot       uint8   // 1 + the cell that gets its intent first
	Long      bool    // only the primary carries the list of members
	Esc       bool    // escalated from the start
	LockFirst bool    // escalated: lock intents first, rewritten to puts later
	OneWave   bool    // escalated: after the primary, all others in one wave
	First     uint8   // escalated: 1 + the primary, if it is not the smallest key
}

func (t *txn) set(f func(a uint8) bool) (m uint8) {
	for c, a := range t.Acc {
		if f(a) {
			m |= bit(uint8(c))
		}
	}
	return m
}

func (t *txn) keys() uint8 { return t.set(func(a uint8) bool { return a != acNone }) }

func (t *txn) reads() uint8 {
	return t.set(func(a uint8) bool {
		return a == acRead || a == acRMW || a == acLock || a == acInsert
	})
}

func (t *txn) members() uint8 {
	if t.Esc {
		return t.keys()
	}
	return t.set(func(a uint8) bool { return a > acRead })
}

func (t *txn) primary() uint8 {
	if t.First != 0 {
		return t.First - 1
	}
	return low(t.members())
}

// next is the keys to be locked next (Escalation): the primary, whatever its name; then, key
// after key or in one wave, every other key of R and W.
func (t *txn) next(rest uint8) uint8 {
	switch p := t.primary(); {
	case rest&bit(p) != 0:
		return bit(p)
	case t.OneWave:
		return rest
	}
	return bit(low(rest))
}

func (t *txn) onlyRead() uint8 { return t.keys() &^ t.members() }

// listAtPrimary reports whether the members are known only to who has read the primary: with a
// long list, or escalated (the list that counts is that in the mark which the commit write
// leaves).
func (t *txn) listAtPrimary() bool { return t.Long || t.Esc }

// direct and staged choose the protocol (Three ways to commit); what is neither is pending.
func (t *txn) direct() bool {
	m := t.members()
	return !t.Esc && t.onlyRead() == 0 && m&(m-1) == 0
}

func (t *txn) staged() bool { return !t.Esc && t.onlyRead() == 0 && !t.direct() }

func (t *txn) action(c uint8) uint8 {
	switch t.Acc[c] {
	case acPut, acRMW, acInsert:
		return actPut
	case acDelete:
		return actDelete
	}
	return actLock
}

// inserts are written if absent, without a read.
func (t *txn) inserts() uint8 { return t.set(func(a uint8) bool { return a == acInsert }) }

// client is one client: the transactions that it runs, one after the other. Between them it
// keeps its cache, and does not resolve (chaining).
type client struct {
	Name     string
	Prog     []uint8
	Attempts uint8 // of all its transactions together
	Crashes  bool  // may crash at any point, within the budget
	Quits    bool  // its caller may leave while writes are in flight
	Resolve  bool  // folds its own intents after its last transaction
	NoKill   bool  // only ever waits
	Leaves   uint8 // 1 + a rider of its group that may leave, and the other one
	Stays    uint8
	Freezes  bool // may stand still between a decision and its request, without knowing
}

// config is one closed system, with budgets of faults.
type config struct {
	Name, About string
	Init        string // per cell: v value, - absent, t old tombstone
	Clients     []client
	Txns        []txn
	Lost        uint8 // answers that may be lost (landed, late, or never)
	Duplicates  uint8 // writes that may be delivered twice, and are answered the second time
	Leaps       uint8 // horizons that pass by the store's clock; without them, see horizonPassed
	Crash       uint8
	Kills       uint8 // fences that may be sent
	Beats       uint8 // heartbeats that each owner of a pending attempt may send
	Ring, Marks int   // capacities
	Limit       int   // states that are visited; 0 is 10 million
	Big         bool  // for random runs only
}

// cell is what a cell is at the start, 0 if there is none.
func (c *config) cell(i uint8) byte {
	if int(i) < len(c.Init) {
		return c.Init[i]
	}
	return 0
}

// sendsOnce reports whether nobody on the way to the store can repeat a write.
func (c *config) sendsOnce() bool { return c.Duplicates == 0 }

func (c *config) ring() int {
	if c.Ring == 0 {
		return maxRing
	}
	return c.Ring
}

func (c *config) marks() int {
	if c.Marks == 0 {
		return maxAttempts
	}
	return c.Marks
}

// mut switches single rules of the protocol off, or to an earlier wording.
type mut struct {
	noValidation, versionOnly, validateEarly, casByVersion    bool
	roSkipOne, roSkip, roEager, roEarlyValidate, roTrustCache bool
	unknownFails, noReread, reuseID, commitBlind, commitLost  bool
	foldNoMark, dropEarly, dropMarks, noGhost, bareSecondary  bool
	clearEarly, clearStale, condemnedOff, noListRule          bool
	noConfirm, confirmFirst, throughPending, baseWhenAllHold  bool
	expectedDead, killNoFence, killGuess, fenceAnywhere       bool
	fateEarly, fateBefore, hotDoubt, lockTells, expectedTells bool
	insertGoesOn, oneStep, noLift, noOwnLift, sweepAnytime    bool
	sweepMarked, sweepDoubt                                   bool

	// Duplicates:
	duplicateRefused, duplicateCommit, duplicateOff bool
	// Locks and heartbeats:
	beatBlind, updateLost, lockOldValues bool
	// Groups:
	leftIn, leftSure, ridersApart bool
	// Ranges:
	notListed, newIgnored, goneIgnored, listedAsRead, tombstoneAsRead bool
	// The store's clock:
	deadForever, lateResend, lateTells, notTogether bool
	lateCommit, oldUpload, notFenced                bool
	resendAbsent, linkAbsent                        bool
}
