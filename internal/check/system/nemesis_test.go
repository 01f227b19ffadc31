package system_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest/faultproxy"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/bucketurl/bucketurltest"
	"github.com/strictkv/strictkv/internal/history"
)

var nemesisTime = flag.Duration("nemesis", 3*time.Second,
	"how long the bank runs behind each faulty network")

const (
	stormHandles  = 4
	stormTellers  = 16
	stormAccounts = 16
	stormBalance  = 100 // of each account at first
	// stormSize is the length of a value in bytes, so long that what befalls the
	// middle of a request or an answer befalls a value.
	stormSize     = 600
	stormPatience = time.Second
	// stormOutages is how many outages there are. They last a quarter of the time.
	stormOutages = 6
	// openTries bounds how often a teller tries to open the database.
	openTries = 50
)

// openBucket opens a bucket for the time of a test.
func openBucket(t *testing.T, url string) backend.Backend {
	b, err := bucketurl.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

// isPut, isWrite and isRead tell which requests a fault is for.
func isPut(r *http.Request) bool {
	return r.Method == http.MethodPut || r.Method == http.MethodPost
}

func isWrite(r *http.Request) bool { return isPut(r) || r.Method == http.MethodDelete }
func isRead(r *http.Request) bool  { return r.Method == http.MethodGet }

// refusals are those that only the stores of one scheme answer with.
var refusals = map[string]faultproxy.Fault{
	"gs": {Status: http.StatusTooManyRequests,
		Body: `{"error":{"code":429,"errors":[{"reason":"rateLimitExceeded"}]}}`},
	"azblob": {Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
		Header: http.Header{"X-Ms-Error-Code": {"ServerBusy"}}},
	"s3": {Status: http.StatusConflict,
		Body: "<Error><Code>ConditionalRequestConflict</Code></Error>"},
}

// weather is what befalls the requests to a store.
func weather(scheme string) []faultproxy.Chance {
	return append(faultproxy.Mix(0.1),
		faultproxy.Chance{Probability: 0.01, Match: isPut, Fault: refusals[scheme]},
		faultproxy.Chance{Probability: 0.01, Match: isPut,
			Fault: faultproxy.Fault{CorruptRequest: true}},
		faultproxy.Chance{Probability: 0.01, Match: isRead, Fault: faultproxy.Fault{Corrupt: true}},
		// So late that the others have long lost their patience.
		faultproxy.Chance{Probability: 0.002, Match: isWrite,
			Fault: faultproxy.Fault{Late: 3 * stormPatience}},
	)
}

// TestNemesis: transfers over a network that delays, repeats, damages and loses requests
// and answers, to a store that refuses some and is not there at times.
func TestNemesis(t *testing.T) {
	for _, store := range bucketurltest.Stores {
		t.Run(store.Name, func(t *testing.T) {
			if store.Name == "moto" {
				t.Skip("moto verifies no checksum of an upload: run it without damage (TestStress)")
			}
			s := &nemesis{t: t}
			s.url = store.BucketBehind(t, func(u string) string {
				target, err := url.Parse(u)
				require.NoError(t, err)
				s.proxy = faultproxy.New(target, faultproxy.Options{Seed: 1})
				t.Cleanup(s.proxy.Close)
				return s.proxy.URL()
			})
			s.run()
		})
	}
}

// nemesis is a bank behind a faulty network.
type nemesis struct {
	t       *testing.T
	url     string
	proxy   *faultproxy.Proxy
	history *history.Recorder
	tellers []*teller
	start   time.Time
	totals  int // found to be right while the nemesis was at work
}

func (s *nemesis) run() {
	s.start = time.Now()
	now := func() int64 { return int64(time.Since(s.start)) }
	s.history = history.NewRecorder("nemesis", now, nil)
	require.NoError(s.t, s.teller(0, s.handle()).open())
	scheme, _, _ := strings.Cut(s.url, "://")
	s.proxy.SetChances(weather(scheme)...)
	for range stormHandles {
		db := s.handle()
		for range stormTellers / stormHandles {
			s.tellers = append(s.tellers, s.teller(len(s.tellers)+1, db))
		}
	}
	s.blow()
	s.log()
	s.judge(s.teller(stormTellers+1, s.handle()))
}

// handle opens the database once more.
func (s *nemesis) handle() (db *strictkv.DB) {
	b, err := openBucket(s.t, s.url), error(nil)
	for range openTries {
		db, err = strictkv.Open(s.t.Context(), "bank", b, strictkv.WithPatience(stormPatience))
		if err == nil {
			break
		}
	}
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, db.Close(context.Background())) })
	return db
}

