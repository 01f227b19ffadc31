package recordlog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const records = 6

func key(i int) string { return fmt.Sprint("key-", i) }

// small is a disk with a log of some records, in as many segments.
func small(t *testing.T, segments int) *disk {
	d := newDisk()
	for s := range segments {
		l := open(t, d, Options{})
		for i := s * records / segments; i < (s+1)*records/segments; i++ {
			l.Put(key(i), "version", value(key(i), "", 30))
			l.Flush()
		}
		if s < segments-1 { // fill the segment, so that the next begins another
			l.Put("filler", "1", make([]byte, SizeMin/segmentsPart-230))
			l.Flush()
		}
		require.NoError(t, l.Close())
	}
	return d
}

// judge opens a log that was damaged: whatever it has is what was put there. It returns how many
// records it has, and what it tells of damage.
func judge(t *testing.T, d *disk) (have int, told bool) {
	t.Helper()
	l := open(t, d, Options{})
	for i := range records {
		version, data, _, ok := l.Get(key(i))
		if !ok {
			continue
		}
		have++
		require.Equal(t, "version", version)
		require.Equal(t, value(key(i), "", 30), data)
	}
	l.Put("new", "1", []byte("new")) // it goes on
	l.Flush()
	_, data, _, ok := l.Get("new")
	require.True(t, ok)
	require.Equal(t, "new", string(data))
	s := l.Stats()
	require.NoError(t, l.Close())
	return have, s.Cut+s.Discarded+s.Damaged > 0
}

func TestEveryTornTail(t *testing.T) {
	d := small(t, 1)
	name := segmentName(1)
	whole := len(d.files[name].b)
	size := (whole - segmentHead) / records
	for n := range whole {
		torn := d.clone()
		torn.files[name].b = torn.files[name].b[:n]
		have, told := judge(t, torn)
		require.Equal(t, max(n-segmentHead, 0)/size, have, "%d bytes", n)
		within := n >= segmentHead && (n-segmentHead)%size == 0 // cut between two records
		require.Equal(t, !within, told, "%d bytes", n)
		have, told = judge(t, torn)
		require.Equal(t, max(n-segmentHead, 0)/size, have, "again, %d bytes", n)
		require.False(t, told, "again, %d bytes", n)
	}
}

// Of each byte each bit is flipped, in the segment that was written last.
func TestEveryFlippedBit(t *testing.T) {
	d := small(t, 1)
	name := segmentName(1)
	size := (len(d.files[name].b) - segmentHead) / records
	for at := range d.files[name].b {
		for bit := range 8 {
			flipped := d.clone()
			flipped.files[name].b[at] ^= 1 << bit
			have, told := judge(t, flipped)
			want := 0
			if at >= segmentHead {
				i, within := (at-segmentHead)/size, (at-segmentHead)%size
				want = i // all that is behind a damaged head is lost
				if within >= recordHead {
					want = records - 1
				}
			}
			require.Equal(t, want, have, "byte %d, bit %d", at, bit)
			require.True(t, told, "byte %d, bit %d", at, bit)
		}
	}
}

// In a segment that is not the last, bodies are looked at when they are read.
func TestEveryFlippedByteOfAnOldSegment(t *testing.T) {
	d := small(t, 2)
	name := segmentName(1)
	require.Greater(t, len(d.files), 1)
	size := int(sizeOf(key(0), "version", make([]byte, 30)))
	for at := range segmentHead + records/2*size {
		flipped := d.clone()
		flipped.files[name].b[at] ^= 0xff
		have, told := judge(t, flipped)
		want := records / 2
		if at >= segmentHead {
			if want += (at - segmentHead) / size; (at-segmentHead)%size >= recordHead {
				want = records - 1
			}
		}
		inKey := at >= segmentHead && (at-segmentHead)%size >= recordHead &&
			(at-segmentHead)%size < recordHead+len(key(0)) // nobody asks for that key
		require.Equal(t, want, have, "byte %d", at)
		require.Equal(t, !inKey, told, "byte %d", at)
	}
}

