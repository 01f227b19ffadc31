// Package recordlog is a cache of records on disk: an append-only log in segments, and an index
// of it in memory. A read is one pread, whatever the number of records. A write is buffered, and
// done in the background: it never waits for the disk, and is dropped where the disk is too slow.
//
// Nothing that it says is a promise but this: what Get returns was put under that key, byte by
// byte. A record may be lost at any time, and an older one with the key may come back after a
// restart.
package recordlog

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

const (
	// SizeMin is the smallest log, in bytes.
	SizeMin = 1 << 20
	// SizeMax is the largest log, in bytes, so that places in segments fit into 32 bits.
	SizeMax = 1 << 40
	// segmentsPart is the part of the log that is a segment, as one in that many bytes;
	// segmentMax is its largest size in bytes, but for a record that is larger, and a log of
	// more than filesMax segments, which are all open.
	segmentsPart = 16
	segmentMax   = 32 << 20
	filesMax     = 1024
	// recordsPart is the part of the log that a record may take, as one in that many bytes;
	// recordMax is its largest size in bytes, below the range of a place.
	recordsPart = 8
	recordMax   = 1 << 30
	// waitingMax is how many bytes of records wait to be written at most, but for one that is
	// larger; as many again are being written.
	waitingMax = 32 << 20
	// quiet is how long nothing is written after a write has failed, and how far apart warnings
	// of damaged records are.
	quiet = time.Minute
)

// Options configures a Log.
type Options struct {
	Runtime seam.Runtime
	// Size is how many bytes the log takes on disk at most, but for a quarter of a segment
	// that is being given up: from SizeMin to SizeMax.
	Size int64
	// Sync says that what was written is synced.
	Sync bool
	// Logger is warned of damage and of failures. It may be nil.
	Logger *slog.Logger
}

// Stats are what a log holds, and what it has done since it was opened.
type Stats struct {
	// Records are those that can be read, and Bytes what all segments take.
	Records, Bytes int64
	// Hits and Misses count reads.
	Hits, Misses int64
	// Written counts records that were written, those carried over to another segment too;
	// Dropped those that were not: too large, or more than the disk could take, or after a
	// failure.
	Written, Dropped int64
	// Damaged counts records that could not be read back, Cut the bytes behind the last good
	// record of segments, and Discarded segments that were thrown away whole, when the log was
	// opened or when a write failed.
	Damaged, Cut, Discarded int64
}

// record waits to be written.
type record struct {
	hash         uint64
	key, version string
	data         []byte
}

// Log is an open log. It is safe for concurrent use.
type Log struct {
	dir  Dir
	o    Options
	hash func(key string) uint64
	pool *seam.Pool // one goroutine, which writes
	w    writer     // its

	mu      seam.Mutex // guards all below
	index   index
	waiting []*record
	newest  map[uint64]*record // of those that wait
	bytes   int64              // of them
	closed  bool
	told    time.Time // until then no more damage is logged
	stats   Stats
}

// Open opens the log in a directory, and begins anew what of it is damaged. It closes the
// directory in any case: if it fails, or with the log.
func Open(dir Dir, o Options) (*Log, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	seed := maphash.MakeSeed()
	l := &Log{
		dir: dir, o: o, newest: map[uint64]*record{},
		hash:  func(key string) uint64 { return maphash.String(seed, key) },
		index: index{places: map[uint64]place{}},
		pool:  seam.NewPool(o.Runtime, 1, 1),
	}
	l.w.l = l
	if err := l.load(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Get returns what was put under a key, and the size in bytes of the buffer that data is in.
func (l *Log) Get(key string) (version string, data []byte, size int, ok bool) {
	hash := l.hash(key)
	l.mu.Lock()
	p, s := l.index.use(hash)
	l.mu.Unlock()
	if s == nil {
		l.count(&l.stats.Misses, 1)
		return "", nil, 0, false
	}
	b := make([]byte, p.bytes())
	_, err := s.file.ReadAt(b, int64(p.offset))
	got, version, data, ok := decode(b)
	switch {
	case err != nil || !ok:
		l.damaged(hash, p, err)
	case got == key: // else it is another with the same hash
		l.count(&l.stats.Hits, 1)
		return version, data, len(b), true
	}
	l.count(&l.stats.Misses, 1)
	return "", nil, 0, false
}

// count adds n to one of the counters.
func (l *Log) count(counter *int64, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*counter += int64(n)
}

// damaged forgets a record that could not be read, unless it has moved meanwhile.
func (l *Log) damaged(hash uint64, at place, err error) {
	l.mu.Lock()
	now := l.index.places[hash]
	still := !l.closed && now.segment == at.segment && now.offset == at.offset
	tell := still && !l.o.Runtime.Now().Before(l.told)
	if still {
		l.index.remove(hash)
		l.stats.Damaged++
	}
	if tell {
		l.told = l.o.Runtime.Now().Add(quiet)
	}
	l.mu.Unlock()
	if tell {
		l.o.Logger.Warn("a record of the disk cache is damaged", "segment", segmentName(at.segment),
			"offset", at.offset, "err", err)
	}
}

// Put keeps data under a key with a version, instead of what was there, some time soon. Nobody
// may modify the data afterwards. It does not wait.
func (l *Log) Put(key, version string, data []byte) {
	size := sizeOf(key, version, data)
	fits := size <= min(l.o.Size/recordsPart, recordMax) && len(key) <= textMax &&
		len(version) <= textMax
	r := &record{l.hash(key), key, version, data}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch old := l.newest[r.hash]; {
	case l.closed:
	case !fits || l.bytes > 0 && l.bytes+size > waitingMax:
		l.stats.Dropped++
	case old != nil:
		l.bytes += size - sizeOf(old.key, old.version, old.data)
		*old = *r
	default:
		l.bytes += size
		l.waiting = append(l.waiting, r)
		l.newest[r.hash] = r
		if len(l.waiting) == 1 { // one task waits at most: there is room, at once
			_ = l.pool.Do(context.Background(), l.write)
		}
	}
}

// write writes what waits.
func (l *Log) write() {
	l.mu.Lock()
	batch := l.waiting
	l.waiting, l.bytes = nil, 0
	clear(l.newest)
	l.mu.Unlock()
	l.w.write(batch)
}

// Flush waits until nothing waits to be written.
func (l *Log) Flush() { _ = l.pool.Wait() }

// Stats returns the counters, and what the log holds.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Records, s.Bytes = int64(len(l.index.places)), l.index.size
	return s
}

// Close writes what waits, and gives the directory back. From then on nothing is found or kept.
// Closing twice is fine.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	l.Flush()
	if again {
		return nil
	}
	l.mu.Lock()
	segments := l.index.segments
	l.index = index{places: map[uint64]place{}}
	l.mu.Unlock()
	var errs []error
	for _, s := range segments {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(append(errs, l.dir.Close())...)
}
