package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/history"
)

var anomalies = []struct {
	name string
	text string
	want history.Name
}{
	{"two counters read the same value", `
		a 1-2 c r(x)=- w(x)=1
		b 3-8 c r(x)=1 w(x)=2
		c 4-7 c r(x)=1 w(x)=3`, history.LostUpdate},
	{"two counters start from nothing", `
		a 1-4 c r(x)=- w(x)=1
		b 2-3 c r(x)=- w(x)=2`, history.LostUpdate},
	{"two inserts", `
		a 1-4 c i(x)=1
		b 2-3 c i(x)=2`, history.DuplicateInsert},
	{"two inserts, one much later", `
		a 1-2 c i(x)=1
		b 3-4 c i(x)=2`, history.DuplicateInsert},
	{"two inserts, one delete after them", `
		a 1-2 c i(x)=1
		b 3-4 c i(x)=2
		c 5-6 c d(x)`, history.DuplicateInsert},
	{"two deletes that read the same value, and two inserts", `
		a 1-2 c i(x)=1
		b 3-9 c r(x)=1 d(x)
		c 3-9 c r(x)=1 w(x)=2`, history.LostUpdate},
	{"a value that nobody wrote", `
		a 1-2 c w(x)=1
		b 3-4 c r(x)=7`, history.GarbageRead},
	{"a value of a key that nobody wrote", `
		b 3-4 c r(x)=7`, history.GarbageRead},
	{"a value that was found before any was written", `
		a 1-2 c e(x)
		b 3-4 c w(x)=1
		c 3-4 u d(x)`, history.GarbageRead},
	{"a scan of a value that nobody wrote", `
		a 1-2 c w(x)=1
		b 3-4 c s(a,z)=x:1,y:2`, history.GarbageRead},
	{"own write not seen", `
		a 1-2 c w(x)=1
		b 3-4 c r(x)=1 w(x)=2 r(x)=1`, history.Internal},
	{"own delete not seen", `
		a 1-2 c w(x)=1
		b 3-4 c d(x) r(x)=1`, history.Internal},
	{"own write not seen by an insert", `
		a 1-2 c w(x)=1 i(x)=2`, history.Internal},
	{"own write seen before it", `
		a 1-2 c r(x)=1 w(x)=1`, history.Internal},
	{"scan out of order", `
		a 1-2 c w(x)=1 w(y)=2
		b 3-4 c s(a,z)=y:2,x:1`, history.Internal},
	{"scan beyond its end", `
		a 1-2 c w(x)=1 w(y)=2
		b 3-4 c s(a,y)=x:1,y:2`, history.Internal},
	{"read of a failed write", `
		a 1-2 f w(x)=1
		b 3-4 c r(x)=1`, history.G1a},
	{"a validated failure has written nothing either", `
		a 1-2 v w(x)=1
		b 3-4 c r(x)=1`, history.G1a},
	{"read of an intermediate write", `
		a 1-2 c w(x)=1 w(x)=2
		b 3-4 c r(x)=1`, history.G1b},
	{"read of an empty write deleted at once", `
		a 1-2 c w(x)= d(x)
		b 3-4 c r(x)=`, history.G1b},
	{"read of a write deleted at once", `
		a 1-2 c w(x)=1 d(x)
		b 3-4 c r(x)=1`, history.G1b},
	{"each overwrote the other", `
		0 1-2 c r(x)=- r(y)=- w(x)=0 w(y)=0
		a 3-9 c w(x)=1 w(y)=1
		b 3-9 c w(x)=2 w(y)=2
		c 3-9 c r(x)=1 w(x)=3
		d 10-11 c r(x)=2 r(y)=1`, history.G0},
	{"each read the other's write", `
		a 1-9 c w(x)=1 r(y)=1
		b 1-9 c w(y)=1 r(x)=1`, history.G1c},
	{"half of a transaction", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-9 c r(x)=0 r(y)=0 w(x)=1 w(y)=1
		b 3-9 c r(x)=1 r(y)=0`, history.GSingle},
	{"the other half", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-9 c r(x)=0 r(y)=0 w(x)=1 w(y)=1
		b 3-9 c r(x)=0 r(y)=1`, history.GSingle},
	{"a read that did not repeat", `
		a 1-2 c r(x)=- w(x)=1
		b 1-9 c r(x)=- r(x)=1`, history.GSingle},
	{"half of a transaction, by one who failed and was validated", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-9 c r(x)=0 r(y)=0 w(x)=1 w(y)=1
		b 3-9 v r(x)=1 r(y)=0`, history.GSingle},
	{"half of a delete", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-9 c r(x)=0 r(y)=0 d(x) d(y)
		b 3-9 c r(x)=- r(y)=0`, history.GSingle},
	{"half of a transaction of unknown outcome", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-  u r(x)=0 r(y)=0 w(x)=1 w(y)=1
		b 3-9 c r(x)=1 r(y)=0`, history.GSingle},
	{"write skew", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-9 c r(x)=0 r(y)=0 w(x)=1
		b 3-9 c r(x)=0 r(y)=0 w(y)=1`, history.G2},
	{"write skew from nothing", `
		a 3-9 c r(x)=- r(y)=- w(x)=1
		b 3-9 c r(x)=- r(y)=- w(y)=1`, history.G2},
	{"a ring of three", `
		a 3-9 c r(x)=- r(y)=- w(x)=1
		b 3-9 c r(y)=- r(z)=- w(y)=1
		c 3-9 c r(z)=- r(x)=- w(z)=1`, history.G2},
	{"phantoms", `
		a 1-9 c s(a,m)= w(p)=1
		b 1-9 c s(n,z)= w(b)=1`, history.G2},
	{"long fork", `
		a 1-9 c w(x)=1
		b 1-9 c w(y)=1
		c 1-9 c r(x)=1 r(y)=-
		d 1-9 c r(x)=- r(y)=1`, history.G2},
	{"stale read", `
		a 1-2 c r(x)=- w(x)=1
		b 3-4 c r(x)=1 w(x)=2
		c 5-6 c r(x)=1`, history.GSingle + "-realtime"},
	{"stale absence", `
		a 1-2 c w(x)=1
		b 3-4 c r(x)=-`, history.GSingle + "-realtime"},
	{"stale absence in a scan", `
		a 1-2 c w(x)=1
		b 3-4 c s(a,z)=`, history.GSingle + "-realtime"},
	{"stale absence, with a delete that is too early", `
		a 1-2 c w(x)=1
		b 3-4 c d(x)
		c 5-6 c w(x)=2
		d 7-8 c r(x)=-`, history.GSingle + "-realtime"},
	{"stale absence, with a delete that is too late", `
		a 1-2 c w(x)=1
		b 3-4 c r(x)=-
		c 5-6 c d(x)`, history.GSingle + "-realtime"},
	{"read of a deleted key", `
		a 1-2 c w(x)=1
		b 3-4 c d(x)
		c 5-6 c r(x)=1`, history.GSingle + "-realtime"},
	{"insert refused by a deleted key", `
		a 1-2 c w(x)=1
		b 3-4 c d(x)
		c 5-6 c e(x)`, history.GSingle + "-realtime"},
	{"stale read among blind writes", `
		a 1-2 c w(x)=1
		b 3-4 c w(x)=2
		c 5-6 c r(x)=1`, history.GSingle + "-realtime"},
	{"two readers disagree on blind writes", `
		a 1-9 c w(x)=1
		b 1-9 c w(x)=2
		c 10-11 c r(x)=1
		d 12-13 c r(x)=2`, history.GSingle + "-realtime"},
	{"a write that was seen is gone", `
		a 1-  u w(x)=1
		b 3-4 c r(x)=1
		c 5-6 c r(x)=-`, history.GSingle + "-realtime"},
	{"a delete that was seen is gone", `
		0 1-2 c w(x)=0
		a 3-  u r(x)=0 d(x)
		b 5-6 c r(x)=-
		c 7-8 c r(x)=0`, history.GSingle + "-realtime"},
	{"an unknown delete explains no absence of a value that it did not read", `
		a 1-2 c w(x)=1
		b 3-  u r(x)=1 d(x)
		c 5-6 c r(x)=1 w(x)=2
		d 7-8 c r(x)=-`, history.GSingle + "-realtime"},
	{"an unknown delete of nothing explains no absence", `
		a 1-9 c w(x)=1
		b 3-  u r(x)=- d(x)
		c 5-6 c r(x)=1
		d 7-8 c r(x)=-`, history.GSingle + "-realtime"},
	{"an unknown delete explains no absence if it read what failed", `
		0 1-9 f w(x)=0
		a 1-2 c w(x)=1
		b 3-  u r(x)=0 d(x)
		c 3-  u r(x)=7 d(x)
		d 5-6 c r(x)=-`, history.GSingle + "-realtime"},
	{"a read of what is written later", `
		a 1-2 c r(x)=1
		b 3-4 c r(x)=- w(x)=1`, history.G1c + "-realtime"},
	{"causality against real time", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-20 c r(x)=0 w(x)=1
		b 4-5 c r(x)=1
		c 6-7 c r(x)=0`, history.GSingle + "-realtime"},
	{"two writes in a row, then the first wins", `
		a 1-2 c r(x)=- w(x)=1
		b 3-4 c w(x)=2
		c 5-6 c r(x)=2 r(x)=1`, history.GSingle + "-realtime"},
	{"writes against real time", `
		a 5-6 c r(x)=- w(x)=1
		b 1-2 c r(x)=1 w(x)=2`, history.G0 + "-realtime"},
	{"write skew against real time", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-4 c r(y)=0 w(x)=1
		b 5-6 c r(y)=0 r(x)=1 w(y)=1
		c 7-8 c r(y)=1 r(x)=0`, history.GSingle},
	{"two stale readers", `
		0 1-2 c r(x)=- r(y)=- w(x)=0 w(y)=0
		a 3-30 c r(x)=0 w(x)=1
		b 3-30 c r(y)=0 w(y)=1
		c 5-6 c r(x)=1
		d 7-8 c r(x)=1 r(y)=0
		e 4-9 c r(y)=1
		f 10-11 c r(x)=0 r(y)=1`, history.G2},
}

