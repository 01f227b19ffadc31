package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// names are keys and collections that could be taken for each other.
var names = []string{
	"a", "a\x00", "a\x00\x00", "a/", "a/b", "b", "\x00", "\xff", "\xff\xff", "r", "%2F", "ä", "..",
	strings.Repeat("k", 500),
}

func collections(db *strictkv.DB) []*strictkv.Collection {
	a := db.Collection([]byte("a"))
	return []*strictkv.Collection{
		db.Collection([]byte("b")), a, a.Collection([]byte("b")),
		db.Collection([]byte("a\x00\x01b")),
	}
}

// world is a database with a writer of its own, and a replica that comes and goes.
type world struct {
	*testing.T
	rand          *rand.Rand
	writer, local *strictkv.DB
	disk          *disk
	o             Options
	r             *Replica
	// listener is who keeps the Position of what it has been told, and a copy made of that.
	at     Position
	copied map[string]string
	n      int
	// read is what Read has found of a key last: the number of the write, or that it was gone.
	read map[string]lastRead
}

type lastRead struct {
	n    int
	gone bool
}

func newWorld(t *testing.T, seed uint64, m Mode) *world {
	b := memory.New()
	w := &world{
		T: t, copied: map[string]string{}, read: map[string]lastRead{},
		rand: rand.New(rand.NewPCG(seed, 7)), disk: newDisk(),
	}
	open := func() *strictkv.DB {
		db, err := strictkv.Open(t.Context(), "db", b, strictkv.WithInlineMax(100))
		require.NoError(t, err)
		return db
	}
	w.writer, w.local = open(), open()
	w.o = Options{
		Collections: collections(w.local), Mode: m, LogMax: 1 + w.rand.IntN(100),
		Every: time.Second, batchMax: 1 << w.rand.IntN(20),
		RecordCacheSize: []int64{0, 0, 2000, -1}[w.rand.IntN(4)],
	}
	w.start()
	return w
}

func (w *world) start() {
	var err error
	w.rand.Shuffle(len(w.o.Collections), func(i, j int) {
		w.o.Collections[i], w.o.Collections[j] = w.o.Collections[j], w.o.Collections[i]
	})
	w.r, err = openOn(w.Context(), w.local, w.disk, w.o)
	require.NoError(w, err)
}

// writes commits a transaction of some keys, and of one that all collections have, with the same
// value.
func (w *world) writes(db *strictkv.DB) {
	cs := collections(db)
	w.n++
	same := fmt.Append(nil, w.n)
	require.NoError(w, db.Tx(w.Context(), func(tx *strictkv.Tx) error {
		for _, c := range cs {
			if err := tx.Write(c, []byte("same"), same); err != nil {
				return err
			}
		}
		for range w.rand.IntN(4) {
			c, key := cs[w.rand.IntN(len(cs))], []byte(names[w.rand.IntN(len(names))])
			value := []byte(strings.Repeat(fmt.Sprint(w.n, " "), 1+w.rand.IntN(40)))
			var opts []strictkv.WriteOption
			switch w.rand.IntN(6) {
			case 0:
				if err := tx.Delete(c, key); err != nil {
					return err
				}
				continue
			case 1:
				due := time.Now().Add(time.Duration(10+w.rand.IntN(30)) * time.Second)
				opts = append(opts, strictkv.ExpireAt(due))
			case 2:
				value = []byte(strings.Repeat(fmt.Sprint(w.n, " "), largeMin))
			case 3:
				value = nil
			}
			if err := tx.Write(c, key, value, opts...); err != nil {
				return err
			}
		}
		return nil
	}))
}

// told brings the listener's copy up to date.
func (w *world) told() {
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	defer time.AfterFunc(time.Millisecond, cancel).Stop()
	for c, err := range w.r.Changes(ctx, w.at) {
		switch {
		case errors.Is(err, ErrTrimmed):
			w.scanned()
			return
		case err != nil:
			require.ErrorIs(w, err, context.Canceled)
			return
		}
		name := fmt.Sprintf("%q %s", c.Collection.Path(), c.Key)
		if c.Deleted {
			delete(w.copied, name)
		} else {
			w.copied[name] = string(c.Value)
		}
		w.at = c.Position
		if w.rand.IntN(20) == 0 {
			return // the rest the next time
		}
	}
}

// scanned begins the listener's copy anew.
func (w *world) scanned() {
	w.copied = map[string]string{}
	err := w.r.View(func(v *View) error {
		w.at = v.Position()
		w.copied = shownBy(w.T, v, w.local)
		return nil
	})
	if err != nil {
		require.ErrorIs(w, err, ErrNotReady)
		w.at = Position{}
	}
}

// shownBy is all that a view shows.
func shownBy(t *testing.T, v *View, db *strictkv.DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, c := range collections(db) {
		before := ""
		for i, err := range v.Scan(c, strictkv.Range{}) {
			require.NoError(t, err)
			assert.Less(t, before, string(i.Key))
			before = string(i.Key)
			all[fmt.Sprintf("%q %s", c.Path(), i.Key)] = string(i.Value)
			one, err := v.Read(c, i.Key)
			require.NoError(t, err)
			assert.Equal(t, i.Value, one)
		}
	}
	return all
}