func (s *nemesis) teller(id int, db *strictkv.DB) *teller {
	return &teller{
		nemesis: s, id: id, db: db, c: db.Collection([]byte("bank")),
		random: rand.New(rand.NewPCG(uint64(id), 2)),
	}
}

// blow lets all tellers work while the nemesis lasts, which is until each has got
// something done, and lets them finish when it is calm.
func (s *nemesis) blow() {
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	var all, first sync.WaitGroup
	for _, w := range s.tellers {
		first.Add(1)
		progress := sync.OnceFunc(first.Done)
		w.last = time.Now()
		all.Go(func() {
			defer progress()
			for ctx.Err() == nil && !s.t.Failed() {
				if w.work(); w.committed > 0 {
					progress()
				}
			}
		})
	}
	// A total is a long transaction among many short ones: whoever waits for one does
	// nothing else.
	auditor := s.teller(-1, s.handle())
	all.Go(func() {
		for ctx.Err() == nil && !s.t.Failed() {
			err := auditor.total()
			if err == nil {
				s.totals++
			} else if !errors.Is(err, strictkv.ErrUnavailable) && ctx.Err() == nil {
				assert.NoError(s.t, err)
			}
		}
	})
	over := time.After(*nemesisTime)
	all.Go(func() {
		<-over
		first.Wait()
		cancel()
	})
	every := time.NewTicker(*nemesisTime / stormOutages)
	defer every.Stop()
	for ctx.Err() == nil {
		select {
		case <-every.C:
			s.proxy.Outage(*nemesisTime / stormOutages / 4)
		case <-ctx.Done():
		}
	}
	s.proxy.SetChances()
	s.proxy.Outage(0)
	all.Wait()
}

// judge checks by one more teller what is left, and the history of all.
func (s *nemesis) judge(last *teller) {
	require.NoError(s.t, last.total())
	for _, w := range s.tellers {
		have, err := last.look(w.counter())
		require.NoError(s.t, err)
		w.expect(have[0])
	}
	found, err := last.db.Check(s.t.Context(), strictkv.CheckOptions{})
	require.NoError(s.t, err)
	require.Empty(s.t, found.Problems)
	report, err := history.Check(s.history.History(), history.Options{})
	require.NoError(s.t, err)
	require.NoError(s.t, report.Err())
	require.Zero(s.t, report.Undetermined, "keys of which the order of writes is open")
	s.t.Logf("%d transactions are strictly serializable", report.Transactions)
}

// log tells what has happened, for people.
func (s *nemesis) log() {
	var counts []int
	sum, longest := teller{}, time.Duration(0)
	for _, w := range s.tellers {
		counts = append(counts, w.committed)
		sum.committed += w.committed
		sum.doubted += w.doubted
		sum.landed += w.landed
		sum.refused += w.refused
		longest = max(longest, w.longest)
	}
	s.t.Logf("%d committed, %d in doubt (of which %d had committed), %d refused in %v; "+
		"by teller from %d to %d, none without one for longer than %v; %d totals",
		sum.committed, sum.doubted, sum.landed, sum.refused,
		time.Since(s.start).Round(time.Millisecond), slices.Min(counts), slices.Max(counts),
		longest.Round(time.Millisecond), s.totals)
	s.t.Log("requests and faults: ", s.proxy.Counts())
}

// teller is one of those who make transfers.
type teller struct {
	*nemesis
	id     int
	db     *strictkv.DB
	c      *strictkv.Collection
	random *rand.Rand

	values int // that it has written, which makes each unique
	// least and most bound the transfers that it can have made.
	least, most int
	// committed, doubted and refused are how its transactions have ended, and landed is
	// how many of those in doubt turned out to have committed.
	committed, doubted, landed, refused int

	last    time.Time // when one has committed
	longest time.Duration
}

