package history

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// Recorder collects the transactions of one process. It may be used by several
// goroutines.
type Recorder struct {
	name string
	now  func() int64
	log  io.Writer

	mu    sync.Mutex // protects what follows, and orders writes to log
	calls []*Call
	err   error
}

// NewRecorder makes a recorder whose transactions are named "name-1", "name-2" and so
// on: names must differ among histories to be merged. now reads the clock that all of
// them share. log may be nil; if not, each transaction is written to it (as by Encode)
// by Submit and again when it ends, so that Decode knows what a killed process had
// under way.
func NewRecorder(name string, now func() int64, log io.Writer) *Recorder {
	return &Recorder{name: name, now: now, log: log}
}

// Begin records an invocation. Call it before the transaction is handed to the store.
func (r *Recorder) Begin(client string) *Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &Call{r: r, t: Transaction{
		ID:      fmt.Sprintf("%s-%d", r.name, len(r.calls)+1),
		Client:  client,
		Invoked: r.now(),
		Status:  Unknown,
	}}
	r.calls = append(r.calls, c)
	return c
}

// History returns the transactions so far in the order of their invocation. Those
// that have not ended are Unknown.
func (r *Recorder) History() []Transaction {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Transaction, len(r.calls))
	for i, c := range r.calls {
		all[i] = c.t
		all[i].Ops = slices.Clone(c.t.Ops)
	}
	return all
}

// Err is the first error of writing to the log.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Call is a transaction under way. A Call that is never ended counts as Unknown: so
// does one whose client crashed.
type Call struct {
	r *Recorder
	t Transaction // protected by r.mu
}

// Restart forgets the operations so far: the store runs the function again. Call it
// first in the function. Should another transaction read what a run wrote that was
// given up, that is a value never written.
func (c *Call) Restart() {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.t.Ops = nil
}

// Do records an operation that has been done, or staged.
func (c *Call) Do(ops ...Op) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.t.Ops = append(c.t.Ops, ops...)
}

// Read records the result of a read; value has no meaning unless found.
func (c *Call) Read(key, value string, found bool) {
	if found {
		c.Do(Read(key, value))
	} else {
		c.Do(ReadAbsent(key))
	}
}

// Write records a write.
func (c *Call) Write(key, value string) { c.Do(Write(key, value)) }

// Delete records a removal.
func (c *Call) Delete(key string) { c.Do(Delete(key)) }

// Insert records an insert that was accepted.
func (c *Call) Insert(key, value string) { c.Do(Insert(key, value)) }

// Exists records an insert that was refused because the key had a value.
func (c *Call) Exists(key string) { c.Do(Exists(key)) }

// Scan records the result of a scan.
func (c *Call) Scan(s Scan) { c.Do(ScanOf(s)) }

// Submit writes the transaction to the log as Unknown. Call it last in the function:
// what follows may commit. Without a log it does nothing.
func (c *Call) Submit() {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.writeLocked()
}

// Commit records that the transaction committed.
func (c *Call) Commit() { c.end(Committed, false) }

// Fail records that the transaction had no effect. validated says that its reads were
// validated all the same (Transaction.Validated).
func (c *Call) Fail(validated bool) { c.end(Failed, validated) }

// Doubt records that nobody knows whether the transaction committed.
func (c *Call) Doubt() { c.end(Unknown, false) }

func (c *Call) end(s Status, validated bool) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.t.Status, c.t.Validated, c.t.Returned = s, validated, c.r.now()
	c.writeLocked()
}

func (c *Call) writeLocked() {
	if c.r.log == nil {
		return
	}
	if err := Encode(c.r.log, c.t); err != nil && c.r.err == nil {
		c.r.err = err
	}
}

// Encode writes transactions as lines of JSON, each with one call of w.Write.
func Encode(w io.Writer, h ...Transaction) error {
	for i := range h {
		b, err := json.Marshal(toLine(&h[i]))
		if err != nil {
			return fmt.Errorf("encode transaction %q: %w", h[i].ID, err)
		}
		if _, err := w.Write(append(b, '\n')); err != nil {
			return fmt.Errorf("encode transaction %q: %w", h[i].ID, err)
		}
	}
	return nil
}

// Decode reads what Encode wrote. A line replaces an earlier one of the same ID. A last
// line that is torn, because its process was killed, is left out. The error wraps
// ErrMalformed if a line is no transaction.
func Decode(r io.Reader) ([]Transaction, error) {
	var h []Transaction
	at := make(map[string]int)
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		b, err := in.ReadBytes('\n')
		torn := errors.Is(err, io.EOF)
		switch {
		case err != nil && !torn:
			return nil, fmt.Errorf("decode line %d: %w", n, err)
		case len(b) == 0:
			return h, nil
		}
		var l line
		if err := json.Unmarshal(b, &l); err != nil {
			if torn {
				return h, nil
			}
			return nil, fmt.Errorf("decode line %d: %w: %w", n, ErrMalformed, err)
		}
		t := l.transaction()
		if i, ok := at[t.ID]; ok {
			h[i] = t
		} else {
			at[t.ID] = len(h)
			h = append(h, t)
		}
	}
}

