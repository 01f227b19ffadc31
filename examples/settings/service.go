package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
)

// settings is what is stored for a user.
type settings struct {
	Theme string `json:"theme"`
	// Revision counts the updates.
	Revision int `json:"revision"`
}

// service is what runs: instances that know nothing of each other.
type service struct {
	store                            backend.Backend
	users, instances, updates, reads int
}

// usage is what instances have done, by kind of operation.
type usage struct {
	starts, updates, reads work
}

// work is a number of operations, and the requests that they took.
type work struct {
	count int64
	stats strictkv.Stats
}

func (w *work) add(count int, s strictkv.Stats) {
	w.count += int64(count)
	w.stats = w.stats.Sub(strictkv.Stats{}.Sub(s))
}

// serve lets all instances work, at the same time.
func (s service) serve(ctx context.Context) (usage, error) {
	var (
		mu  sync.Mutex // guards all
		all usage
	)
	instances, ctx := errgroup.WithContext(ctx) // one that fails ends the others
	for range s.instances {
		instances.Go(func() error {
			use, err := s.instance(ctx)
			mu.Lock()
			defer mu.Unlock()
			all.starts.add(1, use.starts.stats)
			all.updates.add(s.updates, use.updates.stats)
			all.reads.add(s.reads, use.reads.stats)
			return err
		})
	}
	err := instances.Wait()
	return all, err
}

// instance is the life of one instance: it opens the database, serves requests of
// users, and ends. It has a handle of its own, as a process has.
func (s service) instance(ctx context.Context) (use usage, err error) {
	db, err := strictkv.Open(ctx, "settings", s.store)
	if err != nil {
		return use, err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	use.starts.stats = db.Stats()
	for range s.updates {
		if err := s.update(ctx, db, rand.IntN(s.users)); err != nil {
			return use, err
		}
	}
	use.updates.stats = db.Stats().Sub(use.starts.stats)
	before := db.Stats()
	for range s.reads {
		if _, err := s.read(ctx, db, rand.IntN(s.users)); err != nil {
			return use, err
		}
	}
	use.reads.stats = db.Stats().Sub(before)
	return use, nil
}

func key(user int) []byte { return fmt.Appendf(nil, "user-%d", user) }

// update changes the settings of a user, whatever other instances do meanwhile.
func (s service) update(ctx context.Context, db *strictkv.DB, user int) error {
	users := db.Collection([]byte("users"))
	return users.Update(ctx, key(user), func(old []byte) ([]byte, error) {
		x, err := decode(old)
		if err != nil {
			return nil, err
		}
		x.Theme = []string{"light", "dark"}[rand.IntN(2)]
		x.Revision++
		return json.Marshal(x)
	})
}

// read returns the settings of a user as they are now.
func (s service) read(ctx context.Context, db *strictkv.DB, user int) (settings, error) {
	v, err := db.Collection([]byte("users")).Read(ctx, key(user))
	if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
		return settings{}, err
	}
	return decode(v)
}

// decode reads what is stored; nil stands for the settings of a new user.
func decode(b []byte) (x settings, err error) {
	if b == nil {
		return settings{Theme: "light"}, nil
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return x, fmt.Errorf("settings: %w", err)
	}
	return x, nil
}

// revisions is the number of updates that all users have seen.
func (s service) revisions(ctx context.Context, db *strictkv.DB) (sum int, err error) {
	for user := range s.users {
		x, err := s.read(ctx, db, user)
		if err != nil {
			return 0, err
		}
		sum += x.Revision
	}
	return sum, nil
}
