package table

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// written is a file in memory of entries.
func written(t testing.TB, m Meta, entries ...Entry) []byte {
	t.Helper()
	var file []byte
	w := NewWriter(func(segment []byte, _ Sum) error {
		file = append(file, segment...)
		return nil
	})
	for _, e := range entries {
		require.NoError(t, w.Add(e))
	}
	tail, _, err := w.Finish(m)
	require.NoError(t, err)
	return append(file, tail...)
}

// opened opens a file in both ways.
func opened(t testing.TB, file []byte) (mapped, read *File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	mapped, err := OpenFile(path)
	require.NoError(t, err)
	read, err = OpenAt(bytes.NewReader(file), int64(len(file)), func() error { return nil })
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, mapped.Close())
		require.NoError(t, read.Close())
	})
	return mapped, read
}

// random are sorted entries of all kinds.
func random(r *rand.Rand, n int) []Entry {
	all := map[string]Entry{}
	for len(all) < n {
		key := make([]byte, 1+r.IntN(12))
		for i := range key {
			key[i] = "\x00\x01ab\xfe\xff"[r.IntN(6)]
		}
		if r.IntN(20) == 0 {
			key = append(key, bytes.Repeat([]byte{0xff}, r.IntN(400))...)
		}
		e := Entry{Key: key, Value: make([]byte, r.IntN(50))}
		switch r.IntN(10) {
		case 0:
			e.Value, e.Deleted = nil, true
		case 1:
			e.Expires = 1 + r.Int64N(1<<60)
		case 2:
			e.Value = make([]byte, r.IntN(6000))
		}
		for i := range e.Value {
			e.Value[i] = byte(r.Uint32())
		}
		all[string(key)] = e
	}
	var list []Entry
	for _, e := range all {
		list = append(list, e)
	}
	sort.Slice(list, func(i, j int) bool { return bytes.Compare(list[i].Key, list[j].Key) < 0 })
	return list
}

func same(t *testing.T, want, got Entry, msg string) {
	t.Helper()
	if !bytes.Equal(want.Key, got.Key) || !bytes.Equal(want.Value, got.Value) ||
		want.Expires != got.Expires || want.Deleted != got.Deleted {
		require.Failf(t, "entries differ", "%s: want %.60q, got %.60q", msg, want.Key, got.Key)
	}
}

// TestModel compares files of all sizes with the sorted entries that they are made of.
func TestModel(t *testing.T) {
	for i, n := range []int{0, 1, 2, 3, 10, 100, 1000, 4000} {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		entries := random(r, n)
		mapped, read := opened(t, written(t, Meta{Length: -1}, entries...))
		for _, f := range []*File{mapped, read} {
			require.NoError(t, f.Verify(t.Context()))
			assert.Equal(t, int64(n), f.Entries)
			walk(t, f, entries)
			for range 100 {
				seek(t, f, entries, probe(r, entries))
			}
		}
	}
}

// probe is a key that is there, or next to one, or any.
func probe(r *rand.Rand, entries []Entry) []byte {
	if len(entries) == 0 || r.IntN(3) == 0 {
		return random(r, 1)[0].Key
	}
	key := bytes.Clone(entries[r.IntN(len(entries))].Key)
	switch r.IntN(4) {
	case 0:
		return append(key, 0)
	case 1:
		return key[:len(key)-1]
	}
	return key
}

func walk(t *testing.T, f *File, entries []Entry) {
	t.Helper()
	c := f.Cursor(t.Context())
	c.Seek(nil)
	for _, want := range entries {
		got := c.Entry()
		require.NotNil(t, got)
		same(t, want, *got, "forward")
		c.Next()
	}
	require.Nil(t, c.Entry())
	c.SeekBefore(nil)
	for _, want := range slices.Backward(entries) {
		got := c.Entry()
		require.NotNil(t, got)
		same(t, want, *got, "backward")
		c.Prev()
	}
	require.Nil(t, c.Entry())
	require.NoError(t, c.Err())
}