// truth is what the database has.
func truth(t *testing.T, db *strictkv.DB) map[string]string {
	t.Helper()
	all, err := strictkv.DoView(t.Context(), db, func(tx *strictkv.Tx) (map[string]string, error) {
		all := map[string]string{}
		for _, c := range collections(db) {
			for i, err := range tx.Scan(c, strictkv.Range{}) {
				if err != nil {
					return nil, err
				}
				all[fmt.Sprintf("%q %s", c.Path(), i.Key)] = string(i.Value)
			}
		}
		return all, nil
	})
	require.NoError(t, err)
	return all
}

// look judges what is shown at any time: the state of an instant has the same number in all
// collections, and that never goes back.
func (w *world) look(before int) (now int) {
	err := w.r.View(func(v *View) error {
		all := shownBy(w.T, v, w.local)
		numbers := map[string]bool{}
		for _, c := range collections(w.local) {
			n := all[fmt.Sprintf("%q same", c.Path())]
			numbers[n] = true
			_, _ = fmt.Sscan(n, &now)
		}
		if w.o.Mode == Instant {
			require.Len(w, numbers, 1, "one instant: %v", numbers)
			require.GreaterOrEqual(w, now, before)
		}
		return nil
	})
	if err != nil {
		require.ErrorIs(w, err, ErrNotReady)
		return before
	}
	return now
}

// crash ends the replica as the death of its process would, perhaps amid a batch.
func (w *world) crash() {
	w.disk.mu.Lock()
	w.disk.left = w.rand.IntN(4)
	w.disk.mu.Unlock()
	w.writes(w.writer)
	time.Sleep(time.Duration(w.rand.IntN(2000)) * time.Millisecond)
	require.NoError(w, w.r.Close())
	w.disk.crash()
	w.start()
}

func TestReplicaEndsWithWhatIsThere(t *testing.T) {
	for _, m := range []Mode{PerKey, Instant} {
		for seed := range uint64(25) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, seed, m)
				w.run()
			})
		}
	}
}

func (w *world) run() {
	seen := 0
	for range 60 {
		switch w.rand.IntN(10) {
		case 0:
			w.crash()
		case 1:
			require.NoError(w, w.r.Close())
			w.start()
		case 2:
			time.Sleep(time.Duration(w.rand.IntN(20)) * time.Second)
		case 3:
			_, err := w.writer.Sweep(w.Context(), strictkv.SweepOptions{})
			require.NoError(w, err)
		case 4:
			require.NoError(w, w.r.Wait(w.Context()))
			w.equal()
		case 5:
			w.told()
		case 6:
			w.writes(w.local)
		default:
			w.writes(w.writer)
		}
		seen = w.look(seen)
		w.reads()
	}
	time.Sleep(time.Minute) // all that expires is due
	require.NoError(w, w.r.Wait(w.Context()))
	w.equal()
	for at := (Position{1}); at != w.at; {
		at = w.at
		w.told()
	}
	assert.Equal(w, truth(w.T, w.writer), w.copied)
	require.NoError(w, w.r.Close())
	require.NoError(w, w.local.Close(w.Context()))
	require.NoError(w, w.writer.Close(w.Context()))
}

// equal requires that the copy is what the database has, and nothing else.
func (w *world) equal() {
	entries, large, larges := 0, 0, 0
	for _, x := range w.disk.now() {
		var r record
		switch x.key[0] {
		case keyLog:
			entries++
		case keyLarge:
			large++
		case keyRecord:
			require.NoError(w, r.decode(x.value))
			if r.large {
				larges++
			}
		}
	}
	assert.Equal(w, larges, large, "large values, and records that refer to them")
	assert.LessOrEqual(w, entries, w.o.LogMax+w.o.LogMax/8+64)
	require.NoError(w, w.r.View(func(v *View) error {
		require.Equal(w, truth(w.T, w.writer), shownBy(w.T, v, w.local))
		return nil
	}))
	require.Equal(w, truth(w.T, w.writer), w.reads())
}

// reads is all that Read finds. No key goes back.
func (w *world) reads() map[string]string {
	all := map[string]string{}
	for _, c := range collections(w.local) {
		for _, key := range append(names, "same") {
			name := fmt.Sprintf("%q %s", c.Path(), key)
			v, err := w.r.Read(c, []byte(key))
			if errors.Is(err, ErrNotReady) {
				return nil
			}
			last := w.read[name]
			if errors.Is(err, strictkv.ErrNotFound) {
				w.read[name] = lastRead{last.n, true}
				continue
			}
			require.NoError(w, err)
			all[name] = string(v)
			if n := 0; len(v) > 0 {
				_, _ = fmt.Sscan(string(v), &n)
				require.True(w, n > last.n || n == last.n && !last.gone, "%s: %d, after %v", name, n, last)
				w.read[name] = lastRead{n: n}
			}
		}
	}
	return all
}
