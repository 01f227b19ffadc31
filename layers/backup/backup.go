package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/layers/snapshot"
)

// The errors of this package, to be matched by errors.Is. Those of the database, of package
// snapshot and of the backend come back as well.
var (
	// ErrNotFound: there is no backup of that name. Don't retry.
	ErrNotFound = errors.New("no such backup")
	// ErrKey: a backup is encrypted, and no identity that is given opens it. Don't retry.
	ErrKey = errors.New("no key of the backup")
	// ErrNotEmpty: a Restore into what has keys already. Nothing was changed.
	ErrNotEmpty = errors.New("not empty")
	// ErrOther: keys that a Restore should insert have another value; that stays.
	ErrOther = errors.New("keys have another value")
)

// LayersMax is how many incremental backups stand upon a full one: the next one is merged with
// them.
const LayersMax = 30

// Options configures a Repository.
type Options struct {
	// Compress compresses what is written by zstd. What is there is read in any case.
	Compress bool
	// Recipients encrypt what is written, by age. Identities open it: who has none can make full
	// backups, and nothing else. Names of objects are hashes of what is in them: who can list the
	// bucket can tell whether two backups have something in common, and, of contents that it can
	// guess, whether they are there. Backups share data with those of the same recipients alone:
	// the first one for others is full. A recipient is told by its String; two without one are
	// taken for the same.
	Recipients []age.Recipient
	Identities []age.Identity
	// Progress, if not nil, is told after each object how many bytes were moved so far, by any
	// goroutine.
	Progress func(moved int64)
	// Rate bounds the bytes per second that are read from the repository and written to it; 0 is
	// any.
	Rate int64
}

// Repository is where the backups of one database are. Those of two in one could not be told apart:
// "the last" would be of either, and Prune would keep one of each day for both.
type Repository struct {
	store *sealed
	place string // of the data that it writes: see Info.Data
}

// Open returns the repository in a bucket; use a part of one for it alone. It sends no request.
func Open(b backend.Backend, o Options) (*Repository, error) {
	if b == nil {
		return nil, fmt.Errorf("open repository: nil backend: %w", backend.ErrInvalid)
	}
	s, err := seal(b, o)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	return &Repository{s, place(o.Recipients)}, nil
}

// place is the Info.Data of recipients, in any order.
func place(recipients []age.Recipient) string {
	if len(recipients) == 0 {
		return ""
	}
	var names []string
	for _, r := range recipients {
		name, _ := r.(fmt.Stringer)
		names = append(names, fmt.Sprint(name))
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(names), "\n")))
	return hex.EncodeToString(sum[:8])
}

// data are the snapshots at a place.
func (r *Repository) data(place string) snapshot.Store {
	if place != "" {
		place = "-" + place
	}
	return snapshot.Bucket(r.store, "data"+place)
}

// Info tells of a backup.
type Info struct {
	// Name sorts by time.
	Name string `json:"name"`
	// Instant is when the database had this content: all that had committed before is in it.
	Instant time.Time `json:"instant"`
	// ItemWise says that each key is of an instant of its own, from Instant on.
	ItemWise bool `json:"item_wise,omitempty"`
	// Snapshot is the name of the snapshot that it is.
	Snapshot string `json:"snapshot"`
	// Data tells the recipients of its data, which it shares with the backups of the same ones;
	// it is empty without encryption.
	Data string `json:"data,omitempty"`
	// Keys is how many there are, and Layers how many files, one of them full.
	Keys   int64 `json:"keys"`
	Layers int   `json:"layers"`
}

// BackupOptions configures one Backup.
type BackupOptions struct {
	// Incremental saves what has changed since the last backup: it lists the database, and reads
	// and writes nothing else. Without a last one it is a full backup. After LayersMax of them they
	// are merged. A full backup writes only the parts that are not there, but reads everything.
	Incremental bool
	// Save says how all is seen at one instant.
	Save snapshot.SaveOptions
}

const manifests = "backups/"

// nameFormat makes names of times.
const nameFormat = "20060102T150405.000000Z"

// Backup saves a database: all collections as they were at one instant, unless BackupOptions.Save
// allows less. A call that was stopped can be made again: parts that are there are not sent again.
// Errors are those of snapshot.SaveDB, and ErrKey.
func (r *Repository) Backup(
	ctx context.Context, db *strictkv.DB, o BackupOptions,
) (Info, error) {
	info := Info{Instant: time.Now().UTC(), ItemWise: o.Save.ItemWise, Data: r.place}
	if err := r.save(ctx, db, o, &info); err != nil {
		return Info{}, fmt.Errorf("backup: %w", err)
	}
	for {
		info.Name = info.Instant.Format(nameFormat)
		text, err := json.Marshal(info)
		if err != nil {
			return Info{}, fmt.Errorf("backup: %w", err)
		}
		err = again(ctx, func() error {
			_, err := r.store.Put(ctx, manifests+info.Name, text, backend.IfAbsent())
			return err
		})
		if errors.Is(err, backend.ErrPrecondition) { // of the same instant
			info.Instant = info.Instant.Add(time.Microsecond)
			continue
		}
		if err != nil {
			return Info{}, fmt.Errorf("backup: %w", err)
		}
		return info, nil
	}
}

