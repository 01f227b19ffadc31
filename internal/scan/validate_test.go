package scan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
)

// consume walks a range, and returns what it has seen. It leaves after so many cells, if
// not 0.
func (w *world) consume(r scan.Range, o scan.WalkOptions, leave int) *scan.Span {
	walker := w.scans.Walk(w.ctx, r, o)
	defer walker.Stop()
	span := scan.NewSpan(r, new(int64))
	for n := 1; ; n++ {
		item, ok, err := walker.Next()
		require.NoError(w.T, err)
		if !ok {
			span.End(walker.At())
			return span
		}
		span.Add(item, walker.At())
		if n == leave {
			return span
		}
	}
}

// validate validates spans, and returns how many rounds that took.
func (w *world) validate(
	v scan.Validator, spans ...*scan.Span,
) (now []*scan.Listing, stale bool, rounds int) {
	begun := time.Now()
	now, stale, err := w.scans.Validate(w.ctx, spans, v)
	require.NoError(w.T, err)
	return now, stale, int(time.Since(begun) / latency)
}

func TestValidate(t *testing.T) {
	keys := scan.Range{KeysOnly: true}
	for _, x := range []struct {
		name   string
		before func(w *world)
		r      scan.Range
		after  func(w *world)
		stale  bool
		gets   int
	}{
		{"nothing happens", nil, scan.Range{}, func(*world) {}, false, 0},
		{"a value", nil, scan.Range{}, func(w *world) { w.write("k00003", "new") }, true, 1},
		{"a fence", nil, scan.Range{}, func(w *world) { w.touch("k00003") }, false, 1},
		{"a fence, keys only", nil, keys, func(w *world) { w.touch("k00003") }, true, 1},
		{"an undecided intent comes", nil, scan.Range{},
			func(w *world) { w.intend("k00003", "new") }, false, 2},
		{"an undecided intent stays", func(w *world) { w.intend("k00003", "new") }, scan.Range{},
			func(*world) {}, false, 2},
		{"an intent commits without a write of the cell",
			func(w *world) { w.intend("k00003", "new") }, scan.Range{},
			func(w *world) { w.join("k00003") }, true, 2},
		{"the same, keys only",
			func(w *world) { w.intend("k00003", "new") }, keys,
			func(w *world) { w.join("k00003") }, true, 2},
		{"a new key", nil, scan.Range{}, func(w *world) { w.write("k00003+", "new") }, true, 1},
		{"a new key, deleted", nil, scan.Range{},
			func(w *world) { w.write("k00003+", "new"); w.remove("k00003+") }, true, 1},
		{"a new key, not committed", nil, scan.Range{},
			func(w *world) { w.intend("k00003+", "new") }, false, 2},
		{"a tombstone without a writer", nil, scan.Range{},
			func(w *world) { w.put("k00003+", cell.Fence(&cell.Cell{})) }, false, 1},
		{"a deletion", nil, scan.Range{}, func(w *world) { w.remove("k00003") }, true, 1},
		{"a tombstone is swept", func(w *world) { w.remove("k00003") }, scan.Range{},
			func(w *world) { w.sweep("k00003") }, true, 0},
		{"the last tombstone is swept", func(w *world) { w.remove("k00009") }, scan.Range{},
			func(w *world) { w.sweep("k00009") }, true, 0},
		{"what never committed is swept",
			func(w *world) { w.intend("k00003+", "new") }, scan.Range{},
			func(w *world) { w.sweep("k00003+") }, false, 0},
		{"a tombstone is condemned", func(w *world) { w.remove("k00003") }, scan.Range{},
			func(w *world) { w.condemn("k00003") }, true, 1},
	} {
		for _, reverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reverse %v", x.name, reverse), func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.fill(10)
					if x.before != nil {
						x.before(w)
					}
					x.r.Interval, x.r.Reverse = w.all().Interval, reverse
					span := w.consume(x.r, scan.WalkOptions{}, 0)
					x.after(w)
					w.net.reset()
					now, stale, _ := w.validate(scan.Validator{}, span)
					lists, gets := w.net.reset()
					assert.Equal(t, x.stale, stale)
					assert.Equal(t, 1+min(x.gets, 1), lists, "again beside the reading")
					assert.Equal(t, x.gets, gets)
					again := w.consume(x.r, scan.WalkOptions{Known: now}, 0)
					lists, _ = w.net.reset()
					assert.Zero(t, lists, "the next run begins with what validation listed")
					_, stale, _ = w.validate(scan.Validator{}, again)
					assert.False(t, stale, "and is valid")
				})
			})
		}
	}
}

