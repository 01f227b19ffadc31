// Package model explores the commit protocol of docs/protocol.md: clients and cells as small state
// machines, each request one step, all interleavings. It imports nothing of the engine; what
// it shares with it are the words of that page. A change of the protocol is tried here first.
//
// Cells are absent, a value or a tombstone, with an intent, marks and the latest writers. A value
// is named by the attempt that wrote it. All writes of a wave are in flight together and land in
// any order. One may land, be refused, land with its answer lost, land late, or never. Crashes
// happen between any two steps. Faults come out of a budget for each configuration. Patience is a
// free choice: whoever meets an undecided attempt may wait or kill.
//
// In every state it checks:
//
//   - An order of all transactions that have answered or committed exists that explains each read
//     by its writer and respects real time; at the end with the final values.
//   - Each verdict agrees with the truth at once, and stays true: an attempt called dead, or
//     reported as aborted, never commits. No transaction commits twice.
//   - When nobody runs any more, a fresh client alone reads and writes each cell in a bounded
//     number of steps, and then the writes still in flight may land.
//   - While any cell holds an attempt's intent, each of its members that was folded carries its
//     mark. Nobody replaces an intent without a verdict. No cell exceeds the limit of marks.
//   - In doubt only if no member can tell any more.
package model

// ref stands for a version of one cell. A version never recurs for a name while it exists, and all
// comparisons of versions are with the cell as it is now. So it is enough to know whether a
// remembered version is still the current one. Every write of a cell turns all references to it
// from current into stale (see bump). Absence is the one version that recurs.
type ref = uint8

const (
	stale ref = iota
	current
	absent
	unread
)

const (
	maxCells    = 4
	maxClients  = 4
	maxAttempts = 8
	maxTxns     = 8
	maxValues   = 4
	maxLate     = 2
	maxRing     = 3

	fenceSlot = maxCells     // a kill, or the rewriting of a condemned tombstone
	beatSlot  = maxCells + 1 // a heartbeat
	slots     = maxCells + 2

	initial     = 9    // writer of the values that exist at the start
	unseen      = 0xff // not read
	absentValue = 0xfe // key seen absent, no matter after which writer
)

// cell is the object of a key. A value is named by the attempt that wrote it.
type cell struct {
	Exists    uint8 // the object exists
	Present   uint8 // the committed value is not absent
	Writer    uint8
	Recent    [maxRing]uint8 // newest first
	Tx, Act   uint8          // intent: attempt and action
	Marks     uint8          // decided: set of attempts
	Condemned uint8          // condemned: a sweep's announcement, tombstones only
	At        uint8          // when it was written, by the store's clock
}

// attempt is what the intents of an attempt say, which is the same in all of them, and ghost fields
// that only the checker reads.
type attempt struct {
	Used uint8
	Txn  uint8
	Val  uint8           // 1 + the external value that it links
	Born uint8           // when it began, as far as its owner knew the store's clock
	Exp  [maxCells]ref   // expected version of each member
	ExpW [maxCells]uint8 // effective writer at that version; known to the owner only
	Old  uint8           // ghost: members written since the attempt read or sent to them

	Landed uint8 // ghost: members into which the intent was written
	Folded uint8 // ghost: members folded as committed
	Truth  uint8 // ghost: bits below
}

const (
	truthCommitted uint8 = 1 << iota // the commit point has passed
	saidCommitted                    // somebody concluded "committed"
	saidDead                         // somebody concluded "dead"
	ownerDead                        // its owner did, for good
)

// write is one write in flight.
type write struct {
	St, Kind, Cell uint8
	Exp            ref
	Att            uint8 // the attempt it writes, folds, fences or drops
	Fold           uint8 // what it does to the intent that it replaces
	Drop           uint8 // marks that it leaves out
}

// Values of write.St.
const (
	opNone uint8 = iota
	opFlying
	opOK
	opRefused
	opUnknown
)

// Values of write.Kind.
const (
	kNone   uint8 = iota
	kIntent       // an intent into the cell
	kDirect       // a direct commit: the value itself
	kCommit       // the primary, from its pending intent to its value
	kFold         // fold a final intent, nothing else
	kFence        // unchanged but for the nonce; creates a tombstone if absent
	kDrop         // remove a pending intent from the primary
	kBeat         // a heartbeat: the primary, unchanged but for the nonce
	kUpdate       // a lock intent to its final action
)

// Values of write.Fold.
const (
	foldCommitted uint8 = 1
	foldDead      uint8 = 2
	foldNoMark    uint8 = 4
)

// Values of memory.PC: what the client is doing.
const (
	pcIdle uint8 = iota
	pcRead
	pcSettle
	pcWave
	pcReread
	pcFate
	pcValidate
	pcCommit
	pcROVal
	pcResolve
	pcResRead
	pcFoldRead
	pcFoldWave
	pcRelief
	pcReliefFold
	pcUpdate
	pcSweep
	pcTogether
	pcHolder
	pcUpload
	pcGround
	pcDone
	pcCrashed
)