func TestAnomalies(t *testing.T) {
	for _, c := range anomalies {
		t.Run(c.name, func(t *testing.T) {
			r := judge(t, script(t, c.text), history.Options{})
			require.NotEmpty(t, r.Anomalies)
			assert.Equal(t, []history.Name{c.want}, names(r), "%v", r.Err())
			for _, a := range r.Anomalies {
				for _, id := range a.IDs {
					assert.Contains(t, a.Text, "\n  "+id+" by client "+id)
				}
			}
		})
	}
}

var correct = []struct{ name, text string }{
	{"nothing", ``},
	{"a counter", `
		a 1-2 c r(x)=- w(x)=1
		b 3-4 c r(x)=1 w(x)=2
		c 5-6 c r(x)=2`},
	{"concurrent with a write, before and after", `
		0 1-2 c w(x)=0
		a 3-20 c r(x)=0 w(x)=1
		b 4-5 c r(x)=0
		c 6-7 c r(x)=1`},
	{"instants that touch are concurrent", `
		a 1-2 c w(x)=1
		b 2-3 c r(x)=-`},
	{"unknown and happened", `
		0 1-2 c w(x)=0
		a 3-  u r(x)=0 w(x)=1
		b 4-5 c r(x)=0
		c 6-7 c r(x)=1`},
	{"unknown and did not happen", `
		0 1-2 c w(x)=0
		a 3-  u r(x)=0 w(x)=1
		b 4-5 c r(x)=0 w(x)=2
		c 6-7 c r(x)=2`},
	{"unknown, did not happen, and had read what does not belong together", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-4 c r(x)=0 r(y)=0 w(x)=1 w(y)=1
		b 5-  u r(x)=1 r(y)=0 w(x)=2 w(y)=2
		c 6-7 c r(x)=1 r(y)=1`},
	{"unknown, and happened much later", `
		a 1-  u w(x)=1
		b 100-101 c r(x)=-
		c 102-103 c r(x)=1`},
	{"an unknown delete explains absence", `
		a 1-2 c w(x)=1
		b 3-  u d(x)
		c 5-6 c r(x)=1
		d 7-8 c r(x)=-`},
	{"an unknown delete, and another key of it", `
		a 1-2 c w(x)=1 w(y)=1
		b 3-  u r(y)=1 d(x) w(y)=2
		d 7-8 c r(x)=- r(y)=2`},
	{"failed and had read what does not belong together", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-9 c r(x)=0 r(y)=0 w(x)=1 w(y)=1
		b 3-9 f r(x)=1 r(y)=0 w(x)=7`},
	{"failed and validated", `
		0 1-2 c w(x)=0 w(y)=0
		a 3-9 c r(x)=0 r(y)=0 w(x)=1 w(y)=1
		b 3-9 v r(x)=1 r(y)=1 w(x)=7 r(x)=7
		c 10-11 c r(x)=1`},
	{"own writes", `
		a 1-2 c r(x)=- w(x)=1 r(x)=1 e(x) d(x) r(x)=- i(x)=2 r(x)=2
		b 3-4 c r(x)=2`},
	{"insert, delete, insert", `
		a 1-2 c i(x)=1
		b 3-4 c r(x)=1 d(x)
		c 5-6 c i(x)=2
		d 7-8 c e(x) r(x)=2`},
	{"deletes of nothing", `
		a 1-2 c d(x)
		b 1-2 c d(x)
		c 3-4 c r(x)=-
		d 5-6 c w(x)=1
		e 5-6 c d(x)
		f 7-8 c r(x)=1`},
	{"blind writes in the order of their readers", `
		a 1-9 c w(x)=1
		b 1-9 c w(x)=2
		c 1-9 c w(x)=3
		d 10-11 c r(x)=2`},
	{"a scan with a limit says nothing beyond", `
		a 1-2 c w(b)=1 w(c)=1 w(d)=1
		b 3-4 c s(a,c)=b:1
		c 5-6 c s(a,)=b:1,c:1,d:1`},
	{"equal values in several keys", `
		a 1-2 c w(x)=1 w(y)=1
		b 3-4 c r(x)=1 r(y)=1`},
	{"write skew that is none", `
		a 3-9 c r(x)=- r(y)=- w(x)=1
		b 3-9 c r(x)=1 r(y)=- w(y)=1`},
}