// work runs one transaction.
func (w *teller) work() {
	f := w.transfer
	if w.random.IntN(8) == 0 {
		f = func() error {
			_, err := w.look(account(w.random.IntN(stormAccounts)), w.counter())
			return err
		}
	}
	switch err := f(); {
	case errors.Is(err, strictkv.ErrInDoubt):
		w.doubted++
	case errors.Is(err, strictkv.ErrUnavailable):
		w.refused++
	case assert.NoError(w.t, err):
		w.committed++
		w.longest = max(w.longest, time.Since(w.last))
		w.last = time.Now()
	}
}

func account(i int) string        { return fmt.Sprint("account-", i) }
func (w *teller) counter() string { return fmt.Sprint("counter-", w.id) }

// accounts are the keys of all accounts.
func accounts() []string {
	keys := make([]string, stormAccounts)
	for i := range keys {
		keys[i] = account(i)
	}
	return keys
}

// open gives each account its balance.
func (w *teller) open() error {
	return w.transact(func(r *record) error {
		if _, err := r.read(accounts()...); err != nil {
			return err
		}
		for _, key := range accounts() {
			if err := r.write(key, stormBalance); err != nil {
				return err
			}
		}
		return nil
	})
}

// transfer moves something from one account to another, and counts that. It expects to
// find all its earlier transfers, and none that was not made.
func (w *teller) transfer() error {
	from, to := w.random.IntN(stormAccounts), w.random.IntN(stormAccounts-1)
	if to >= from {
		to++
	}
	keys, count := []string{account(from), account(to), w.counter()}, 0
	err := w.transact(func(r *record) error {
		have, err := r.read(keys...)
		if err != nil {
			return err
		}
		count = have[2]
		for i, more := range []int{-1, +1, +1} {
			if err := r.write(keys[i], have[i]+more); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err == nil:
		w.expect(count)
		w.least, w.most = count+1, count+1
	case errors.Is(err, strictkv.ErrInDoubt):
		w.most++
	}
	return err
}

// expect judges what the teller's counter was found to be.
func (w *teller) expect(count int) {
	assert.GreaterOrEqual(w.t, count, w.least, "teller %d: acknowledged transfers are lost", w.id)
	assert.LessOrEqual(w.t, count, w.most, "teller %d: transfers out of nowhere", w.id)
	w.landed += count - w.least
	w.least, w.most = count, count
}

// total checks the sum of all accounts.
func (w *teller) total() error {
	have, err := w.look(accounts()...)
	if err != nil {
		return err
	}
	sum := 0
	for _, n := range have {
		sum += n
	}
	assert.Equal(w.t, stormAccounts*stormBalance, sum, "the total has changed")
	return nil
}

// look reads keys in one snapshot.
func (w *teller) look(keys ...string) (have []int, err error) {
	err = w.transact(func(r *record) (err error) {
		have, err = r.read(keys...)
		return err
	})
	return have, err
}

// record is a transaction, and what is written down of it.
type record struct {
	*teller
	tx   *strictkv.Tx
	call *history.Call
}

// transact runs f as a transaction.
func (w *teller) transact(f func(*record) error) error {
	call := w.history.Begin(fmt.Sprint(w.id))
	err := w.db.Tx(w.t.Context(), func(tx *strictkv.Tx) error {
		call.Restart()
		return f(&record{w, tx, call})
	})
	switch {
	case err == nil:
		call.Commit()
	case errors.Is(err, strictkv.ErrInDoubt):
		call.Doubt()
	default:
		call.Fail(false)
	}
	return err
}

// read reads numbers; those of absent keys are 0.
func (r *record) read(names ...string) ([]int, error) {
	keys := make([]strictkv.Key, len(names))
	for i, name := range names {
		keys[i] = r.c.Key([]byte(name))
	}
	numbers := make([]int, len(names))
	for i, x := range r.tx.ReadMulti(keys...) {
		if x.Err != nil && !errors.Is(x.Err, strictkv.ErrNotFound) {
			return nil, x.Err
		}
		r.call.Read(names[i], string(x.Value), x.Err == nil)
		if x.Err == nil {
			if _, err := fmt.Sscan(string(x.Value), &numbers[i]); err != nil {
				return nil, err
			}
		}
	}
	return numbers, nil
}

// write writes a number as a value that nobody else writes.
func (r *record) write(name string, n int) error {
	r.values++
	value := fmt.Sprintf("%d %d.%d ", n, r.id, r.values)
	value += strings.Repeat(".", stormSize-len(value))
	r.call.Write(name, value)
	return r.tx.Write(r.c, []byte(name), []byte(value))
}
