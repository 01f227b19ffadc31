package txn

import (
	"cmp"
	"slices"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/scan"
)

// ScannedMax is how many names, tombstones included, the scans of one transaction may go
// through.
const ScannedMax = 1 << 20

// ranges is the part of a read set that scans make.
type ranges struct {
	// spans are what was consumed.
	spans []*scan.Span
	// walks are under way. What the last validation has listed is known to them.
	walks []*scan.Walker
	known []*scan.Listing
	// scanned counts names, kept the bytes of values that spans keep.
	scanned int
	kept    int64
	// written are the keys of the write set that have a value or a deletion, in order,
	// once there is a span.
	written []string
}

// Item is a key that a scan has come to. Its value, unless keys alone are wanted, is nobody's to
// modify.
type Item struct {
	Name  string
	Value []byte
	About
	// Fixed is the version of the key's object, if only a write of it can change the value.
	Fixed backend.Version
}

// Scan yields the keys of a range that have a value. It sees what the transaction has written
// itself, also meanwhile, if that is ahead of its position. It ends when yield returns false.
func (tx *Tx) Scan(r scan.Range, yield func(Item) bool) error {
	s, err := tx.startScan(r)
	if err != nil {
		return err
	}
	defer s.walk.Stop()
	for n := 0; r.Limit == 0 || n < r.Limit; n++ {
		item, ok, err := s.next()
		if err != nil || !ok {
			return err
		}
		if !yield(item) {
			return nil
		}
	}
	return nil
}

// scanning is a scan that is under way.
type scanning struct {
	tx   *Tx
	r    scan.Range
	walk *scan.Walker
	span *scan.Span
	// at is the name of the last key yielded, or passed over.
	at string
	// head is the next cell of the walk, if it was taken out; ended says that there is none.
	head  *scan.Item
	ended bool
}

func (tx *Tx) startScan(r scan.Range) (*scanning, error) {
	t := tx.t
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if err := tx.usableLocked(); err != nil {
		return nil, err
	}
	t.e.memory.Use()
	o := scan.WalkOptions{Known: tx.known}
	if t.o.Staleness > 0 && len(o.Known) == 0 {
		since := t.start.Add(-t.o.Staleness)
		if trusted := t.e.st.Trusted(); trusted.After(since) {
			since = trusted
		}
		o.Known = t.e.memory.Recall(r, since)
	}
	s := &scanning{tx: tx, r: r, span: scan.NewSpan(r, &tx.kept)}
	s.walk = t.e.scans.Walk(t.ctx, r, o)
	if len(tx.spans) == 0 {
		tx.written = nil
		for _, e := range tx.entries {
			if e.own() {
				tx.written = append(tx.written, e.Name)
			}
		}
		slices.Sort(tx.written)
	}
	tx.spans, tx.walks = append(tx.spans, s.span), append(tx.walks, s.walk)
	return s, nil
}

// own reports whether the transaction has written the key: it sees that, and not the store.
func (e *entry) own() bool { return e.op == opPut || e.op == opDelete }

// wroteLocked notes a key that the transaction has written, for its scans. The caller
// holds tx.mu.
func (tx *Tx) wroteLocked(e *entry) {
	if len(tx.spans) == 0 || !e.own() {
		return
	}
	if i, ok := slices.BinarySearch(tx.written, e.Name); !ok {
		tx.written = slices.Insert(tx.written, i, e.Name)
	}
}

// stopWalks ends the scans that were left unfinished, and waits for their requests.
func (tx *Tx) stopWalks() {
	for _, w := range tx.walks {
		w.Stop()
	}
}

// next goes on to the next key that has a value.
func (s *scanning) next() (to Item, ok bool, err error) {
	for {
		if s.head == nil && !s.ended {
			item, ok, err := s.walk.Next()
			if err != nil {
				return Item{}, false, s.tx.fail(err)
			}
			if s.ended = !ok; ok {
				s.head = &item
			}
		}
		to, ok, err = s.step()
		if ok || err != nil || s.ended && s.head == nil && to.Name == "" {
			return to, ok, err
		}
	}
}

// step goes on to the next key, of the walk or written by the transaction itself. It is not
// ok if that has no value; without a name it was the end.
func (s *scanning) step() (to Item, ok bool, err error) {
	tx := s.tx
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if err := tx.usableLocked(); err != nil {
		return Item{}, false, err
	}
	own := s.ownLocked()
	switch {
	case s.head == nil && own == "":
		s.span.End(s.walk.At())
		return Item{}, false, nil
	case s.head == nil || own != "" && !s.before(s.head.Name, own):
		if s.head != nil && s.head.Name == own {
			s.head = nil
		}
		s.at = own
		s.span.AddOwn(own)
		e := tx.entryLocked(own)
		return Item{own, e.ownData(), e.about(), ""}, e.op == opPut, nil
	}
	item := s.head
	s.head, s.at = nil, item.Name
	if tx.scanned++; tx.scanned > ScannedMax {
		tx.failure = &SizeError{What: "number of keys scanned", Size: tx.scanned, Limit: ScannedMax}
		return Item{}, false, tx.failure
	}
	s.span.Add(*item, s.walk.At())
	data := item.Data
	if v := item.Value(); v.Kind == cell.Inline {
		data = v.Data
	}
	to = Item{item.Name, data, About{item.Writer(), item.Expires()}, item.Fixed()}
	return to, item.PresentAt(tx.now), nil
}