func seek(t *testing.T, f *File, entries []Entry, key []byte) {
	t.Helper()
	i, there := slices.BinarySearchFunc(entries, key, func(e Entry, key []byte) int {
		return bytes.Compare(e.Key, key)
	})
	got, found, err := f.Find(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, there, found)
	if there {
		got.Key = key
		same(t, entries[i], got, "find")
	}
	c := f.Cursor(t.Context())
	if key == nil {
		key = []byte{}
	}
	c.Seek(key)
	at := c.Entry()
	require.Equal(t, i < len(entries), at != nil)
	if at != nil {
		same(t, entries[i], *at, "seek")
	}
	c.SeekBefore(key)
	at = c.Entry()
	require.Equal(t, i > 0, at != nil)
	if at != nil {
		same(t, entries[i-1], *at, "seek before")
	}
}

// TestDamage flips each byte of a file, and cuts it everywhere.
func TestDamage(t *testing.T) {
	entries := random(rand.New(rand.NewPCG(1, 1)), 25)
	file := written(t, Meta{Length: -1, Instant: time.Unix(1, 0)}, entries...)
	try := func(file []byte) error {
		f, err := OpenAt(bytes.NewReader(file), int64(len(file)), func() error { return nil })
		if err != nil {
			return err
		}
		return f.Verify(t.Context())
	}
	require.NoError(t, try(file))
	for i := range file {
		for _, bit := range []byte{1, 0x80, 0xff} {
			file[i] ^= bit
			err := try(file)
			if err == nil {
				require.Failf(t, "a flip was not seen", "byte %d of %d", i, len(file))
			}
			file[i] ^= bit
		}
	}
	for i := range file {
		if try(file[:i]) == nil || try(file[i+1:]) == nil {
			require.Failf(t, "a cut was not seen", "at %d of %d", i, len(file))
		}
	}
	require.Error(t, try(append(bytes.Clone(file), 0)))
}

// TestClosedTwice: the second Close does not unmap what has been mapped at the same place since.
func TestClosedTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, written(t, Meta{}, Entry{Key: []byte("a")}), 0o600))
	f, err := OpenFile(path)
	require.NoError(t, err)
	closes := 0
	f.src = closing{f.src, &closes}
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	require.Equal(t, 1, closes)
}

type closing struct {
	Source
	n *int
}

func (c closing) Close() error {
	*c.n++
	return c.Source.Close()
}

// TestSizesThatLie: a footer with a right checksum that tells of more blocks than memory holds.
func TestSizesThatLie(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	tail := (&blockWriter{}).appendTo(nil)
	f := footer{top: math.MaxInt64 - 1<<10, topLength: int64(len(tail)), blocks: math.MaxInt64 / 16}
	require.NoError(t, os.WriteFile(path, f.append(tail), 0o600))
	_, err := OpenFile(path)
	require.ErrorIs(t, err, ErrCorrupt)
}

// TestReadsSeeDamage: no read returns bytes that were flipped, without a Verify.
func TestReadsSeeDamage(t *testing.T) {
	entries := random(rand.New(rand.NewPCG(2, 1)), 12)
	file := written(t, Meta{Length: -1}, entries...)
	for i := range file {
		file[i] ^= 4
		f, err := OpenAt(bytes.NewReader(file), int64(len(file)), func() error { return nil })
		for _, want := range entries {
			if err != nil {
				break
			}
			var got Entry
			var found bool
			if got, found, err = f.Find(t.Context(), want.Key); err == nil {
				require.True(t, found)
				got.Key = want.Key
				same(t, want, got, fmt.Sprint("byte ", i))
			}
		}
		require.Error(t, err, i)
		file[i] ^= 4
	}
}

func TestRefused(t *testing.T) {
	w := NewWriter(func([]byte, Sum) error { return nil })
	for _, e := range []Entry{
		{}, {Key: make([]byte, KeyMax+1)}, {Key: []byte("a"), Value: make([]byte, ValueMax+1)},
		{Key: []byte("a"), Expires: -1}, {Key: []byte("a"), Deleted: true, Expires: 1},
	} {
		require.ErrorIs(t, w.Add(e), ErrEntry)
	}
	require.NoError(t, w.Add(Entry{Key: []byte("b")}))
	require.ErrorIs(t, w.Add(Entry{Key: []byte("b")}), ErrOrder)
	require.ErrorIs(t, w.Add(Entry{Key: []byte("a")}), ErrOrder)
}