// Merge joins the histories of several processes, in the order of invocation. The error
// wraps ErrMalformed if two of them have the same ID.
func Merge(histories ...[]Transaction) ([]Transaction, error) {
	all := slices.Concat(histories...)
	ids := make(map[string]struct{}, len(all))
	for i := range all {
		if _, ok := ids[all[i].ID]; ok {
			return nil, fmt.Errorf("merge: transaction %q is in two histories: %w",
				all[i].ID, ErrMalformed)
		}
		ids[all[i].ID] = struct{}{}
	}
	slices.SortStableFunc(all, func(a, b Transaction) int {
		return cmp.Compare(a.Invoked, b.Invoked)
	})
	return all, nil
}

// line is a transaction as JSON. What Go keeps apart by zero values is left out.
type line struct {
	ID        string   `json:"id"`
	Client    string   `json:"client,omitempty"`
	Invoked   int64    `json:"invoked"`
	Returned  *int64   `json:"returned,omitempty"`
	Status    Status   `json:"status"`
	Validated bool     `json:"validated,omitempty"`
	Ops       []lineOp `json:"ops"`
}

type lineOp struct {
	Op     Kind      `json:"op"`
	Key    text      `json:"key,omitempty"`
	Value  text      `json:"value,omitempty"`
	Absent bool      `json:"absent,omitempty"`
	Scan   *lineScan `json:"scan,omitempty"`
}

type lineScan struct {
	From     text       `json:"from,omitempty"`
	To       text       `json:"to,omitempty"`
	Reverse  bool       `json:"reverse,omitempty"`
	Limit    int        `json:"limit,omitempty"`
	Stopped  bool       `json:"stopped,omitempty"`
	KeysOnly bool       `json:"keysOnly,omitempty"`
	Items    []lineItem `json:"items"`
}

type lineItem struct {
	Key   text `json:"key"`
	Value text `json:"value,omitempty"`
}

// text is a string of any bytes: JSON's own if it is UTF-8, else an object that holds
// it in hexadecimal.
type text string

type hexText struct {
	Hex string `json:"hex"`
}

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(hexText{hex.EncodeToString([]byte(t))})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return json.Unmarshal(b, (*string)(t))
	}
	var h hexText
	if err := json.Unmarshal(b, &h); err != nil {
		return err
	}
	s, err := hex.DecodeString(h.Hex)
	*t = text(s)
	return err
}

func toLine(t *Transaction) line {
	l := line{ID: t.ID, Client: t.Client, Invoked: t.Invoked, Status: t.Status,
		Validated: t.Validated, Ops: make([]lineOp, len(t.Ops))}
	if t.Status != Unknown {
		l.Returned = &t.Returned
	}
	for i, op := range t.Ops {
		l.Ops[i] = lineOp{Op: op.Kind, Key: text(op.Key), Value: text(op.Value),
			Absent: op.Absent}
		if s := op.Scan; s != nil {
			items := make([]lineItem, len(s.Items))
			for j, item := range s.Items {
				items[j] = lineItem{text(item.Key), text(item.Value)}
			}
			l.Ops[i].Scan = &lineScan{From: text(s.From), To: text(s.To),
				Reverse: s.Reverse, Limit: s.Limit, Stopped: s.Stopped,
				KeysOnly: s.KeysOnly, Items: items}
		}
	}
	return l
}

func (l *line) transaction() Transaction {
	t := Transaction{ID: l.ID, Client: l.Client, Invoked: l.Invoked, Status: l.Status,
		Validated: l.Validated}
	if l.Returned != nil {
		t.Returned = *l.Returned
	}
	for _, o := range l.Ops {
		op := Op{Kind: o.Op, Key: string(o.Key), Value: string(o.Value), Absent: o.Absent}
		if s := o.Scan; s != nil {
			op.Scan = &Scan{From: string(s.From), To: string(s.To), Reverse: s.Reverse,
				Limit: s.Limit, Stopped: s.Stopped, KeysOnly: s.KeysOnly}
			for _, item := range s.Items {
				op.Scan.Items = append(op.Scan.Items,
					Item{string(item.Key), string(item.Value)})
			}
		}
		t.Ops = append(t.Ops, op)
	}
	return t
}