func (r *Repository) save(
	ctx context.Context, db *strictkv.DB, o BackupOptions, info *Info,
) (err error) {
	base := Info{}
	if o.Incremental {
		all, err := r.List(ctx)
		if err != nil && !errors.Is(err, backend.ErrCorrupt) { // without a damaged one it can do
			return err
		}
		for _, x := range all {
			if x.Data == info.Data {
				base = x
			}
		}
	}
	data := r.data(info.Data)
	if base.Snapshot == "" {
		info.Snapshot, err = snapshot.SaveDB(ctx, data, db, o.Save)
	} else {
		info.Snapshot, err = snapshot.DiffDB(ctx, data, base.Snapshot, db, o.Save)
		if err == nil && base.Layers >= LayersMax {
			info.Snapshot, err = snapshot.Compact(ctx, data, info.Snapshot)
		}
	}
	if err != nil {
		return err
	}
	snap, err := snapshot.Open(ctx, data, info.Snapshot)
	if errors.Is(err, ErrKey) { // it was written for others to read
		return nil
	} else if err != nil {
		return err
	}
	info.Layers = len(snap.Layers())
	info.Keys, err = snap.Len(ctx)
	return errors.Join(err, snap.Close())
}

// List returns all backups, the oldest first. What is damaged, or of a key that is not given, is
// left out, and is in the error: strictkv.ErrCorrupt, ErrKey. Other errors are the store's.
func (r *Repository) List(ctx context.Context) (all []Info, err error) {
	names, err := r.names(ctx)
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	var left []error
	for _, x := range names {
		info, err := r.info(ctx, strings.TrimPrefix(x.Name, manifests))
		switch {
		case err == nil:
			all = append(all, info)
		case errors.Is(err, ErrNotFound): // it was removed meanwhile
		case errors.Is(err, ErrKey), errors.Is(err, backend.ErrCorrupt):
			left = append(left, fmt.Errorf("list backups: %w", err))
		default:
			return nil, fmt.Errorf("list backups: %w", err)
		}
	}
	slices.SortFunc(all, func(x, y Info) int { return strings.Compare(x.Name, y.Name) })
	return all, errors.Join(left...)
}

func (r *Repository) names(ctx context.Context) (all []backend.Info, err error) {
	o := backend.ListOptions{Prefix: manifests}
	for {
		var page backend.Page
		err := again(ctx, func() (err error) {
			page, err = r.store.List(ctx, o)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Objects...)
		if !page.More || len(page.Objects) == 0 {
			return all, nil
		}
		o.After = page.Objects[len(page.Objects)-1].Name
	}
}

func (r *Repository) info(ctx context.Context, name string) (info Info, err error) {
	var object backend.Object
	err = again(ctx, func() error {
		object, err = r.store.Get(ctx, manifests+name, "")
		return err
	})
	if errors.Is(err, backend.ErrNotFound) {
		return info, fmt.Errorf("%w: %.100q", ErrNotFound, name)
	} else if err != nil {
		return info, err
	}
	if err := json.Unmarshal(object.Data, &info); err != nil || info.Name != name {
		return info, &backend.CorruptError{Object: manifests + name, Err: errors.Join(err,
			errors.New("it does not tell of the backup"))}
	}
	return info, nil
}

// open opens the snapshot of a backup; "" is the last one.
func (r *Repository) open(ctx context.Context, name string) (*snapshot.Snapshot, Info, error) {
	if name == "" {
		names, err := r.names(ctx)
		if err != nil {
			return nil, Info{}, err
		}
		if len(names) == 0 {
			return nil, Info{}, fmt.Errorf("%w: there is none", ErrNotFound)
		}
		name = strings.TrimPrefix(names[len(names)-1].Name, manifests)
	}
	info, err := r.info(ctx, name)
	if err != nil {
		return nil, info, err
	}
	snap, err := snapshot.Open(ctx, r.data(info.Data), info.Snapshot)
	return snap, info, err
}

// Verify reads every byte of a backup, "" being the last, and compares it with its hashes and
// checksums. Errors: ErrNotFound, ErrKey, strictkv.ErrCorrupt, and the store's.
func (r *Repository) Verify(ctx context.Context, name string) (Info, error) {
	snap, info, err := r.open(ctx, name)
	if err == nil {
		err = errors.Join(snap.Verify(ctx), snap.Close())
	}
	if err != nil {
		return info, fmt.Errorf("verify backup %s: %w", name, err)
	}
	return info, nil
}