// A cell is listed without an intent, and when validation reads it there is one: the
// version that it was read at is not the one that the listing tells of.
func TestIntentBetweenListingAndRead(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(5)
		r := w.all()
		r.KeysOnly = true
		span := w.consume(r, scan.WalkOptions{}, 0)
		w.write("k00003", "other")
		w.net.beforeGet(func() { w.intend("k00003", "new") })
		now, stale, _ := w.validate(scan.Validator{}, span)
		require.True(t, stale)
		again := w.consume(r, scan.WalkOptions{Known: now}, 0)
		w.join("k00003")
		_, stale, _ = w.validate(scan.Validator{}, again)
		assert.True(t, stale, "the intent has committed without a write of the cell")
	})
}

// A cell was listed without an intent, and the cache learns of one before the walk gets there:
// that leaves the version that the listing told.
func TestIntentBehindTheListing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(5)
		r := w.all()
		r.KeysOnly, r.Limit = true, 1 // it goes no further ahead
		walker, span := w.scans.Walk(w.ctx, r, scan.WalkOptions{}), scan.NewSpan(r, new(int64))
		defer walker.Stop()
		for n := range 5 {
			if n == 1 {
				w.intend("k00003", "new")
				_, err := w.rs.Read(w.ctx, w.name("k00003"))
				require.NoError(t, err)
			}
			item, ok, err := walker.Next()
			require.NoError(t, err)
			require.True(t, ok)
			span.Add(item, walker.At())
		}
		w.join("k00003")
		_, stale, _ := w.validate(scan.Validator{}, span)
		assert.True(t, stale, "the intent has committed without a write of the cell")
	})
}

// What has not changed between two listings was current in between, all at one instant.
func TestValidateFindsAnInstant(t *testing.T) {
	ranked := resolve.Role{Ranked: true}
	late := func(do func(w *world)) func(w *world) {
		return func(w *world) {
			w.net.beforeGet(func() { // the read is sent when the listing has been answered
				pass(latency)
				do(w)
			})
		}
	}
	change := func(w *world) { w.write("k00003", "3") }
	for _, x := range []struct {
		name      string
		intent    bool // is what was there when it was listed again
		meanwhile func(w *world)
		role      resolve.Role
		found     bool
	}{
		{"quiet", false, func(*world) {}, resolve.Role{}, true},
		{"what is read changes", false, change, resolve.Role{}, false},
		{"what is read changes once it was read", false, func(w *world) {
			time.AfterFunc(latency, func() { change(w) })
		}, resolve.Role{}, true},
		{"what is read late changes", false, late(change), resolve.Role{}, false},
		{"another changes", false, func(w *world) { w.write("k00001", "3") }, resolve.Role{},
			false},
		{"another comes", false, func(w *world) { w.write("new", "3") }, resolve.Role{}, false},
		{"the last goes", false, func(w *world) { w.sweep("k00005") }, resolve.Role{}, false},
		{"an intent comes", false, func(w *world) { w.intend("k00003", "3") }, resolve.Role{},
			false},
		{"an intent commits late", true, late(func(w *world) { w.join("k00003") }), resolve.Role{},
			false},
		{"who holds intents must validate", false, func(*world) {}, ranked, false},
	} {
		for _, reverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reverse %v", x.name, reverse), func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.fill(6)
					w.remove("k00005")
					r := w.all()
					r.Reverse = reverse
					span := w.consume(r, scan.WalkOptions{}, 0)
					if w.write("k00003", "2"); x.intent {
						w.intend("k00003", "3")
					}
					time.AfterFunc(latency*3/4, func() { x.meanwhile(w) })
					begun := time.Now()
					now, stale, rounds := w.validate(scan.Validator{Role: x.role}, span)
					assert.True(t, stale)
					assert.GreaterOrEqual(t, rounds, 2)
					again := w.consume(r, scan.WalkOptions{Known: now}, 0)
					if x.found {
						assert.Equal(t, begun.Add(latency), again.At(), "between the listings")
					} else {
						assert.True(t, again.At().IsZero())
					}
				})
			})
		}
	}
}