// before reports whether x comes before y in the scan's direction.
func (s *scanning) before(x, y string) bool { return s.r.Reverse != (x < y) && x != y }

// ownLocked is the next key that the transaction has written, or none. The caller holds
// tx.mu.
func (s *scanning) ownLocked() string {
	written := s.tx.written
	i := 0
	if s.r.Reverse {
		bound := s.r.To
		if s.at != "" {
			bound = s.at
		}
		i, _ = slices.BinarySearch(written, bound)
		i--
	} else {
		bound, passed := s.r.From, false
		if s.at != "" {
			bound = s.at
		}
		if i, passed = slices.BinarySearch(written, bound); passed && s.at != "" {
			i++
		}
	}
	if i < 0 || i >= len(written) || !s.r.Contains(written[i]) {
		return ""
	}
	return written[i]
}

// ownData are the bytes that an opPut stages.
func (e *entry) ownData() []byte {
	if e.upload != nil {
		return e.upload.data
	}
	return e.data
}

// valid reports whether what was read needs no validation, since all of it is known to have been
// current at one instant within the transaction, or within its staleness bound. An instant
// that a strong transaction knows is of its own validations.
func (t *txn) valid(tx *Tx, reads []*commit.Read) bool {
	strong := t.o.Staleness <= 0
	switch {
	case len(tx.spans) == 0:
		return !strong && t.snapshot(reads)
	case strong && len(reads) > 0, !t.snapshotAll(tx, reads):
		return false
	}
	t.e.memory.Keep(tx.spans, tx.spans[0].At())
	return true
}

// snapshotAll is snapshot for a transaction that has scanned.
func (t *txn) snapshotAll(tx *Tx, reads []*commit.Read) bool {
	at := tx.spans[0].At()
	then := t.e.st.ClockAt(at)
	for _, s := range tx.spans {
		if s.At().IsZero() || !s.At().Equal(at) {
			return false
		}
		if s.Ends(then) <= tx.now { // what was due to the run was not at that instant
			return false
		}
	}
	if !proven(reads, then) {
		return false
	}
	for _, r := range reads {
		in := r.Base.Cell.Intent
		if in != nil && in.Action != cell.Lock && r.Base.Outcome != cell.Dead ||
			r.Base.Since.After(at) || r.Base.Until.Before(at) {
			return false
		}
	}
	return t.e.st.Fresh(at, t.start, t.o.Staleness)
}

// ReadMulti reads keys in parallel, into values and errs. A key that has an error there is
// passed over, and one whose value has no room is left out, with ErrNoRoom. What one of them
// fails with, the others do not: the transaction does, when all have been read.
func (tx *Tx) ReadMulti(names []string, values [][]byte, errs []error, room *Room) {
	var missing []int
	var bad error
	for i, name := range names {
		known := errs[i] != nil
		if known {
			bad = cmp.Or(bad, errs[i])
		} else if values[i], known, errs[i] = tx.readLocal(name); !known {
			missing = append(missing, i)
		} else if !room.take(len(values[i])) {
			values[i], errs[i] = nil, ErrNoRoom
		}
	}
	tx.readMissing(names, missing, values, errs, room)
	if bad != nil {
		_ = tx.Fail(bad)
	}
}

// readMissing reads those of the keys that need a request.
func (tx *Tx) readMissing(
	names []string, missing []int, values [][]byte, errs []error, room *Room,
) {
	first := make(map[string]int, len(missing))
	again := slices.Clone(missing) // keys that are missing twice
	missing = slices.DeleteFunc(missing, func(i int) bool {
		_, asked := first[names[i]]
		if !asked {
			first[names[i]] = i
		}
		return asked
	})
	failed := make([]bool, len(missing))
	_ = tx.t.e.st.Wave(len(missing), func(j int) error {
		i := missing[j]
		values[i], failed[j], errs[i] = tx.readStore(names[i], room)
		return nil
	})
	if j := slices.Index(failed, true); j >= 0 {
		_ = tx.fail(errs[missing[j]])
	}
	for _, i := range again {
		j := first[names[i]]
		switch {
		case j == i:
		case errs[j] == nil && !room.take(len(values[j])):
			errs[i] = ErrNoRoom
		default:
			values[i], errs[i] = slices.Clone(values[j]), errs[j]
		}
	}
}
