package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// OpenFile opens a file of the disk: mapped into memory where the system can, else read block by
// block.
func OpenFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%w: %s is no file", ErrCorrupt, path), f.Close())
	}
	if mapped, ok := mapFile(f, info.Size()); ok {
		if err := f.Close(); err != nil {
			return nil, errors.Join(err, mapped.Close())
		}
		n, err := TailSize(mapped.data)
		if err == nil && n > info.Size() {
			err = fmt.Errorf("%w: a tail of %d bytes in %d", ErrCorrupt, n, info.Size())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), mapped.Close())
		}
		advise(mapped.data, info.Size()-n, info.Size(), readSoon) // not one page after another
		return sized(New(mapped.data[info.Size()-n:], mapped))(info.Size())
	}
	return OpenAt(f, info.Size(), f.Close)
}

// sized refuses a file that has not the size that it says.
func sized(f *File, err error) func(size int64) (*File, error) {
	return func(size int64) (*File, error) {
		if err == nil && f.Size != size {
			err = errors.Join(fmt.Errorf("%w: it has %d bytes, not %d", ErrCorrupt, size, f.Size),
				f.Close())
		}
		if err != nil {
			return nil, err
		}
		return f, nil
	}
}

// OpenAt opens a file of which each block is read when it is wanted, and kept by nobody.
func OpenAt(r io.ReaderAt, size int64, done func() error) (*File, error) {
	src := &readerSource{r: r, done: done, indexes: map[int64][]byte{}}
	end := make([]byte, min(size, FooterSize))
	tail, err := end, error(nil)
	if _, err = r.ReadAt(end, size-int64(len(end))); err == nil {
		var n int64
		if n, err = TailSize(end); err == nil && n > size {
			err = fmt.Errorf("%w: a tail of %d bytes in %d", ErrCorrupt, n, size)
		}
		if err == nil {
			tail = make([]byte, n)
			_, err = r.ReadAt(tail, size-n)
		}
	}
	if err != nil {
		return nil, errors.Join(err, done())
	}
	return sized(New(tail, src))(size)
}

// indexesMax is how many indexes of segments a readerSource keeps, some 8 KiB each.
const indexesMax = 4096

// readerSource reads blocks from a file. It keeps indexes.
type readerSource struct {
	r    io.ReaderAt
	done func() error

	mu      sync.Mutex // guards all below
	indexes map[int64][]byte
}

// Bytes implements Source.
func (s *readerSource) Bytes(
	_ context.Context, g *Segment, offset, n int64,
) ([]byte, bool, error) {
	index := offset == g.Length-g.index
	if index {
		s.mu.Lock()
		data := s.indexes[g.Offset]
		s.mu.Unlock()
		if int64(len(data)) == n && n > 0 {
			return data, false, nil
		}
	}
	data := make([]byte, n)
	if _, err := s.r.ReadAt(data, g.Offset+offset); err != nil {
		return nil, false, err
	}
	if index {
		s.mu.Lock()
		if len(s.indexes) >= indexesMax {
			clear(s.indexes)
		}
		s.indexes[g.Offset] = data
		s.mu.Unlock()
	}
	return data, false, nil
}

// Close implements Source.
func (s *readerSource) Close() error { return s.done() }

// mappedSource is a file in memory.
type mappedSource struct {
	data  []byte
	unmap func([]byte) error
}

// Bytes implements Source.
func (s *mappedSource) Bytes(
	_ context.Context, g *Segment, offset, n int64,
) ([]byte, bool, error) {
	at := g.Offset + offset
	return s.data[at : at+n : at+n], false, nil
}

// Close implements Source.
func (s *mappedSource) Close() error { return s.unmap(s.data) }