// The attempt's own intents stand for what was in their cells before.
func TestValidateOwnIntents(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(5)
		span := w.consume(w.all(), scan.WalkOptions{}, 0)
		own := map[string]resolve.Reading{}
		for _, key := range []string{"k00002", "new"} {
			s, err := w.rs.Read(w.ctx, w.name(key))
			require.NoError(t, err)
			own[s.Name] = w.rs.Known(s)
			w.intend(key, "own")
		}
		w.net.reset()
		_, stale, rounds := w.validate(scan.Validator{Own: own}, span)
		assert.False(t, stale)
		assert.Equal(t, 1, rounds)

		other, err := w.rs.Read(w.ctx, w.name("k00003"))
		require.NoError(t, err)
		for _, key := range []string{"k00002", "new"} { // a rival was there before the intent
			bad := map[string]resolve.Reading{}
			for k, v := range own {
				bad[k] = v
			}
			other.Name = w.name(key)
			bad[other.Name] = w.rs.Known(other)
			_, stale, _ = w.validate(scan.Validator{Own: bad}, span)
			assert.True(t, stale, key)
		}
	})
}

// Pages of a span are validated in parallel, and cells in doubt as well.
func TestValidateInParallel(t *testing.T) {
	inWorld(t, func(w *world) {
		keys := w.fill(3500)
		for _, reverse := range []bool{false, true} {
			r := w.all()
			r.KeysOnly, r.Reverse = true, reverse
			span := w.consume(r, scan.WalkOptions{}, 0)
			w.net.reset()
			_, stale, rounds := w.validate(scan.Validator{}, span, span)
			lists, gets := w.net.reset()
			assert.False(t, stale)
			assert.Equal(t, []int{1, 8, 0}, []int{rounds, lists, gets})

			for _, key := range []string{keys[0], keys[874], keys[875], keys[2000], keys[3499]} {
				span := w.consume(r, scan.WalkOptions{}, 0)
				w.write(key+"+", "phantom")
				_, stale, rounds := w.validate(scan.Validator{}, span)
				assert.True(t, stale, key)
				assert.Equal(t, 2, rounds)
				w.sweep(key + "+")
			}
		}
	})
}

// However many cells are in doubt, all are read.
func TestValidateManyDoubts(t *testing.T) {
	for _, last := range []bool{false, true} {
		inWorld(t, func(w *world) {
			w.fill(2)
			span := w.consume(w.all(), scan.WalkOptions{}, 0)
			for i := range 1000 { // read at once
				w.intend(fmt.Sprintf("m%05d", i), "undecided")
			}
			if w.intend("n", "undecided"); last {
				w.write("o", "new")
			}
			_, stale, _ := w.validate(scan.Validator{}, span)
			assert.Equal(t, last, stale)
		})
	}
}

// What was not consumed is neither listed nor compared.
func TestValidateWhatWasConsumed(t *testing.T) {
	inWorld(t, func(w *world) {
		keys := w.fill(900)
		span := w.consume(w.all(), scan.WalkOptions{}, 3)
		w.write(keys[3], "new")
		w.write(keys[2]+"+", "new")
		_, stale, _ := w.validate(scan.Validator{}, span)
		assert.False(t, stale)
		w.write(keys[1]+"+", "new")
		_, stale, _ = w.validate(scan.Validator{}, span)
		assert.True(t, stale)
		_, stale, rounds := w.validate(scan.Validator{}, scan.NewSpan(w.all(), new(int64)))
		assert.False(t, stale, "nothing was consumed")
		assert.Zero(t, rounds)
	})
}