// Of several anomalies that are entangled, the one that explains most is reported.
func TestGravest(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       history.Name
		ids        []string
	}{
		{"a lost update before read skew", `
			0 1-2 c w(y)=0 w(x)=0 w(z)=0
			a 3-9 c r(x)=0 r(y)=0 r(z)=0 w(x)=1 w(y)=1 w(z)=1
			b 3-9 c r(x)=0 r(y)=0 r(z)=1 w(x)=2`, history.LostUpdate, []string{"a", "b"}},
		{"what was read before what was inferred", `
			a 3-9 c w(x)=1 w(y)=1 r(z)=- w(z)=1 w(u)=1
			b 3-9 c w(x)=2 w(y)=2 r(z)=- r(u)=1
			d 10-11 c r(x)=2 r(y)=1`, history.GSingle, []string{"a", "b"}},
		{"information before anti-dependency", `
			a 1-9 c r(z)=- w(x)=1 r(y)=1
			b 1-9 c w(z)=1 w(y)=1 r(x)=1`, history.G1c, []string{"a", "b"}},
		{"read skew before write skew", `
			b 1-9 c w(x)=1 r(y)=- r(z)=1
			a 1-9 c r(x)=- w(y)=1 w(z)=1`, history.GSingle, []string{"b", "a"}},
		{"short before long", `
			0 1-2 c w(x)=0 w(y)=0
			a 3-9 c r(x)=0 r(y)=0 w(x)=1 w(y)=1
			b 3-9 c r(q)=1 r(x)=1 r(y)=0
			c 3-9 c r(q)=1 r(y)=0
			m 3-9 c r(x)=1 w(q)=1`, history.GSingle, []string{"a", "b"}},
		{"short before longer", `
			0 1-2 c w(x)=0 w(y)=0
			a 3-9 c r(x)=0 r(y)=0 w(x)=1 w(y)=1
			c 3-9 c r(q)=1 r(y)=0
			e 3-9 c r(w)=1 r(y)=0
			m 3-9 c r(x)=1 w(q)=1
			n 3-9 c r(q)=1 w(w)=1`, history.GSingle, []string{"a", "m", "c"}},
		{"without real time before with it", `
			0 1-2 c w(x)=0 w(y)=0
			a 3-4 c r(x)=0 r(y)=0 w(x)=1 w(y)=1
			b 5-9 c r(x)=0 r(y)=0
			c 5-9 c r(x)=1 r(y)=0`, history.GSingle, []string{"a", "c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := judge(t, script(t, c.text), history.Options{})
			require.Equal(t, []history.Name{c.want}, names(r), "%v", r.Err())
			assert.Equal(t, c.ids, r.Anomalies[0].IDs, "%v", r.Err())
		})
	}
}

