// Package bucket gives benchmarks the store that they run on: one with the latencies of a
// cloud in virtual time, or a real one by its URL.
package bucket

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

// Profiles are the simulated stores by name.
var Profiles = map[string]func() simulated.Profile{
	"gcs": simulated.GCS, "s3": simulated.S3, "azure": simulated.Azure,
}

// requestMax bounds a simulated request, none of which takes nearly as long. Virtual time
// keeps timers that were stopped until they would have fired: with the 30 s that a handle
// has by default, those of all requests would be a fifth of the heap.
const requestMax = 3 * time.Second

// Options say where the objects are.
type Options struct {
	// Profile is the name of a simulated store, in virtual time.
	Profile string
	// Throttle limits the simulated store to one write per second and object.
	Throttle bool
	// URL is that of a real store, see package bucketurl; it overrides Profile.
	URL string
	// Name is what reports call the store; by default Profile, or the URL's scheme.
	Name string
}

// Flags adds the options to a program's flags.
func (o *Options) Flags(f *flag.FlagSet) {
	names := strings.Join(slices.Sorted(maps.Keys(Profiles)), ", ")
	f.StringVar(&o.Profile, "profile", "gcs", "simulated store in virtual time: "+names)
	f.BoolVar(&o.Throttle, "throttle", false,
		"the simulated store takes one write per second and object")
	f.StringVar(&o.URL, "bucket", "", "URL of a real store, instead of a simulated one")
}

// Virtual tells whether the store is a simulated one, for package virtual.
func (o Options) Virtual() bool { return o.URL == "" }

// String is what reports call the store.
func (o Options) String() string {
	switch scheme, _, _ := strings.Cut(o.URL, "://"); {
	case o.Name != "":
		return o.Name
	case !o.Virtual():
		return scheme
	case o.Throttle:
		return o.Profile + ", throttled"
	}
	return o.Profile
}

// Bucket holds one database. Its handles are like those of different processes.
type Bucket struct {
	name    string // of the database
	profile simulated.Profile
	objects backend.Backend     // without latency
	sim     *simulated.Backend  // nil: a real store
	open    []*bucketurl.Bucket // to be closed
	url     string
	handles []*strictkv.DB
}

// Open makes a bucket. A simulated one must be opened, used and closed within one call of
// virtual.Run.
func Open(ctx context.Context, o Options) (*Bucket, error) {
	if o.Virtual() {
		profile, ok := Profiles[o.Profile]
		if !ok {
			return nil, fmt.Errorf("open bucket: no profile %q", o.Profile)
		}
		b := &Bucket{name: "bench", profile: profile(), objects: memory.New()}
		b.profile.OneWritePerSecond = o.Throttle
		b.sim = simulated.New(b.objects, nil, b.profile)
		return b, nil
	}
	b := &Bucket{name: fmt.Sprintf("bench-%d", time.Now().UnixNano()), url: o.URL}
	way, err := b.way(ctx)
	b.objects = way
	return b, err
}

// way is one more process's way to the store.
func (b *Bucket) way(ctx context.Context) (backend.Backend, error) {
	if b.sim != nil {
		return b.sim, nil
	}
	opened, err := bucketurl.Open(ctx, b.url)
	if err != nil {
		return nil, err
	}
	b.open = append(b.open, opened)
	return opened, nil
}

// Handle opens the database once more. Close closes the handle.
func (b *Bucket) Handle(ctx context.Context, opts ...strictkv.Option) (*strictkv.DB, error) {
	way, err := b.way(ctx)
	if err != nil {
		return nil, err
	}
	if b.sim != nil {
		opts = append(opts, strictkv.WithRequests(strictkv.Requests{Timeout: requestMax}))
	}
	db, err := strictkv.Open(ctx, b.name, way, opts...)
	if err != nil {
		return nil, err
	}
	b.handles = append(b.handles, db)
	return db, nil
}

// Handles returns those that are open.
func (b *Bucket) Handles() []*strictkv.DB { return b.handles }

// Objects is the store without simulated latency.
func (b *Bucket) Objects() backend.Backend { return b.objects }

// Profile is that of a simulated store, else zero.
func (b *Bucket) Profile() simulated.Profile { return b.profile }

// Throttled is the number of writes that a simulated store has refused as too frequent.
func (b *Bucket) Throttled() int64 {
	if b.sim == nil {
		return 0
	}
	return int64(b.sim.Counts().Throttled)
}

// Close closes all handles, removes the objects of a real store, and closes that.
func (b *Bucket) Close(ctx context.Context) error {
	var failed error
	for _, db := range b.handles {
		failed = errors.Join(failed, db.Close(ctx))
	}
	b.handles = nil
	if b.sim == nil && b.objects != nil {
		failed = errors.Join(failed, b.remove(ctx))
	}
	for _, opened := range b.open {
		failed = errors.Join(failed, opened.Close())
	}
	return failed
}
