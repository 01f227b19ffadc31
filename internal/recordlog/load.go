package recordlog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// suffix ends the names of segments; before it is a number in hexadecimal. The log leaves other
// files of the directory alone.
const (
	suffix     = ".log"
	nameDigits = 8
	idMax      = 1 << 31 // beyond that it is none of the log's
)

func segmentName(id uint32) string { return fmt.Sprintf("%0*x%s", nameDigits, id, suffix) }

func parseName(name string) (id uint32, ok bool) {
	n, err := strconv.ParseUint(strings.TrimSuffix(name, suffix), 16, 32)
	return uint32(n), err == nil && n < idMax && segmentName(uint32(n)) == name
}

// load makes the segments known that are in the directory. Of the last, which was being written
// when the log was left, it reads everything.
func (l *Log) load() error {
	names, err := l.dir.Names()
	if err != nil {
		return err
	}
	var ids []uint32
	for _, name := range names {
		if id, ok := parseName(name); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for i, id := range ids {
		l.w.last = id
		if err := l.loadSegment(id, i == len(ids)-1); err != nil {
			return fmt.Errorf("segment %q: %w", segmentName(id), err)
		}
	}
	for l.index.size > l.o.Size { // the log was larger
		if err := l.w.discard(l.index.segments[0]); err != nil {
			return err
		}
	}
	l.w.active = l.index.segment(l.w.last)
	return nil
}

func (l *Log) loadSegment(id uint32, last bool) error {
	f, size, err := l.dir.Open(segmentName(id))
	if err != nil {
		return err
	}
	s := &segment{id: id, file: f}
	l.index.segments = append(l.index.segments, s)
	end, damaged := walk(f, size, last, func(key []byte, offset, size int64) {
		l.index.put(s, l.hash(string(key)), offset, size)
	})
	l.index.grow(s, max(end, segmentHead))
	l.stats.Damaged += damaged
	if end < size {
		l.o.Logger.Warn("the disk cache is damaged: cut at the last good record",
			"segment", segmentName(id), "bytes", size-end)
		l.stats.Cut += size - end
		if f.Truncate(end) != nil {
			end = 0
		}
	}
	switch {
	case end > segmentHead:
		return nil
	case end == 0:
		l.stats.Discarded++
	}
	return l.w.discard(s)
}