// What was valid at an instant is remembered, within bounds.
func TestMemory(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(10)
		var m scan.Memory
		at := time.Now()
		r := w.all()
		r.Limit = 4
		m.Keep([]*scan.Span{w.consume(r, scan.WalkOptions{}, 4)}, at)
		assert.NotEmpty(t, m.Recall(w.all(), at))
		assert.Empty(t, m.Recall(w.all(), at.Add(1)), "too old")
		r.From = w.name("k00005")
		assert.Empty(t, m.Recall(r, at), "it begins behind")
		m.Forget(at.Add(-1), w.name("k00005"))
		assert.NotEmpty(t, m.Recall(w.all(), at))
		m.Forget(at.Add(-1), w.name("k00003"))
		assert.Empty(t, m.Recall(w.all(), at))

		w.net.reset()
		m.Keep([]*scan.Span{w.consume(w.all(), scan.WalkOptions{}, 0)}, at)
		w.write("k00004", "new")
		w.net.reset()
		for _, reverse := range []bool{false, true} {
			r := w.all()
			r.Reverse = reverse
			span := w.consume(r, scan.WalkOptions{Known: m.Recall(r, at)}, 0)
			assert.Equal(t, at, span.At())
		}
		lists, gets := w.net.reset()
		assert.Zero(t, lists+gets)

		for i := range 70 {
			r := w.all()
			r.To = w.name(fmt.Sprintf("k00003%03d", i))
			r.From = w.name(fmt.Sprintf("k00002%03d", i))
			m.Keep([]*scan.Span{w.consume(r, scan.WalkOptions{}, 0)}, at.Add(1))
		}
		assert.Empty(t, m.Recall(w.all(), at), "64 at most")
		for i := range 21 {
			w.write(fmt.Sprintf("x%02d", i), strings.Repeat("x", 1<<20))
		}
		for i := range 3 { // of 7 MiB each
			r := w.all()
			r.From, r.To = w.name(fmt.Sprintf("x%02d", 7*i)), w.name(fmt.Sprintf("x%02d", 7*i+7))
			m.Keep([]*scan.Span{w.consume(r, scan.WalkOptions{}, 0)}, at)
			r.To = r.From + "+"
			assert.NotEmpty(t, m.Recall(r, at))
		}
		r.From, r.To = w.name("x00"), w.name("x01")
		assert.Empty(t, m.Recall(r, at), "16 MiB at most")
		own := scan.NewSpan(w.all(), new(int64))
		own.AddOwn(w.name("k00003"))
		var other scan.Memory
		other.Keep([]*scan.Span{own, scan.NewSpan(w.all(), new(int64))}, at)
		assert.Empty(t, other.Recall(w.all(), at), "neither own writes nor nothing")
	})
}

// A walk that had to read something is of no known instant.
func TestWalkLosesItsInstant(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(10)
		var m scan.Memory
		at := time.Now()
		r := w.all()
		m.Keep([]*scan.Span{w.consume(r, scan.WalkOptions{}, 5)}, at)
		span := w.consume(r, scan.WalkOptions{Known: m.Recall(r, at)}, 5)
		assert.Equal(t, at, span.At(), "left within what is known")
		w.net.pageMax = 3 // so that more is left to be listed
		for _, leave := range []int{6, 0} {
			span = w.consume(r, scan.WalkOptions{Known: m.Recall(r, at)}, leave)
			assert.True(t, span.At().IsZero(), "went on behind it")
		}
		// Without its values, what is remembered leads to reads.
		w.open(1 << 20)
		r.KeysOnly = true
		m.Forget(at.Add(-1), w.name("k00001"))
		m.Keep([]*scan.Span{w.consume(r, scan.WalkOptions{}, 0)}, at)
		r.KeysOnly = false
		span = w.consume(r, scan.WalkOptions{Known: m.Recall(r, at)}, 0)
		assert.True(t, span.At().IsZero())
	})
}

// Nor is one that listed something, be it that nothing was there, in either direction.
func TestWalkThatFoundNothingMoreLosesItsInstant(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(10)
		at := time.Now()
		for _, x := range []struct {
			from, to string
			reverse  bool
		}{{"", "k00020", false}, {"k", "", true}} {
			var m scan.Memory
			known := scan.Range{Interval: w.interval(x.from, x.to)}
			m.Keep([]*scan.Span{w.consume(known, scan.WalkOptions{}, 0)}, at)
			r := w.all()
			r.Reverse = x.reverse
			o := scan.WalkOptions{Known: m.Recall(r, at)}
			require.NotEmpty(t, o.Known)
			assert.Equal(t, at, w.consume(r, o, 10).At(), "left in time")
			assert.True(t, w.consume(r, o, 0).At().IsZero(), "%+v", x)
		}
	})
}

// touch moves a cell's version, as a fence does.
func (w *world) touch(key string) {
	c, _ := w.cell(key)
	w.put(key, cell.Fence(c))
}

// condemn announces the removal of a tombstone.
func (w *world) condemn(key string) {
	c, _ := w.cell(key)
	condemned := *c
	condemned.Condemned = true
	w.put(key, &condemned)
}

// sweep removes an object.
func (w *world) sweep(key string) { w.Remove(w.name(key)) }

// join lets the last intent of the attempt land whose other is in a key's cell.
func (w *world) join(key string) {
	c, _ := w.cell(key)
	in := *c.Intent
	w.Put("=other", cell.Place(&cell.Cell{}, cell.Fold{}, &in))
}