func TestCorrect(t *testing.T) {
	for _, c := range correct {
		t.Run(c.name, func(t *testing.T) {
			r := judge(t, script(t, c.text), history.Options{})
			require.NoError(t, r.Err())
		})
	}
}

func TestScanLimits(t *testing.T) {
	h := script(t, `a 1-2 c w(b)=1 w(c)=1 w(d)=1`)
	items := func(names ...string) (all []history.Item) {
		for _, name := range names {
			all = append(all, history.Item{Key: name, Value: "1"})
		}
		return all
	}
	for _, c := range []struct {
		name string
		scan history.Scan
		ok   bool
	}{
		{"all", history.Scan{Items: items("b", "c", "d")}, true},
		{"one missing", history.Scan{Items: items("b", "d")}, false},
		{"last missing", history.Scan{Items: items("b", "c")}, false},
		{"limit", history.Scan{Items: items("b", "c"), Limit: 2}, true},
		{"limit not reached", history.Scan{Items: items("b", "c"), Limit: 3}, false},
		{"limit, one missing", history.Scan{Items: items("b", "d"), Limit: 2}, false},
		{"beyond the limit", history.Scan{Items: items("b", "c", "d"), Limit: 2}, false},
		{"stopped", history.Scan{Items: items("b"), Stopped: true}, true},
		{"stopped, one missing", history.Scan{Items: items("c"), Stopped: true}, false},
		{"backwards", history.Scan{Items: items("d", "c", "b"), Reverse: true}, true},
		{"backwards, limit", history.Scan{Items: items("d", "c"), Reverse: true, Limit: 2}, true},
		{"backwards, one missing", history.Scan{Items: items("d", "b"), Reverse: true}, false},
		{"backwards, out of order", history.Scan{Items: items("b", "c", "d"), Reverse: true},
			false},
		{"a key twice", history.Scan{Items: items("b", "b", "c", "d")}, false},
		{"from", history.Scan{From: "c", Items: items("c", "d")}, true},
		{"to", history.Scan{To: "c", Items: items("b")}, true},
		{"before from", history.Scan{From: "c", Items: items("b", "c", "d")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, keysOnly := range []bool{false, true} {
				s := c.scan
				s.KeysOnly = keysOnly
				r := judge(t, append(h, history.Transaction{ID: "b", Invoked: 3, Returned: 4,
					Status: history.Committed, Ops: []history.Op{history.ScanOf(s)}}),
					history.Options{})
				assert.Equal(t, c.ok, r.Err() == nil, "keys only %v: %v", keysOnly, r.Err())
			}
		})
	}
}