// Damage that comes while the log is open is a miss.
func TestDamagedUnderneath(t *testing.T) {
	d := small(t, 1)
	var log bytes.Buffer
	l := open(t, d, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for at := range d.files[segmentName(1)].b {
		d.files[segmentName(1)].b[at] ^= 1
	}
	for i := range records {
		_, _, _, ok := l.Get(key(i))
		assert.False(t, ok)
	}
	assert.EqualValues(t, records, l.Stats().Damaged)
	assert.Zero(t, l.Stats().Records)
	assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"), "one a minute: %s", &log)
	require.NoError(t, l.Close())
}

// Files that are none of the log's are left alone.
func TestForeignFiles(t *testing.T) {
	d := newDisk()
	for _, name := range []string{"notes.txt", "1.log", "zzzzzzzz.log", "ffffffff.log"} {
		d.files[name] = &memory{d: d, b: []byte("mine")}
	}
	d.files[segmentName(5)] = &memory{d: d, b: []byte("not a segment")}
	l := open(t, d, Options{})
	assert.EqualValues(t, 1, l.Stats().Discarded)
	l.Put("a", "1", nil)
	require.NoError(t, l.Close())
	assert.Contains(t, d.files, segmentName(6))
	assert.NotContains(t, d.files, segmentName(5))
	assert.Equal(t, "mine", string(d.files["notes.txt"].b))
	assert.Len(t, d.files, 5)
}

// A disk that is full is let alone for a while; what was read before can be read.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := small(t, 2)
		l := open(t, d, Options{})
		d.room = 100
		l.Put("a", "1", make([]byte, 1000))
		l.Flush()
		_, _, _, ok := l.Get("a")
		assert.False(t, ok)
		d.room = 0
		l.Put("b", "1", nil)
		l.Flush()
		assert.EqualValues(t, 2, l.Stats().Dropped)
		_, _, _, ok = l.Get(key(0))
		assert.True(t, ok, "of a segment that was not written to")
		d.room = -1
		l.Put("b", "1", nil)
		l.Flush()
		_, _, _, ok = l.Get("b")
		assert.False(t, ok, "too soon")
		require.NoError(t, l.o.Runtime.Sleep(t.Context(), quiet))
		l.Put("b", "1", nil)
		l.Flush()
		_, _, _, ok = l.Get("b")
		assert.True(t, ok)
		require.NoError(t, l.Close())
		l = open(t, d, Options{})
		_, _, _, ok = l.Get("b")
		assert.True(t, ok)
		assert.Zero(t, l.Stats().Cut+l.Stats().Discarded)
		require.NoError(t, l.Close())
	})
}

// After a failed sync nothing is known of what the segment holds.
func TestFailedSync(t *testing.T) {
	d := newDisk()
	l := open(t, d, Options{Sync: true})
	l.Put("a", "1", nil)
	l.Flush()
	assert.Equal(t, 1, d.syncs)
	d.noSync = errors.New("input/output error")
	l.Put("b", "1", nil)
	l.Flush()
	for _, key := range []string{"a", "b"} {
		_, _, _, ok := l.Get(key)
		assert.False(t, ok)
	}
	assert.Empty(t, d.files)
	require.NoError(t, l.Close())
}

// No more files can be made: what is there stays.
func TestNoMoreFiles(t *testing.T) {
	d := small(t, 1)
	l := open(t, d, Options{})
	d.noMore = errors.New("too many open files")
	for i := range 3 {
		l.Put(fmt.Sprint(i), "1", make([]byte, SizeMin/segmentsPart-1000))
		l.Flush()
	}
	_, _, _, ok := l.Get(key(0))
	assert.True(t, ok)
	assert.Zero(t, l.Stats().Discarded)
	require.NoError(t, l.Close())
}

// A file that can't be removed would let the log exceed its size: it stops growing.
func TestNoRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		l := open(t, d, Options{})
		d.removes = errors.New("operation not permitted")
		for i := range 600 {
			l.Put(fmt.Sprint(i), "1", make([]byte, 5000))
			l.Flush()
			require.NoError(t, l.o.Runtime.Sleep(t.Context(), quiet))
		}
		assert.LessOrEqual(t, d.most, int64(SizeMin))
		assert.Positive(t, l.Stats().Dropped)
		require.NoError(t, l.Close())
	})
}

// The end of the last segment is looked at when the log is opened, and cut off.
func TestCut(t *testing.T) {
	d := small(t, 1)
	f := d.files[segmentName(1)]
	f.b[len(f.b)-1]++
	size := sizeOf(key(0), "version", make([]byte, 30))
	l := open(t, d, Options{})
	assert.Equal(t, size, l.Stats().Cut)
	assert.Len(t, f.b, segmentHead+(records-1)*int(size))
	require.NoError(t, l.Close())

	f.b = f.b[:len(f.b)-1]
	d.noCut = errors.New("read-only file system")
	l = open(t, d, Options{})
	assert.EqualValues(t, 1, l.Stats().Discarded, "it can't be written behind what is damaged")
	assert.Zero(t, l.Stats().Records)
	require.NoError(t, l.Close())
}

// Where the disk does not keep up, records are dropped.
func TestSlowDisk(t *testing.T) {
	d := newDisk()
	l := open(t, d, Options{Size: 1 << 30})
	d.mu.Lock() // what is written waits
	const size, n = 1 << 20, 3 * waitingMax >> 20
	data := make([]byte, size)
	for i := range n {
		l.Put(key(i), "1", data)
	}
	dropped := l.Stats().Dropped
	d.mu.Unlock()
	l.Flush()
	assert.GreaterOrEqual(t, dropped, int64(n-2*waitingMax/size))
	assert.Less(t, dropped, int64(n-waitingMax/size/2))
	assert.Equal(t, n-dropped, l.Stats().Records)
	require.NoError(t, l.Close())
}
