package recordlog

import (
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/seam"
)

var errFull = errors.New("no space left on device")

// disk is a Dir in memory, whose bytes a test can change, and that can be full.
type disk struct {
	mu      sync.Mutex
	files   map[string]*memory
	room    int64 // bytes that can be written; negative is no limit
	noSync  error
	noMore  error // of making a file
	removes error
	noCut   error
	syncs   int
	most    int64 // bytes that all files have had together
}

func newDisk() *disk { return &disk{files: map[string]*memory{}, room: -1} }

// clone is a copy of what is on the disk.
func (d *disk) clone() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := newDisk()
	for name, f := range d.files {
		c.files[name] = &memory{d: c, b: slices.Clone(f.b)}
	}
	return c
}

func (d *disk) Names() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.files)), nil
}

func (d *disk) Open(name string) (File, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[name]
	switch {
	case f == nil && d.noMore != nil:
		return nil, 0, d.noMore
	case f == nil:
		f = &memory{d: d}
		d.files[name] = f
	}
	return f, int64(len(f.b)), nil
}

func (d *disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.removes != nil {
		return d.removes
	}
	if d.room >= 0 && d.files[name] != nil {
		d.room += int64(len(d.files[name].b))
	}
	delete(d.files, name)
	return nil
}

func (d *disk) Close() error { return nil }

// memory is a file.
type memory struct {
	d *disk
	b []byte
}

func (f *memory) ReadAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if at >= int64(len(f.b)) {
		return 0, io.EOF
	}
	n := copy(b, f.b[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memory) WriteAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	n := len(b)
	var err error
	if f.d.room >= 0 && int64(n) > f.d.room {
		n, err = int(f.d.room), errFull
	}
	if f.d.room >= 0 {
		f.d.room -= int64(n)
	}
	f.b = append(f.b[:at], b[:n]...)
	sum := int64(0)
	for _, f := range f.d.files {
		sum += int64(len(f.b))
	}
	f.d.most = max(f.d.most, sum)
	return n, err
}

func (f *memory) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.noCut == nil {
		f.b = f.b[:size]
	}
	return f.d.noCut
}

func (f *memory) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.syncs++
	return f.d.noSync
}

func (f *memory) Close() error { return nil }

func open(t testing.TB, d Dir, o Options) *Log {
	t.Helper()
	if o.Runtime == nil {
		o.Runtime = seam.Real()
	}
	if o.Size == 0 {
		o.Size = SizeMin
	}
	l, err := Open(d, o)
	require.NoError(t, err)
	return l
}