func TestElements(t *testing.T) {
	o := history.Options{Elements: func(v string) []string { return strings.Split(v, ".") }}
	for _, c := range []struct {
		name, text string
		want       []history.Name
	}{
		{"a list", `
			a 1-9 c w(x)=1
			b 1-9 c w(x)=1.2 w(x)=1.2.3
			c 1-9 c w(x)=1.2.3.4
			d 10-11 c r(x)=1.2.3.4`, nil},
		{"two lists", `
			a 1-9 c w(x)=1
			b 1-9 c w(x)=1.2
			c 1-9 c w(x)=1.3`, []history.Name{history.LostUpdate}},
		{"lists in opposite order", `
			a 1-9 c w(x)=1 w(y)=2.1
			b 1-9 c w(x)=1.2 w(y)=2`, []history.Name{history.G0}},
		{"writes before reads", `
			a 1-9 c w(v)=1 w(x)=1 w(y)=2.1
			b 1-9 c r(v)=1 w(x)=1.2 w(y)=2`, []history.Name{history.G0}},
		{"a list against real time", `
			a 5-6 c w(x)=1
			b 1-2 c w(x)=1.2`, []history.Name{history.G0 + "-realtime"}},
		{"an unknown append in the middle", `
			a 1-2 c w(x)=1
			b 3-  u w(x)=1.2 w(y)=1
			c 4-5 c w(x)=1.2.3
			d 6-7 c r(y)=-`, []history.Name{history.GSingle + "-realtime"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := judge(t, script(t, c.text), o)
			assert.Equal(t, c.want, names(r), "%v", r.Err())
		})
	}
}

