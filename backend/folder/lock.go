package folder

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"time"
)

const (
	shards = 256

	pollMin = 50 * time.Microsecond
	pollMax = 5 * time.Millisecond
)

// held is the lock of one folder, of which several may share a lock. It excludes all
// other writers to the folder: in this Backend by a gate, and in other processes (and
// other Backends of this one) by the operating system's lock on a file, which ends
// with its process.
type held struct {
	gate chan struct{}
	file *os.File
}

// lock waits for the lock of a folder. A file is opened for each call, since a lock
// belongs to the open file. The gate lets only one goroutine at a time poll for it.
func (b *Backend) lock(ctx context.Context, dir string) (*held, error) {
	i := crc32.Checksum([]byte(dir), castagnoli) % shards
	h := &held{gate: b.gates[i]}
	select {
	case h.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := h.acquire(ctx, b.disk, fmt.Sprintf("%s/%02x", lockDir, i)); err != nil {
		<-h.gate
		return nil, err
	}
	return h, nil
}

func (h *held) acquire(ctx context.Context, d disk, path string) (err error) {
	if h.file, err = d.open(path, os.O_RDWR|os.O_CREATE, fileMode); err != nil {
		return err
	}
	for wait := pollMin; ; wait = min(2*wait, pollMax) {
		err := tryLock(h.file)
		if errors.Is(err, errLocked) {
			err = pause(ctx, wait/2+rand.N(wait))
			if err == nil {
				continue
			}
		}
		if err != nil {
			_ = h.file.Close()
		}
		return err
	}
}

// release gives the lock back, explicitly: a child process that is being started may
// hold a copy of the file for a moment after the Close.
func (h *held) release() {
	unlock(h.file)
	_ = h.file.Close()
	<-h.gate
}

// errLocked says that somebody else has the lock.
var errLocked = errors.New("locked")

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
