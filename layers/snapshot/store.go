package snapshot

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// Store keeps snapshots: Dir and Bucket make one. Any number of goroutines and processes may use
// the same place.
type Store interface {
	// begin announces that files are about to be saved, until end: no GC runs meanwhile.
	begin(ctx context.Context) (session, error)
	// open opens a file.
	open(ctx context.Context, kind, id string) (*table.File, error)
	// list lists what is stored of a kind.
	list(ctx context.Context, kind string) ([]stored, error)
	// remove removes what was listed; it may be gone already.
	remove(ctx context.Context, kind string, s stored) error
	// exclude announces a GC, until done, and tells the time by the store's clock.
	exclude(ctx context.Context) (now time.Time, done func() error, err error)
}

// The kinds of what a store keeps.
const (
	kindContent = "snap"   // a file, by its name
	kindOrigin  = "origin" // of a file with a name: whence its content came
	kindPart    = "part"   // a segment of files, by its hash; where files are not whole
	kindSaving  = "saving" // what is being saved
)

// stored is what a store keeps under an id.
type stored struct {
	id       string
	size     int64
	modified time.Time
	version  backend.Version
}

// session is a save under way.
type session interface {
	// create begins a file.
	create() (draft, error)
	// touch makes a file as young as one that is saved now.
	touch(kind, id string) error
	// scratch is a directory for files of the session's own.
	scratch() string
	// end ends the session, and removes what was not published.
	end() error
}

// draft is a file that is being written.
type draft interface {
	// segment adds a segment, which the caller may change afterwards.
	segment(data []byte, sum table.Sum) error
	// restart forgets all segments.
	restart() error
	// reopen opens what has been written as a file with a tail, to be read before the session ends.
	reopen(tail []byte) (*table.File, error)
	// publish makes the file be there, at once and as a whole, in the place of one that was.
	publish(kind, id string, tail []byte) error
}

// The errors of this package, to be matched by errors.Is. Those of the database and of the backend
// come back as well.
var (
	// ErrNotFound: there is no such snapshot, or no such key in it. It is strictkv.ErrNotFound.
	ErrNotFound = backend.ErrNotFound
	// ErrNoBase: the snapshot that another one is a layer on is missing; the text has its name.
	// It does not match ErrNotFound. Don't retry.
	ErrNoBase = errors.New("the base of a snapshot is missing")
	// ErrCorrupt: bytes are not as they were written. It is strictkv.ErrCorrupt. Don't retry.
	ErrCorrupt = table.ErrCorrupt
	// ErrFormat: a snapshot was written by a newer version of this package. Don't retry.
	ErrFormat = table.ErrFormat
	// ErrInvalid: an argument is not allowed. It is strictkv.ErrInvalid. Don't retry.
	ErrInvalid = backend.ErrInvalid
	// ErrBusy: a GC does not run beside a save, nor a save beside a GC. Nothing was done; try
	// later.
	ErrBusy = errors.New("a save or a GC is under way")
)

// staleAfter is how old the announcement of a save, or of a GC, must be to be of a process that
// has died. Who is alive announces it again, each staleAfter/24.
const staleAfter = 24 * time.Hour

// parseName refuses what is no name of a snapshot.
func parseName(name string) (sum table.Sum, err error) {
	b, err := hex.DecodeString(name)
	if err != nil || len(b) != len(sum) || name != hex.EncodeToString(b) {
		return sum, fmt.Errorf("name %.80q: want %d lower-case hexadecimal digits: %w", name,
			2*len(sum), ErrInvalid)
	}
	return table.Sum(b), nil
}

// openNamed opens a file, whose content must be what its name says.
func openNamed(ctx context.Context, s Store, name string) (*table.File, error) {
	sum, err := parseName(name)
	if err != nil {
		return nil, err
	}
	f, err := s.open(ctx, kindContent, name)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, err)
	}
	if f.Name != sum {
		return nil, errors.Join(fmt.Errorf("snapshot %s: %w: its content has another hash", name,
			ErrCorrupt), f.Close())
	}
	return f, nil
}