// TestShared: two files that differ in some keys have most segments in common.
func TestShared(t *testing.T) {
	sums := func(skip int) (map[Sum]bool, int) {
		all := map[Sum]bool{}
		w := NewWriter(func(_ []byte, s Sum) error { all[s] = true; return nil })
		value := make([]byte, 1000)
		for i := range 40_000 {
			if i == skip {
				continue
			}
			_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(value)
			require.NoError(t, w.Add(Entry{Key: fmt.Appendf(nil, "key %08d", i), Value: value}))
		}
		_, _, err := w.Finish(Meta{})
		require.NoError(t, err)
		return all, len(all)
	}
	a, n := sums(-1)
	b, _ := sums(13)
	require.Greater(t, n, 20)
	shared := 0
	for s := range a {
		if b[s] {
			shared++
		}
	}
	assert.GreaterOrEqual(t, shared, n-3)
}

// counting counts the bytes that are read.
type counting struct {
	*bytes.Reader
	n int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.n += len(p)
	return c.Reader.ReadAt(p, off)
}

// TestBytesRead: a Find of an entry of 1 KiB reads little more than it returns, once the indexes
// are known.
func TestBytesRead(t *testing.T) {
	var entries []Entry
	for i := range 5000 {
		key := fmt.Appendf(nil, "key %012d", i*7)
		entries = append(entries, Entry{Key: key, Value: make([]byte, 1008)})
	}
	file := written(t, Meta{}, entries...)
	in := &counting{Reader: bytes.NewReader(file)}
	f, err := OpenAt(in, int64(len(file)), func() error { return nil })
	require.NoError(t, err)
	find := func(n int) {
		for i := range n {
			_, found, err := f.Find(t.Context(), entries[i*997%len(entries)].Key)
			require.NoError(t, err)
			require.True(t, found)
		}
	}
	find(1000)
	in.n = 0
	find(1000)
	ratio := float64(in.n) / (1000 * 1024)
	t.Logf("%.2f bytes read for each that was asked for, %.3f written", ratio,
		float64(len(file))/(5000*1024))
	assert.Less(t, ratio, 5.0)
	assert.Less(t, float64(len(file)), 1.1*5000*1024)
}

// TestNoMemory: a Find in a file that is mapped allocates nothing.
func TestNoMemory(t *testing.T) {
	entries := random(rand.New(rand.NewPCG(3, 1)), 1000)
	f, _ := opened(t, written(t, Meta{}, entries...))
	ctx, i := context.Background(), 0
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		_, _, _ = f.Find(ctx, entries[i%len(entries)].Key)
		i++
	}))
}

func FuzzFile(f *testing.F) {
	f.Add(written(f, Meta{Length: -1}, random(rand.New(rand.NewPCG(4, 1)), 10)...), []byte("a"))
	f.Fuzz(func(t *testing.T, file, key []byte) {
		r, err := OpenAt(bytes.NewReader(file), int64(len(file)), func() error { return nil })
		if err != nil {
			return
		}
		_, _, _ = r.Find(t.Context(), key)
		_ = r.Verify(t.Context())
		c := r.Cursor(t.Context())
		c.SeekBefore(nil)
		for range 10 {
			c.Prev()
		}
	})
}

// FuzzBlock reads blocks whose checksum is right, and nothing else need be.
func FuzzBlock(f *testing.F) {
	var w blockWriter
	for _, e := range random(rand.New(rand.NewPCG(5, 1)), 10) {
		w.add(e)
	}
	f.Add(w.appendTo(nil), []byte("a"))
	f.Fuzz(func(_ *testing.T, raw, key []byte) {
		b, err := parseBlock(raw)
		if err != nil {
			return
		}
		i, _ := b.search(key)
		if i < b.n {
			_, _ = b.entry(i)
		}
		s := Segment{Length: 1 << 20, index: 100}
		for i := range min(b.n, 100) {
			if e, err := b.entry(i); err == nil {
				_, _ = parseSegment(e.Value)
			}
			_, _ = blockPlace(&b, &s, i)
		}
	})
}
