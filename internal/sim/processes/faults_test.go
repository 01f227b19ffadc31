package processes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

// counts are numbers of faults, by kind.
type counts map[string]int

func (c counts) add(more counts) {
	for kind, n := range more { // any order: it is a sum
		c[kind] += n
	}
}

// weather is what the proxy in front of the store injects.
type weather struct {
	mu     sync.Mutex // guards all below
	random *rand.Rand
	counts counts
}

func newWeather(seed uint64) *weather {
	return &weather{random: rand.New(rand.NewPCG(seed, 8)), counts: counts{}}
}

// Shares of requests that suffer, in thousandths.
const (
	delayed      = 100
	delayMax     = 20 * time.Millisecond
	veryDelayed  = 4
	veryDelayMax = 1500 * time.Millisecond
)

// disasters are faults with their shares, in thousandths. A request that reaches the
// store twice gets no answer to a write: the second answer may be the echo of the first,
// and the adapter sends each request once because nobody could tell.
var disasters = []struct {
	kind  string
	share int
	write gcstest.Fault
	read  gcstest.Fault
}{
	{"reset before", 10,
		gcstest.Fault{ResetBefore: true}, gcstest.Fault{ResetBefore: true}},
	{"reset after", 12,
		gcstest.Fault{ResetAfter: true}, gcstest.Fault{ResetAfter: true}},
	{"429", 10,
		gcstest.Fault{Status: 429, Reason: "rateLimitExceeded"},
		gcstest.Fault{Status: 429, Reason: "rateLimitExceeded"}},
	{"503", 8,
		gcstest.Fault{Status: 503, Reason: "backendError"},
		gcstest.Fault{Status: 503, Reason: "backendError"}},
	{"503, landed", 8,
		gcstest.Fault{Status: 503, Reason: "backendError", Landed: true},
		gcstest.Fault{Status: 503, Reason: "backendError", Landed: true}},
	{"duplicate", 10,
		gcstest.Fault{Duplicate: true, ResetAfter: true}, gcstest.Fault{Duplicate: true}},
	{"cut off", 6,
		gcstest.Fault{Truncate: true}, gcstest.Fault{Truncate: true}},
}

// fault decides what happens to a request.
func (w *weather) fault(r *http.Request) gcstest.Fault {
	kind := gcstest.KindOf(r)
	if kind == gcstest.Other {
		return gcstest.Fault{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts["requests"]++
	var f gcstest.Fault
	roll := w.random.IntN(1000)
	for _, d := range disasters {
		if roll -= d.share; roll < 0 {
			w.counts[d.kind]++
			f = d.read
			if kind == gcstest.Write || kind == gcstest.Delete {
				f = d.write
			}
			break
		}
	}
	switch roll := w.random.IntN(1000); {
	case roll < veryDelayed:
		w.counts["long delay"]++
		f.Delay = rand.N(veryDelayMax)
	case roll < delayed:
		w.counts["delay"]++
		f.Delay = rand.N(delayMax)
	}
	return f
}

// misfortune is what befalls a process on a folder.
func misfortune(seed uint64) faulty.Options {
	return faulty.Options{
		Seed: seed, Delay: 0.1, DelayMax: 5 * time.Millisecond,
		FailBefore: 0.01, LoseRequest: 0.01, LoseAnswer: 0.01, Duplicate: 0.01, Late: 0.01,
	}
}

// countPause is the time between two counts: what befell a process since the last one
// before its death is not counted.
const countPause = 50 * time.Millisecond

// count writes the faults of a process down, again and again.
func count(b *faulty.Backend, name string) (stop func(), err error) {
	out, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	tell := func() {
		c := b.Counts()
		line, err := json.Marshal(counts{
			"requests": c.Calls, "delay": c.Delays, "refused": c.FailuresBefore,
			"lost request": c.LostRequests, "lost answer": c.LostAnswers,
			"duplicate": c.Duplicates, "late": c.LateWrites,
		})
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		if err != nil {
			panic(err)
		}
	}
	go func() {
		for range time.Tick(countPause) {
			tell()
		}
	}()
	return tell, nil
}

// counted reads what count has written, as far as there is any.
func counted(name string) (counts, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	lines := bytes.Split(b, []byte("\n")) // the last one is empty, or torn
	if err != nil || len(lines) < 2 {
		return nil, err
	}
	var c counts
	if err := json.Unmarshal(lines[len(lines)-2], &c); err != nil {
		return nil, fmt.Errorf("counts of faults: %w", err)
	}
	return c, nil
}
