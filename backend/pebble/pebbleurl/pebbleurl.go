// Package pebbleurl lets package bucketurl open stores of package pebble:
//
//	pebble:///directory                see pebble.Open; also pebble://./directory
//	pebble:///directory?nosync=true    see pebble.NoSync
//	pebble:///directory?buffer_mib=32  see pebble.WriteBuffer; in MiB, 1 to 1024
//
// Whoever needs pebble alone does without it: it depends on the SDKs of all the stores.
package pebbleurl

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/pebble"
)

// Scheme is what bucketurl.Open needs to open stores of package pebble. All that open one
// directory in this process, with the same parameters, share what is open, until the last has
// closed it.
func Scheme() bucketurl.Scheme {
	return bucketurl.Scheme{
		Name: "pebble", Parameters: []string{"nosync", "buffer_mib"}, Open: open,
	}
}

// place is a directory, and how it is open.
type place struct {
	dir    string
	noSync bool
	buffer int // in MiB; 0 is the default
}

// bufferMax is how large a write buffer may be, in MiB.
const bufferMax = 1 << 10

// shared is what is open, and by how many.
type shared struct {
	*pebble.Backend
	users int
}

var (
	mu    sync.Mutex // guards all below
	inUse = map[place]*shared{}
)

func open(
	_ context.Context, dir string, p bucketurl.Parameters,
) (backend.Backend, func() error, error) {
	noSync, err := p.Flag("nosync", false)
	if err != nil {
		return nil, nil, err
	}
	buffer, err := p.Int("buffer_mib", 1, bufferMax, 0)
	if err != nil {
		return nil, nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	at := place{dir, noSync, buffer}
	s := inUse[at]
	if s == nil {
		options := []pebble.Option{pebble.WriteBuffer(int64(buffer) << 20)}
		if noSync {
			options = append(options, pebble.NoSync())
		}
		b, err := pebble.Open(dir, options...)
		if err != nil {
			return nil, nil, err
		}
		s = &shared{Backend: b}
		inUse[at] = s
	}
	s.users++
	return s.Backend, sync.OnceValue(func() error { return leave(at) }), nil
}

// leave closes what nobody uses any more.
func leave(at place) error {
	mu.Lock()
	defer mu.Unlock()
	s := inUse[at]
	if s.users--; s.users > 0 {
		return nil
	}
	delete(inUse, at)
	return s.Close()
}
