package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/strictkv/strictkv"
)

// Mode is what a Replica promises of several keys.
type Mode uint8

const (
	// PerKey shows each key as fresh as it is known, and within Lag. No two keys need be of one
	// instant: a transaction's writes may come one by one. A key never goes back.
	PerKey Mode = iota
	// Instant shows all collections as they were at one instant, and goes on from there to a later
	// one: a transaction's writes come together. Which one is known only when a pass has found
	// nothing changed since the pass before, so Lag grows while writers never pause. Until then
	// the changes wait in memory.
	Instant
)

// Defaults and limits of Options.
const (
	// DefaultLogMax is how many changes are kept for Changes.
	DefaultLogMax = 100_000
	// DefaultCacheSize is how many bytes of the copy's blocks are kept in memory.
	DefaultCacheSize = 64 << 20
	// DefaultRecordCacheSize is how many bytes of records are kept in memory for Replica.Read.
	DefaultRecordCacheSize = 64 << 20
	// CollectionsMax is how many collections a Replica may have.
	CollectionsMax = 1000
)

// Options configures a Replica. Collections must be given; all others have defaults.
type Options struct {
	// Collections are those to be copied, without those nested in them: 1 to CollectionsMax, of
	// the handle that Open is given.
	Collections []*strictkv.Collection
	// Mode is PerKey or Instant.
	Mode Mode
	// Every is the pause between two passes over the database, as of strictkv.FollowEvery: 5 s if
	// it is not positive. A pass costs a list request for each 1000 keys. If the handle has
	// strictkv.WithFeed, it is the pause between two looks at what others tell there, 1 s if it is
	// not positive, and FullEvery that between passes, as of strictkv.FollowFullEvery.
	Every, FullEvery time.Duration
	// LogMax is how many changes are kept for Changes, and somewhat more: DefaultLogMax if it is
	// 0.
	LogMax int
	// CacheSize bounds the blocks of the copy that are kept in memory, in bytes: DefaultCacheSize
	// if it is 0. Scans, Views, and a Read of a key for the first time use them.
	CacheSize int64
	// RecordCacheSize bounds the records that are kept in memory beside the blocks, of keys that
	// Replica.Read was called for, absent ones included, in bytes: DefaultRecordCacheSize if it is
	// 0, none are kept if it is negative. A record takes some 160 bytes beside its key and its
	// value; values of more than 64 KiB are not kept.
	RecordCacheSize int64
	// Logger is told at level Warn why following pauses, and why a copy is thrown away. None
	// discards it.
	Logger *slog.Logger
	// OnRebuild, if not nil, is called when a copy is thrown away, with the reason: by Open, or by
	// the goroutine that follows. It must not call the Replica.
	OnRebuild func(why error)

	disk     vfs.FS // another one for tests
	batchMax int    // another limit of a batch for tests, in bytes
}

// The errors of this package, beside those of strictkv: strictkv.ErrNotFound, ErrInvalid,
// ErrClosed.
var (
	// ErrInUse: the directory belongs to another Replica that is open, of this process or another.
	// Nothing was changed. Retrying is safe.
	ErrInUse = errors.New("replica: directory in use: it belongs to one Replica at a time")
	// ErrNotReady: the copy is not complete yet, or was damaged and is built anew. Wait with
	// Ready, or read the database.
	ErrNotReady = errors.New("replica: the copy is not complete yet")
	// ErrTrimmed: the log of changes does not reach back to the position, or never had it. Begin
	// anew with a View that scans, and go on from its Position. Don't retry.
	ErrTrimmed = errors.New("replica: the log of changes does not have the position")
	// ErrDiskFull: less than 64 MiB of the disk are free, so that nothing is applied. Retrying is
	// safe; the Replica does it by itself.
	ErrDiskFull = errors.New("replica: the disk is full")
)

// prepared are the options with their defaults.
func (o Options) prepared(db *strictkv.DB) (Options, error) {
	switch {
	case len(o.Collections) == 0 || len(o.Collections) > CollectionsMax:
		return o, fmt.Errorf("%d collections, want 1 to %d: %w",
			len(o.Collections), CollectionsMax, strictkv.ErrInvalid)
	case o.Mode > Instant:
		return o, fmt.Errorf("mode %d: %w", o.Mode, strictkv.ErrInvalid)
	case o.LogMax < 0 || o.CacheSize < 0:
		return o, fmt.Errorf("log of %d changes, cache of %d bytes: %w",
			o.LogMax, o.CacheSize, strictkv.ErrInvalid)
	}
	for _, c := range o.Collections {
		if c == nil || c.DB() != db || len(c.Path()) == 0 {
			return o, fmt.Errorf("a collection that is nil, of another handle, or has no allowed "+
				"name: %w", strictkv.ErrInvalid)
		}
	}
	o.Collections = slices.Clone(o.Collections)
	if o.LogMax == 0 {
		o.LogMax = DefaultLogMax
	}
	if o.CacheSize == 0 {
		o.CacheSize = DefaultCacheSize
	}
	if o.RecordCacheSize == 0 {
		o.RecordCacheSize = DefaultRecordCacheSize
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.disk == nil {
		o.disk = vfs.Default
	}
	return o, nil
}
