package processes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/strictkv/strictkv/backend/backendtest/faultproxy"
	"github.com/strictkv/strictkv/backend/faulty"
)

// counts are numbers of faults, by kind.
type counts map[string]int

func (c counts) add(more counts) {
	for kind, n := range more { // any order: it is a sum
		c[kind] += n
	}
}

// since returns what has come since before.
func (c counts) since(before counts) counts {
	more := counts{}
	for kind, n := range c { // any order: each stands for itself
		more[kind] = n - before[kind]
	}
	return more
}

// weather is what befalls the requests to a store over HTTP.
func weather() []faultproxy.Chance {
	return append(faultproxy.Mix(0.08),
		faultproxy.Chance{Probability: 0.1, Fault: faultproxy.Fault{Delay: 10 * time.Millisecond}},
		faultproxy.Chance{Probability: 0.004,
			Fault: faultproxy.Fault{Delay: 1500 * time.Millisecond}},
		faultproxy.Chance{Probability: 0.004,
			Fault: faultproxy.Fault{Late: 1500 * time.Millisecond}},
		faultproxy.Chance{Probability: 0.01, Match: readsObject,
			Fault: faultproxy.Fault{Corrupt: true}},
		faultproxy.Chance{Probability: 0.0005,
			Fault: faultproxy.Fault{Outage: 300 * time.Millisecond}},
	)
}

// readsObject reports whether the answer to a request has a checksum, as listings have not.
func readsObject(r *http.Request) bool {
	q := r.URL.Query()
	return r.Method == http.MethodGet && q.Get("comp") != "list" && !q.Has("list-type") &&
		!strings.HasSuffix(r.URL.Path, "/o")
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