func TestClockError(t *testing.T) {
	h := script(t, `
		a 1-10 c w(x)=1
		b 15-20 c r(x)=-`)
	assert.Error(t, judge(t, h, history.Options{ClockError: 4}).Err())
	assert.NoError(t, judge(t, h, history.Options{ClockError: 5}).Err())
}

func TestMalformed(t *testing.T) {
	for name, text := range map[string]string{
		"value twice":             "a 1-2 c w(x)=1\nb 3-4 c w(x)=1",
		"value twice, one failed": "a 1-2 f w(x)=1\nb 3-4 c w(x)=1",
		"ID twice":                "a 1-2 c w(x)=1\na 3-4 c w(x)=2",
		"returned too early":      "a 2-1 c w(x)=1",
	} {
		_, err := history.Check(script(t, text), history.Options{})
		assert.ErrorIs(t, err, history.ErrMalformed, name)
	}
	for _, tx := range []history.Transaction{
		{ID: "a"},
		{ID: "a", Status: history.Committed, Ops: []history.Op{{}}},
		{ID: "a", Status: history.Committed, Ops: []history.Op{{Kind: history.KindScan}}},
	} {
		_, err := history.Check([]history.Transaction{tx}, history.Options{})
		assert.ErrorIs(t, err, history.ErrMalformed)
	}
	o := history.Options{Elements: strings.Fields}
	_, err := history.Check([]history.Transaction{
		{ID: "a", Status: history.Committed, Ops: []history.Op{
			history.Write("x", "1 2"), history.Write("x", "3 2")}}}, o)
	assert.ErrorIs(t, err, history.ErrMalformed, "element twice")
}

func TestLimit(t *testing.T) {
	h := script(t, `
		a 1-2 c r(x)=1
		b 1-2 c r(x)=2
		c 1-2 c r(x)=3
		d 1-2 c i(y)=1
		e 1-2 c i(y)=2`)
	r := judge(t, h, history.Options{})
	require.Len(t, r.Anomalies, 4)
	assert.Len(t, judge(t, h, history.Options{Limit: 2}).Anomalies, 2)
}

func TestReport(t *testing.T) {
	r := judge(t, script(t, `
		0 1-2 c w(x)=0 w(y)=0 w(z)=0
		a 3-4 c r(x)=0 w(x)=1
		b 5-6 c r(y)=0 r(x)=0`), history.Options{})
	require.Len(t, r.Anomalies, 1)
	assert.Equal(t, []string{"a", "b"}, r.Anomalies[0].IDs)
	assert.Equal(t, `G-single-realtime: each of 2 transactions must come before the next, in a circle
  a by client a [3, 4] committed: r(x)=0 w(x)=1
  b by client b [5, 6] committed: r(x)=0 ...
  a -> b: a had returned before b was invoked (realtime)
  b -> a: b read x=0, then a wrote x=1 (rw)`, r.Err().Error())
	assert.Equal(t, 3, r.Transactions)
}

func TestReportOfInference(t *testing.T) {
	r := judge(t, script(t, `
		a 1-2 c w(x)=1
		b 3-4 c w(x)=2
		c 5-6 c r(x)=1`), history.Options{})
	require.Len(t, r.Anomalies, 1)
	assert.Contains(t, r.Anomalies[0].Text, `
  c -> b: c read x=1, then b wrote x=2 (rw)
    because a wrote x=1, and a -realtime-> b`)
}

