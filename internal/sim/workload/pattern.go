package workload

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/patterns"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

// Of patterns, clients run the code that programs copy, and record no history of keys. Each judges
// what the pattern is for, by what all clients were told. A call that was begun, and has not
// failed, counts as done or not, whichever fits.

// guards are the workloads of patterns that guard something.
var guards = map[string]Workload{
	"unique": {KeysMin: 2, KeysMax: 4, do: (*session).unique, judge: (*session).judgeUsers},
	"once":   {KeysMin: 1, KeysMax: 3, do: (*session).once, judge: (*session).judgeOnce},
	"shards": {KeysMin: 1, KeysMax: 2, do: (*session).shards, judge: (*session).judgeShards},
	"events": {KeysMin: 1, KeysMax: 2, do: (*session).events, judge: (*session).judgeEvents},
	"jobs":   {KeysMin: 1, KeysMax: 1, do: (*session).work, judge: (*session).judgeJobs},
	"expire-leader": {
		KeysMin: 1, KeysMax: 1, Deep: 2, do: (*session).lead, judge: (*session).judgeTerms,
	},
	"expire-rate": {KeysMin: 1, KeysMax: 2, do: (*session).allow, judge: (*session).judgeRate},
}

// facts are what clients have been told, whatever process they ran in.
type facts struct {
	agreed      map[string]string // what all must see alike
	done, begun map[string]int    // what is known to have happened, and may have happened
	calls       map[string][]span
	jobs        map[string]*lease
	copies      []*copied
}

// span is from before a call to after it.
type span struct{ begun, ended time.Duration }

// agree notes what somebody has seen; nobody may ever see anything else.
func (l *Ledger) agree(what, is string) {
	l.mu.Lock()
	old, known := l.facts.agreed[what]
	l.facts.agreed = put(l.facts.agreed, what, is)
	l.mu.Unlock()
	if known && old != is {
		l.Fail("%s was %s, and is %s", what, old, is)
	}
}

// agreedOn is what somebody has seen, if anybody has.
func (l *Ledger) agreedOn(what string) (is string, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is, known = l.facts.agreed[what]
	return is, known
}

// begins notes that something is about to happen n times.
func (l *Ledger) begins(what string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.facts.begun = put(l.facts.begun, what, l.facts.begun[what]+n)
}

// ends notes how that has ended.
func (l *Ledger) ends(what string, n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.facts.done = put(l.facts.done, what, l.facts.done[what]+n)
	case !errors.Is(err, strictkv.ErrInDoubt):
		l.facts.begun[what] -= n
	}
}

// bounds are how often something has happened at least, and at most.
func (l *Ledger) bounds(what string) (least, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.facts.done[what], l.facts.begun[what]
}

// raise notes that something has come so far at least.
func (l *Ledger) raise(what string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.facts.done = put(l.facts.done, what, max(l.facts.done[what], n))
}

// enqueued are the payloads of all jobs.
func (l *Ledger) enqueued() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, what := range slices.Sorted(maps.Keys(l.facts.begun)) {
		if payload, is := strings.CutPrefix(what, "job "); is {
			all = append(all, payload)
		}
	}
	return all
}

// put sets a key of a map, which it makes if there is none.
func put[V any](m map[string]V, k string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[k] = v
	return m
}

// call makes a call, and records how it ended. Some callers have little time.
func (x *session) call(
	r *baton.Source, name string, f func(ctx context.Context) error,
) (err error) {
	ctx, cancel := x.ctx, func() {}
	if r != nil && r.Below(6) == 0 {
		ctx, cancel = x.rt.WithTimeout(ctx, time.Duration(r.Below(300))*time.Millisecond)
	}
	defer cancel()
	x.record(name, func(*Record) error { err = f(ctx); return err })
	return err
}

// must makes a call of a judge's, which nothing disturbs.
func (x *session) must(name string, f func(ctx context.Context) error) {
	if err := x.call(nil, name, f); err != nil {
		x.l.Fail("%s: %w", name, err)
	}
}

func (x *session) named(collection string) *strictkv.Collection {
	return x.db.Collection([]byte(collection))
}

// read is the value of a key, empty if there is none.
func read(tx *strictkv.Tx, c *strictkv.Collection, key string) (string, error) {
	value, err := tx.Read(c, []byte(key))
	if errors.Is(err, strictkv.ErrNotFound) {
		err = nil
	}
	return string(value), err
}

// pause sleeps for up to a time.
func (x *session) pause(r *baton.Source, most time.Duration) {
	d := time.Duration(r.Below(int(most/time.Millisecond))) * time.Millisecond
	_ = x.rt.Sleep(x.ctx, d)
}

// once makes a request, again and again: it has one effect, and all get the same answer.
func (x *session) once(r *baton.Source) {
	request := x.some(r, 1)[0]
	for range 1 + r.Below(3) {
		var answer []byte
		err := x.call(r, "once", func(ctx context.Context) (err error) {
			answer, err = patterns.Once(ctx, x.db, x.named("answers"), request,
				func(tx *strictkv.Tx) ([]byte, error) {
					effects := x.named("effects")
					n, err := read(tx, effects, request)
					if err != nil {
						return nil, err
					}
					answer := []byte(x.l.unique(0, x.id))
					return answer, tx.Write(effects, []byte(request), []byte(n+"I"))
				})
			return err
		})
		if err == nil {
			x.l.agree("the answer to "+request, string(answer))
		}
	}
}

