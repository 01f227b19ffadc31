// Package activity counts what a handle of a database does, second by second, for charts of the
// last two minutes.
package activity

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/keytext"
)

const (
	// Window is how many seconds are kept.
	Window = 120
	// Hottest is how many keys are told of at most.
	Hottest = 10

	tracked = 256 // keys that are counted at once
	halving = 30  // seconds after which a request for a key counts half

	shortest = 50 * time.Microsecond // of the latencies that are told apart
	octave   = 8                     // steps in which a latency doubles
	steps    = 20 * octave
)

// second is what has ended in one second.
type second struct {
	at                                 int64 // by the clock of Unix
	requests, failed, commits, retries int
	latencies                          [steps]int
}

// heat is how much is asked of a key.
type heat struct{ requests, refused int }

// Monitor counts what a handle does. The zero one is ready for use, by many at once.
type Monitor struct {
	mu     sync.Mutex // held for a moment: the engine waits
	ring   [Window]second
	keys   map[string]*heat // by object, without the database
	halved int64
}

// Observer is for strictkv.WithObserver.
func (m *Monitor) Observer() strictkv.Observer {
	return strictkv.Observer{
		RequestEnd: func(_ context.Context, e strictkv.RequestEnd) { m.request(e) },
		TxRetry: func(_ context.Context, e strictkv.TxRetry) {
			if e.Cause != strictkv.Grouped {
				m.count(time.Now(), func(s *second) { s.retries++ })
			}
		},
		TxEnd: func(_ context.Context, e strictkv.TxEnd) {
			if e.Outcome == strictkv.OutcomeCommitted {
				m.count(e.Start.Add(e.Duration), func(s *second) { s.commits++ })
			}
		},
	}
}

// count counts something in its second.
func (m *Monitor) count(at time.Time, f func(*second)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.ring[at.Unix()%Window]
	if s.at != at.Unix() {
		*s = second{at: at.Unix()}
	}
	f(s)
}

func (m *Monitor) request(e strictkv.RequestEnd) {
	m.count(e.Start.Add(e.Duration), func(s *second) {
		s.requests++
		if e.Result > strictkv.ResultRefused {
			s.failed++
		}
		step := octave * math.Log2(float64(max(e.Duration, shortest))/float64(shortest))
		s.latencies[min(int(step), steps-1)]++
		if e.Kind == strictkv.ObjectCell {
			h := m.heat(e.Object[min(len(e.Database)+1, len(e.Object)):], s.at)
			h.requests++
			if e.Result == strictkv.ResultRefused {
				h.refused++
			}
		}
	})
}

// heat is that of an object. If too many are counted, it takes the place of the coldest one with
// its number, so that none that is hot is missed.
func (m *Monitor) heat(object string, now int64) *heat {
	for ; len(m.keys) > 0 && now-m.halved >= halving; m.halved += halving {
		for name, h := range m.keys {
			if h.requests, h.refused = h.requests/2, h.refused/2; h.requests == 0 {
				delete(m.keys, name)
			}
		}
	}
	if len(m.keys) == 0 {
		m.keys, m.halved = map[string]*heat{}, now
	}
	h := m.keys[object]
	if h == nil {
		h = &heat{}
		if len(m.keys) >= tracked {
			coldest, least := "", math.MaxInt
			for name, x := range m.keys {
				if x.requests < least {
					coldest, least = name, x.requests
				}
				if least == 1 {
					break
				}
			}
			h = &heat{requests: least}
			delete(m.keys, coldest)
		}
		m.keys[object] = h
	}
	return h
}

// quantile is how many milliseconds a part of the requests took at most.
func (s *second) quantile(q float64) float64 {
	left := int(math.Ceil(q * float64(s.requests)))
	for step, n := range s.latencies {
		if left -= n; left <= 0 && s.requests > 0 {
			return float64(shortest) * math.Exp2(float64(step+1)/octave) / float64(time.Millisecond)
		}
	}
	return 0
}

// Second is what has ended in a second. P50 and P99 are how long requests to the store took at
// most, in milliseconds, half of them and 99 of 100.
type Second struct {
	Requests int     `json:"requests"`
	Failed   int     `json:"failed"`
	Commits  int     `json:"commits"`
	Retries  int     `json:"retries"`
	P50      float64 `json:"p50"`
	P99      float64 `json:"p99"`
}

// Key is a key, as package keytext shows it, and how much is asked of it. Numbers are for
// comparison: older requests count less.
type Key struct {
	Collection string `json:"collection"`
	Key        string `json:"key"`
	Requests   int    `json:"requests"`
	// Refused counts the writes to which others came first.
	Refused int `json:"refused"`
}

// Charts returns the seconds up to now, the oldest first, and the keys of which most is asked.
func (m *Monitor) Charts(now time.Time) (seconds []Second, keys []Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at := now.Unix() - Window + 1; at <= now.Unix(); at++ {
		s := &m.ring[at%Window]
		if s.at != at {
			s = &second{}
		}
		seconds = append(seconds, Second{
			s.requests, s.failed, s.commits, s.retries, s.quantile(0.5), s.quantile(0.99),
		})
	}
	objects := slices.SortedFunc(maps.Keys(m.keys), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.keys[b].requests, m.keys[a].requests), strings.Compare(a, b))
	})
	for _, object := range objects[:min(len(objects), Hottest)] {
		path, key, err := keyspace.ParseCell(object)
		if err != nil {
			continue
		}
		if names, err := path.Names(); err == nil {
			h := m.keys[object]
			keys = append(keys,
				Key{keytext.ShowPath(names), keytext.Show(key), h.requests, h.refused})
		}
	}
	return seconds, keys
}
