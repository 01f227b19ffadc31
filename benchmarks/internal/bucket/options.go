package bucket

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/benchmarks/internal/virtual"
)

// Profiles are the simulated stores by name.
var Profiles = map[string]func() simulated.Profile{
	"gcs": simulated.GCS, "s3": simulated.S3, "azure": simulated.Azure,
}

// ProfileNames are those of Profiles, separated by commas.
func ProfileNames() string {
	return strings.Join(slices.Sorted(maps.Keys(Profiles)), ", ")
}

// Stores are others than simulated ones.
type Stores interface {
	// Names are those of the stand-ins that Start knows, separated by commas.
	Names() string
	// Start starts a stand-in until t ends, and returns the URL of a bucket.
	Start(t *testing.T, name string) (url string, err error)
	// Open opens a bucket by its URL, and returns what closes it as well.
	Open(ctx context.Context, url string) (backend.Backend, func() error, error)
}

// Real is set by package server, which a program imports that works on real stores. One that
// does not compiles no SDK of any cloud.
var Real Stores

// Options say where the objects are.
type Options struct {
	// Profile is the name of a simulated store, in virtual time.
	Profile string
	// Constant, if it is not 0, is what each request takes, instead of Profile.
	Constant time.Duration
	// Throttle limits the simulated store to one write per second and object.
	Throttle bool
	// InTurn lets the writes beyond that wait, in order, instead of being refused.
	InTurn bool
	// Tails makes one in a hundred requests to a simulated store take ten times as long, and
	// one write in a hundred be refused as too frequent.
	Tails bool
	// URL is that of a real store, see package bucketurl; it overrides Profile.
	URL string
	// Server is the name of a stand-in that Start starts; URL is then that of a bucket in it.
	Server string
}

// Flags adds the options to the flags of a program that imports package server.
func (o *Options) Flags(f *flag.FlagSet) {
	f.StringVar(&o.Profile, "profile", "gcs",
		"simulated store in virtual time: "+ProfileNames())
	f.BoolVar(&o.Throttle, "throttle", false,
		"the simulated store takes one write per second and object")
	f.StringVar(&o.URL, "bucket", "", "URL of a real store, instead of a simulated one")
	f.StringVar(&o.Server, "server", "",
		"stand-in to start, instead of a simulated store:\n"+Real.Names())
}

// Virtual reports whether the store is a simulated one, for package virtual.
func (o Options) Virtual() bool { return o.URL == "" }

func (o Options) latencies() (p simulated.Profile, err error) {
	named, ok := Profiles[o.Profile]
	switch {
	case o.Constant > 0:
		p = simulated.Constant(o.Constant)
	case ok:
		p = named()
	default:
		return p, fmt.Errorf("no profile %q", o.Profile)
	}
	p.OneWritePerSecond, p.InTurn = o.Throttle || o.InTurn, o.InTurn
	if o.Tails {
		p.TailIn, p.TailTimes, p.BusyIn = 100, 10, 100
	}
	return p, nil
}

// Start starts the server that the options name, if they do. It stops when t ends.
func (o *Options) Start(t *testing.T) (err error) {
	if o.Server != "" {
		o.URL, err = Real.Start(t, o.Server)
	}
	return err
}

// Run runs f, in virtual time if the store is a simulated one; see virtual.Run.
func (o Options) Run(t *testing.T, f func(ctx context.Context) error) error {
	if o.Virtual() {
		return virtual.Run(t, f)
	}
	return f(t.Context())
}

// String is what reports call the store.
func (o Options) String() string {
	switch scheme, _, _ := strings.Cut(o.URL, "://"); {
	case o.Server != "":
		return o.Server
	case !o.Virtual():
		return scheme
	}
	name := o.Profile
	if o.Constant > 0 {
		name = o.Constant.String()
	}
	switch {
	case o.InTurn:
		return name + ", writes in turn"
	case o.Throttle:
		return name + ", throttled"
	case o.Tails:
		return name + ", with tails"
	}
	return name
}
