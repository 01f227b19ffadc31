package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/history"
)

// ticks is a clock that moves by one at each look.
func ticks() func() int64 {
	now := int64(0)
	return func() int64 { now++; return now }
}

func TestRecorder(t *testing.T) {
	var log bytes.Buffer
	rec := history.NewRecorder("p", ticks(), &log)
	a := rec.Begin("c1")
	a.Read("x", "", true)
	b := rec.Begin("c2")
	b.Insert("y", "1")
	a.Restart()
	a.Read("x", "", false)
	a.Write("x", "2")
	a.Submit()
	a.Commit()
	b.Submit()
	b.Doubt()
	c := rec.Begin("c1")
	c.Exists("y")
	c.Scan(history.Scan{From: "x", Items: []history.Item{{Key: "x", Value: "2"}}})
	c.Fail(true)
	d := rec.Begin("c1")
	d.Delete("x")
	d.Submit()
	e := rec.Begin("c1")
	e.Read("x", "2", true)
	e.Fail(false)

	want := script(t, `
		p-1 1-3  c r(x)=- w(x)=2
		p-2 2-   u i(y)=1
		p-3 5-6  v e(y) s(x,)=x:2
		p-4 7-   u d(x)
		p-5 8-9  f r(x)=2`)
	for i, client := range []string{"c1", "c2", "c1", "c1", "c1"} {
		want[i].Client = client
	}
	h := rec.History()
	h[1].Returned = 0 // without meaning
	assert.Equal(t, want, h)
	require.NoError(t, rec.Err())

	logged, err := history.Decode(&log)
	require.NoError(t, err)
	logged, err = history.Merge(logged)
	require.NoError(t, err)
	assert.Equal(t, want, logged)
}

// What History returned does not change when clients go on.
func TestHistoryIsACopy(t *testing.T) {
	rec := history.NewRecorder("p", ticks(), nil)
	c := rec.Begin("c")
	c.Write("x", "1")
	h := rec.History()
	c.Restart()
	c.Write("y", "2")
	c.Commit()
	assert.Equal(t, []history.Op{history.Write("x", "1")}, h[0].Ops)
	assert.Equal(t, history.Unknown, h[0].Status)
	h = rec.History()
	h[0].Ops[0] = history.Read("z", "3")
	assert.Equal(t, []history.Op{history.Write("y", "2")}, rec.History()[0].Ops)
}

func TestConcurrentRecording(t *testing.T) {
	var mu sync.Mutex
	now := ticks()
	clock := func() int64 {
		mu.Lock()
		defer mu.Unlock()
		return now()
	}
	var log bytes.Buffer
	rec := history.NewRecorder("p", clock, &log)
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for j := range 100 {
				c := rec.Begin(fmt.Sprint(i))
				c.Write("x", fmt.Sprint(i, "-", j))
				c.Commit()
			}
		})
	}
	clients.Wait()
	require.NoError(t, judge(t, rec.History(), history.Options{}).Err())
	logged, err := history.Decode(&log)
	require.NoError(t, err)
	assert.ElementsMatch(t, rec.History(), logged)
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("disk full")

func TestRecorderReportsErrors(t *testing.T) {
	rec := history.NewRecorder("p", ticks(), fullDisk{})
	rec.Begin("c").Commit()
	rec.Begin("c").Commit()
	require.ErrorIs(t, rec.Err(), errFull)
	assert.ErrorContains(t, rec.Err(), `"p-1"`)
}

func TestDecode(t *testing.T) {
	const a, b = `{"id":"a","invoked":1,"status":"unknown","ops":[]}`, `{"id":"b","status":"unknown"}`
	for _, c := range []struct {
		name, text string
		ids        []string
	}{
		{"nothing", "", nil},
		{"lines", a + "\n" + b + "\n", []string{"a", "b"}},
		{"no newline at the end", a + "\n" + b, []string{"a", "b"}},
		{"torn", a + "\n" + b[:12], []string{"a"}},
		{"again", a + "\n" + b + "\n" + a + "\n", []string{"a", "b"}},
	} {
		h, err := history.Decode(strings.NewReader(c.text))
		require.NoError(t, err, c.name)
		var ids []string
		for _, t := range h {
			ids = append(ids, t.ID)
		}
		assert.Equal(t, c.ids, ids, c.name)
	}
	_, err := history.Decode(strings.NewReader(a[:10] + "\n" + b))
	require.ErrorIs(t, err, history.ErrMalformed)
	assert.ErrorContains(t, err, "line 1")
}

func TestMerge(t *testing.T) {
	a := script(t, "a 1-2 c w(x)=1\nb 5-6 c r(x)=2")
	b := script(t, "c 3-4 c r(x)=1 w(x)=2")
	h, err := history.Merge(a, b)
	require.NoError(t, err)
	assert.Equal(t, script(t, "a 1-2 c w(x)=1\nc 3-4 c r(x)=1 w(x)=2\nb 5-6 c r(x)=2"), h)
	_, err = history.Merge(a, a)
	assert.ErrorIs(t, err, history.ErrMalformed)
}

// A history is read as it was written, whatever bytes it holds.
func FuzzDecode(f *testing.F) {
	for _, style := range styles {
		s := style.store
		s.clients, s.keys, s.transactions, s.unknown, s.validated = 2, 3, 10, 0.1, 0.1
		var b bytes.Buffer
		require.NoError(f, history.Encode(&b, s.run(1)...))
		f.Add(b.Bytes())
	}
	var b bytes.Buffer
	require.NoError(f, history.Encode(&b, history.Transaction{ID: "a", Ops: []history.Op{
		history.Write("\xff", "\x00\xfe"), history.Read("\u2028", "{}"),
		scan("\xff,", "\xff:\xfe")}}))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := history.Decode(bytes.NewReader(b))
		if err != nil {
			require.ErrorIs(t, err, history.ErrMalformed)
			return
		}
		var again bytes.Buffer
		require.NoError(t, history.Encode(&again, h...))
		same, err := history.Decode(&again)
		require.NoError(t, err)
		require.Equal(t, h, same)
		_, err = history.Check(h, history.Options{Elements: elements})
		if err != nil {
			require.ErrorIs(t, err, history.ErrMalformed)
		}
	})
}

func TestBytesSurvive(t *testing.T) {
	want := []history.Transaction{{ID: "a", Status: history.Committed, Returned: 1,
		Ops: []history.Op{history.Write("\xff", "\x00\xfe"), history.Read("\u2028", "{}"),
			history.ReadAbsent(""), scan("\xff,", "\xff:\xfe")}}}
	var b bytes.Buffer
	require.NoError(t, history.Encode(&b, want...))
	h, err := history.Decode(&b)
	require.NoError(t, err)
	assert.Equal(t, want, h)
}