// inquiry is the asking for the status of an attempt.
type inquiry struct {
	SPC, ST, SS       uint8 // the phase, the attempt, and the cell for which it is asked
	SRem              uint8 // members that have not been read
	SHold, SExp, SOff uint8 // members that hold the intent, are at their expected version, or off
	SList             uint8 // the list of members is known
	SPV               ref   // version of the primary when it was read
}

// memory is that of one client.
type memory struct {
	PC, Pos, Att, NAtt, Beats uint8
	Alone                     uint8 // 1 + the rider that is left of a group
	Left                      uint8 // the other one has left, while intents were on their way

	V    [maxCells]ref   // version of the snapshot
	I    [maxCells]uint8 // intent in it
	A    [maxCells]uint8 // action of that intent
	W    [maxCells]uint8 // committed writer in it
	Seen [maxCells]uint8 // effective writer that the function was given
	Todo uint8           // cells to be read in this phase
	List uint8           // cells that the listing of this phase has yet to pass
	Need uint8           // cells read whose intent must be asked about
	Fail uint8           // a comparison of writers failed
	Rs   uint8           // cells to which the same bytes were sent twice
	Rest uint8           // members whose write has not been sent (hot order, escalation)
	Old  uint8           // ghost: cells written since they were seen absent
	Quit uint8           // the caller has left; only settle
	Done uint8           // cells of a wave read again, with a lasting result

	inquiry

	RU, RC uint8 // relief: mark and cell

	KC, KD uint8              // attempts known committed, known dead
	Val    uint8              // 1 + the external value that was uploaded last
	UpAt   uint8              // when that began, as Told says
	Told   uint8              // the store's time, as its answers have told
	First  uint8              // 1 + when the first of the attempt's writes may have landed
	Last   uint8              // 1 + when the last one was known to have
	Lists  uint8              // long lists read
	Clear  [maxAttempts]uint8 // members known clear

	Op [slots]write // one for each cell, then those below
}

// Values of inquiry.SPC.
const (
	stIdle uint8 = iota
	stWave
	stConfirm
	stUndecided
	stKill
	stLift  // a condemned tombstone is being rewritten
	stFirst // only in a mutation: the confirming read before the wave
)

// value is an external value. It belongs to one transaction, and is never overwritten.
type value struct {
	Used, There uint8
	Cell        uint8
	At          uint8 // when it was written, by the store's clock
	Fenced      uint8 // a sweep has rewritten its cell, which does not link it
}

// outcome is what the caller of one transaction saw.
type outcome struct {
	Stat   uint8
	Before uint8 // transactions that had ended when this one began
	Seen   [maxCells]uint8
}

// Values of outcome.Stat.
const (
	hNone uint8 = iota
	hRunning
	hOK
	hAborted
	hInDoubt
	hCrashed
	hExists // Insert found the key: counts as a read
)

// state is all that there is. It has nothing but bytes, so that it can be hashed, compared and
// copied as such.
type state struct {
	Cell                         [maxCells]cell
	Att                          [maxAttempts]attempt
	Cl                           [maxClients]memory
	Late                         [maxLate]write
	Hist                         [maxTxns]outcome
	Val                          [maxValues]value
	Now                          uint8 // horizons that have passed by the store's clock
	Lost, Duplicate, Crash, Kill uint8 // what is left of the fault budgets
}

func bit(c uint8) uint8  { return 1 << c }
func abit(a uint8) uint8 { return 1 << (a - 1) }

func low(m uint8) uint8 {
	for c := range uint8(8) {
		if m&bit(c) != 0 {
			return c
		}
	}
	panic("empty set")
}

func high(m uint8) (h uint8) {
	for ; m != 0; m &= m - 1 {
		h = m & -m
	}
	return
}

func (s *state) att(a uint8) *attempt { return &s.Att[a-1] }

// at reports whether the cell is at the version that ref stands for.
func (s *state) at(c uint8, ref ref) bool {
	return ref == current || ref == absent && s.Cell[c].Exists == 0
}

func (m *model) txnOf(s *state, a uint8) *txn         { return &m.cfg.Txns[s.att(a).Txn] }
func (m *model) primary(s *state, a uint8) uint8      { return m.txnOf(s, a).primary() }
func (m *model) members(s *state, a uint8) uint8      { return m.txnOf(s, a).members() }
func (m *model) action(s *state, a, c uint8) uint8    { return m.txnOf(s, a).action(c) }
func (m *model) atExpected(s *state, a, c uint8) bool { return s.at(c, s.att(a).Exp[c]) }

// off: neither at its expected version, nor does it hold the intent.
func (m *model) off(s *state, a, c uint8) bool {
	return s.Cell[c].Tx != a && !m.atExpected(s, a, c)
}