func TestUndetermined(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"counter", "a 1-9 c r(x)=- w(x)=1\nb 1-9 c r(x)=1 w(x)=2\nc 1-9 c r(x)=1", 0},
		{"one blind write", "a 1-9 c w(x)=1\nb 1-9 c r(x)=-", 0},
		{"two blind writes", "a 1-9 c w(x)=1\nb 1-9 c w(x)=2", 1},
		{"two blind writes in turn", "a 1-2 c w(x)=1\nb 3-9 c w(x)=2", 0},
		{"absence between deletes", `
			a 1-2 c w(x)=1
			b 3-4 c d(x)
			c 5-6 c r(x)=-
			d 7-8 c w(x)=2`, 0},
		{"absence before or after", `
			a 1-9 c w(x)=1
			b 10-11 c d(x)
			c 1-20 c r(x)=-`, 1},
		{"two keys", "a 1-9 c w(x)=1 w(y)=1\nb 1-9 c w(x)=2 w(y)=2", 2},
	} {
		r := judge(t, script(t, c.text), history.Options{})
		require.NoError(t, r.Err(), c.name)
		assert.Equal(t, c.want, r.Undetermined, c.name)
	}
}

// With few lanes, less is inferred, but nothing wrong.
func TestLanes(t *testing.T) {
	for _, c := range []struct {
		name, text string
		lanes      int
		want       []history.Name
		open       int
	}{
		{"in turn, one unknown", `
			a 1-2 c w(x)=1
			b 3-  u w(x)=2
			c 5-6 c r(x)=2
			d 7-8 c w(x)=3`, 1, nil, 0},
		{"no lane for the write that was read", `
			a 1-9 c w(y)=1
			b 1-9 c w(x)=1
			c 10-11 c w(x)=2
			d 12-13 c r(x)=1`, 1, []history.Name{history.GSingle + "-realtime"}, 0},
		{"no lane for the write in between", `
			a 10-11 c w(x)=1
			z 12-21 c w(y)=1
			b 13-20 c w(x)=2
			d 30-31 c r(x)=1`, 1, []history.Name{history.GSingle + "-realtime"}, 0},
		{"no lane for the write before the read", `
			a 10-15 c w(x)=1
			b 11-14 c w(x)=2
			d 30-31 c r(x)=1
			e 32-33 c r(x)=2`, 1, []history.Name{history.GSingle + "-realtime"}, 0},
		{"no lane for the later write", `
			0 1-2 c w(x)=0 w(y)=0
			z 3-9 c r(z)=-
			a 4-9 c r(y)=0 w(x)=1
			b 4-9 c r(x)=0 w(y)=1`, 1, []history.Name{history.G2}, 0},
		{"no lane for the value before absence", `
			z 1-9 c w(y)=1
			a 2-3 c w(x)=1
			b 2-3 c w(x)=2
			c 10-11 c r(x)=-
			d 12-13 c d(x)`, 1, []history.Name{history.GSingle + "-realtime"}, 0},
		{"no lane for the delete", `
			a 1-2 c w(x)=1
			z 3-9 c w(y)=1
			b 4-5 c d(x)
			c 10-11 c r(x)=-`, 1, nil, 0},
		{"no lane for two who overwrote each other", `
			z 3-9 c w(z)=1
			a 3-9 c w(x)=1 w(y)=1
			b 3-9 c w(x)=2 w(y)=2
			d 10-11 c r(x)=2 r(y)=1`, 1, []history.Name{history.G0}, 0},
		{"two writes without a lane", `
			z 1-9 c w(y)=1
			a 2-3 c w(x)=1
			b 4-5 c w(x)=2`, 1, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := judge(t, script(t, c.text), history.Options{}.WithLanes(c.lanes))
			assert.Equal(t, c.want, names(r), "%v", r.Err())
			assert.Equal(t, c.open, r.Undetermined)
		})
	}
}

func TestEarliestFirst(t *testing.T) {
	r := judge(t, script(t, `
		a 1-3 c i(x)=1
		b 1-3 c i(x)=2
		c 4-6 c i(y)=1
		d 4-6 c i(y)=2
		e 7-9 c i(z)=1
		f 7-9 c i(z)=2`), history.Options{Limit: 2})
	require.Len(t, r.Anomalies, 2)
	assert.Equal(t, []string{"a", "b"}, r.Anomalies[0].IDs)
	assert.Equal(t, []string{"c", "d"}, r.Anomalies[1].IDs)
}