func (x *session) judgeOnce() {
	for _, request := range x.keys() {
		want, answered := x.l.agreedOn("the answer to " + request)
		x.must("effects", func(ctx context.Context) error {
			return x.db.View(ctx, func(tx *strictkv.Tx) error {
				answer, err := read(tx, x.named("answers"), request)
				n, failed := read(tx, x.named("effects"), request)
				switch {
				case err != nil || failed != nil:
					return errors.Join(err, failed)
				case answered && (answer != want || n != "I"), n != "I" && n != "":
					x.l.Fail("%s had effects %q, answer %s, told %s", request, n, answer, want)
				}
				return nil
			})
		})
	}
}

// shards adds to counters, and looks at their sums.
func (x *session) shards(r *baton.Source) {
	name, n, shard := x.some(r, 1)[0], 1+r.Below(9), r.Below(2)
	if r.Below(3) == 0 {
		x.total(r, name)
		return
	}
	x.l.begins(name, n)
	x.l.ends(name, n, x.call(r, "add", func(ctx context.Context) error {
		return patterns.AddTo(ctx, x.named("counters"), name, shard, int64(n))
	}))
}

// total checks that a sum has all that was added before, and nothing else.
func (x *session) total(r *baton.Source, name string) {
	least, _ := x.l.bounds(name)
	var total int64
	err := x.call(r, "total", func(ctx context.Context) (err error) {
		total, err = patterns.Total(ctx, x.db, x.named("counters"), name)
		return err
	})
	if _, most := x.l.bounds(name); err == nil && (int(total) < least || int(total) > most) {
		x.l.Fail("the sum of %s is %d, not %d to %d", name, total, least, most)
	}
}

func (x *session) judgeShards() {
	for _, name := range x.keys() {
		x.total(nil, name)
	}
}

// rate takes tokens out of buckets.
var rate = patterns.Rate{PerSecond: 2, Burst: 3}

// allowMax is how long a client asks for a token: less than a bucket that is full stays.
const allowMax = 30 * time.Second

func (x *session) allow(r *baton.Source) {
	who := x.some(r, 1)[0]
	for range 1 + r.Below(4) {
		now := span{begun: x.l.Now()}
		err := x.call(r, "allow", func(ctx context.Context) error {
			ctx, cancel := x.rt.WithTimeout(ctx, allowMax)
			defer cancel()
			return rate.Allow(ctx, x.named("buckets"), who, x.l.now())
		})
		if now.ended = x.l.Now(); err == nil {
			x.l.allowed(who, now)
		}
	}
	if r.Below(10) == 0 {
		x.pause(r, 3*time.Hour) // until the bucket is gone
	} else {
		x.pause(r, 3*time.Second)
	}
}

// allowed checks that no more calls than the rate allows have begun and ended in any time up to a
// call's end.
func (l *Ledger) allowed(who string, now span) {
	l.mu.Lock()
	all := append(l.facts.calls[who], now)
	l.facts.calls = put(l.facts.calls, who, all)
	l.mu.Unlock()
	for _, first := range all {
		n := 0
		for _, c := range all {
			if c.begun >= first.begun && c.ended <= now.ended {
				n++
			}
		}
		d := now.ended - first.begun
		if float64(n) > rate.Burst+rate.PerSecond*d.Seconds()+1e-6 {
			l.Fail("%s was allowed %d times in %v", who, n, d)
		}
	}
}

func (x *session) judgeRate() {} // each call was judged

// events appends to streams, each event with the number of those that it was decided on.
func (x *session) events(r *baton.Source) {
	stream, log := x.some(r, 1)[0], x.named("events")
	if r.Below(4) == 0 {
		x.replay(r, stream)
		return
	}
	event := ""
	err := x.call(r, "apply", func(ctx context.Context) error {
		return patterns.Apply(ctx, x.db, log, stream, func(past [][]byte) ([]byte, error) {
			event = x.l.unique(len(past), x.id)
			x.l.begins(stream+event, 1)
			return []byte(event), nil
		})
	})
	if event != "" {
		x.l.ends(stream+event, 1, err)
	}
	if err == nil {
		x.l.agree("event "+strconv.Itoa(number(event))+" of "+stream, event)
	}
}

// replay checks that a stream has what everybody has seen of it, and was told.
func (x *session) replay(r *baton.Source, stream string) {
	var all [][]byte
	least, _ := x.l.bounds("events of " + stream)
	err := x.call(r, "replay", func(ctx context.Context) (err error) {
		all, err = patterns.Replay(ctx, x.db, x.named("events"), stream, 0)
		return err
	})
	if err != nil {
		return
	}
	for i, event := range all {
		if _, most := x.l.bounds(stream + string(event)); number(string(event)) != i || most != 1 {
			x.l.Fail("event %d of %s is %s", i, stream, event)
		}
		x.l.agree("event "+strconv.Itoa(i)+" of "+stream, string(event))
	}
	if x.l.raise("events of "+stream, len(all)); len(all) < least {
		x.l.Fail("of the %d events of %s there are %d", least, stream, len(all))
	}
}

func (x *session) judgeEvents() {
	for _, stream := range x.keys() {
		x.replay(nil, stream)
		n, _ := x.l.bounds("events of " + stream)
		if _, more := x.l.agreedOn("event " + strconv.Itoa(n) + " of " + stream); more {
			x.l.Fail("of %s there are only %d events", stream, n)
		}
	}
}
