package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// row says what one package's production files may import beside the standard
// library. Test files may import anything. "x/..." stands for all below x; what
// contains a dot is a module of others and all its packages.
type row struct {
	pkg string
	may []string
	why string
}

const (
	testify = "github.com/stretchr/testify"
	kong    = "github.com/alecthomas/kong"
	// prober is the one package for users that has tests in it: they are what it is for.
	prober = "internal/probe"
)

var (
	adapters = []string{
		"backend/memory", "backend/folder", "backend/gcs", "backend/azure", "backend/s3",
		"backend/pebble",
	}
	// bundled are those of the library's own module.
	bundled = adapters[:len(adapters)-1]
	// public is what a user of the library can import.
	public = slices.Concat([]string{
		".", "backend", "backend/bucketurl", "backend/faulty", "backend/simulated", "cache",
	}, adapters)
	// engine is the code that must replay from a seed under simulation.
	engine = []string{
		".", "internal/cache", "internal/cell", "internal/commit", "internal/keyspace",
		"internal/resolve", "internal/scan", "internal/store", "internal/sweep", "internal/latch",
		"internal/txid", "internal/txn", "internal/outcome",
		"internal/cleanup", "internal/contention", "internal/observe", "internal/feed",
		"internal/follow",
	}
)

// directions is the table of docs/architecture.md.
var directions = []row{
	{".", []string{
		"internal/txn", "internal/cleanup", "internal/contention", "internal/scan",
		"internal/sweep", "internal/store", "internal/feed", "internal/follow",
		"internal/resolve", "internal/keyspace", "internal/txid", "internal/seam",
		"backend", "cache", "internal/cache", "internal/budget", "internal/observe",
		"internal/cell", // to show them: Collection.Inspect
	}, "the public API wires the mechanisms together and knows no protocol, adapter or SDK"},

	{"backend", nil, "the contract with a store belongs to nobody's implementation"},
	{"backend/memory", []string{"backend"}, "an adapter knows its store and the contract alone"},
	{"backend/folder", []string{"backend", "internal/filelock"},
		"an adapter knows its store and the contract alone"},
	{"backend/pebble", []string{"backend", "github.com/cockroachdb/pebble/v2"},
		"an adapter knows its store and the contract alone"},
	{"backend/pebble/pebbleurl", []string{"backend", "backend/bucketurl", "backend/pebble"},
		"a scheme joins two packages that know nothing of each other"},
	{"backend/internal/wire", []string{"backend"},
		"what the adapters over HTTP share belongs to none of them"},
	{"backend/gcs", []string{
		"backend", "backend/internal/wire",
		"cloud.google.com/go/storage", "cloud.google.com/go/auth",
		"google.golang.org/api", "github.com/googleapis/gax-go/v2", "golang.org/x/oauth2",
	}, "an adapter knows its SDK and the contract alone"},
	{"backend/gcs/gcstest", []string{
		"backend", "backend/gcs", "testing", "net/http/httptest", testify,
		"cloud.google.com/go/storage", "google.golang.org/api", "github.com/fsouza/fake-gcs-server",
	}, "it runs an emulator for tests"},
	{"backend/azure", []string{
		"backend", "backend/internal/wire", "github.com/Azure/azure-sdk-for-go",
	}, "an adapter knows its SDK and the contract alone"},
	{"backend/azure/azuretest", []string{
		"backend", "testing", "net/http/httptest", testify, "go.uber.org/goleak",
		"github.com/Azure/azure-sdk-for-go",
	}, "it runs an emulator for tests"},
	{"backend/s3", []string{
		"backend", "backend/internal/wire", "github.com/aws/aws-sdk-go-v2",
		"github.com/aws/smithy-go",
	}, "an adapter knows its SDK and the contract alone"},
	{"backend/s3/s3test", []string{
		"backend", "testing", "net/http/httptest", testify, "go.uber.org/goleak",
		"github.com/aws/aws-sdk-go-v2", "github.com/johannesboyne/gofakes3",
	}, "it runs stand-ins for tests"},
	{"backend/bucketurl", append([]string{
		"backend", "backend/internal/wire",
		"cloud.google.com/go/storage", "github.com/Azure/azure-sdk-for-go",
		"github.com/aws/aws-sdk-go-v2",
	}, bundled...), "the only package that knows several adapters, and makes their clients"},
	{"backend/bucketurl/bucketurltest", append([]string{
		"backend", "testing", testify, "backend/bucketurl", "backend/gcs/gcstest",
		"backend/azure/azuretest", "backend/s3/s3test", "github.com/aws/aws-sdk-go-v2",
	}, bundled...), "it gives each kind of URL a stand-in"},
	{"backend/backendtest/faultproxy", []string{"net/http/httptest"},
		"a network in front of any store knows none"},
	{"backend/backendtest", []string{"backend", "testing", testify},
		"the suite judges any adapter, so it knows none"},
	{"backend/faulty", []string{"backend", "internal/seam"}, "a wrapper works around any store"},
	{"backend/simulated", []string{"backend", "internal/seam"}, "a wrapper works around any store"},

	{"cache", []string{"backend", "internal/cache", "internal/recordlog", "internal/seam"},
		"users make a cache, and can do no more with it"},
	{"internal/cache", []string{
		"backend", "internal/budget", "internal/cell", "internal/txid", "internal/seam",
	}, "the cache keeps cells and knows nothing of transactions"},
	{"internal/budget", nil, "it counts bytes, of whatever"},
	{"internal/recordlog", []string{"internal/filelock", "internal/seam"},
		"a log keeps bytes under names, and knows neither cells nor who asks"},
	{"internal/filelock", nil, "a lock depends on the operating system alone"},

	{"internal/keyspace", nil, "object names depend on nothing"},
	{"internal/txid", nil, "attempt ids depend on nothing"},
	{"internal/cell", []string{"internal/txid"}, "transitions of a cell are pure: no I/O, no time"},
	{"internal/seam", []string{"golang.org/x/sync"},
		"the door to the Go runtime leads nowhere else"},
	{"internal/observe", []string{"backend", "internal/keyspace", "internal/seam"},
		"it passes on what it is told, and asks nobody"},
	{"internal/latch", []string{"internal/seam"}, "who waits for whom is decided by names alone"},
	{"internal/store", []string{
		"internal/cell", "internal/txid", "internal/cache", "backend", "internal/keyspace",
		"internal/seam", "internal/observe",
	}, "it moves cells and knows nothing of other transactions"},
	{"internal/outcome", []string{
		"internal/store", "internal/cell", "internal/txid", "internal/seam",
	}, "it remembers what it is told, and asks nobody"},
	{"internal/contention", []string{"internal/seam"},
		"policy is made of numbers: it sends no request, and knows no cell"},
	{"internal/cleanup", []string{
		"internal/contention", "internal/resolve", "internal/store", "internal/cell",
		"internal/txid", "internal/seam", "internal/observe",
	}, "it does for others what they have left, and begins nothing"},
	{"internal/resolve", []string{
		"backend", "internal/contention", "internal/outcome", "internal/store", "internal/cell",
		"internal/txid", "internal/seam", "internal/observe",
	}, "it meets other transactions and runs none of its own"},
	{"internal/scan", []string{
		"backend", "internal/resolve", "internal/store", "internal/cell", "internal/txid",
		"internal/keyspace", "internal/seam",
	}, "it lists and validates, and does not commit"},
	{"internal/commit", []string{
		"internal/cleanup", "internal/contention", "internal/scan", "internal/resolve",
		"internal/store", "internal/cell", "internal/txid", "internal/seam", "backend",
		"internal/observe",
	}, "from a plan to a result: an attempt does not know its transaction, and tries once"},
	{"internal/txn", []string{
		"internal/commit", "internal/cleanup", "internal/contention", "internal/scan",
		"internal/resolve", "internal/store", "internal/cell", "internal/txid", "internal/latch",
		"internal/seam", "internal/observe", "backend",
	}, "one transaction on top of the other mechanisms, without names of objects or requests"},
	{"internal/feed", []string{
		"backend", "internal/store", "internal/keyspace", "internal/txid", "internal/seam",
		"internal/observe",
	}, "hints are names: what was written there, and by whom, is for others to find out"},
	{"internal/follow", []string{
		"backend", "internal/feed", "internal/resolve", "internal/store", "internal/cell",
		"internal/txid", "internal/keyspace", "internal/seam", "internal/observe",
	}, "it looks at what others have written, and writes nothing"},
	{"internal/sweep", []string{
		"backend",
		"internal/resolve", "internal/store", "internal/cell", "internal/keyspace", "internal/seam",
		"internal/feed",
	}, "garbage is found by listing and resolving, not by running transactions"},

	{"internal/protocoltest", []string{
		"testing", "testing/synctest", testify, "backend", "backend/memory", "backend/faulty",
		"internal/cache", "internal/cell", "internal/cleanup", "internal/contention",
		"internal/resolve", "internal/seam", "internal/store", "internal/txid",
	}, "it opens what the tests of several packages share, and knows nothing above"},
	{"internal/sim/workload", []string{
		".", "internal/history", "internal/seam", "internal/sim/baton", "examples/patterns",
		"layers/queue",
	}, "workloads are users' programs, some of them word for word, whose clients are recorded"},
	{"internal/sim/...", []string{
		".", "backend", "backend/memory", "backend/faulty", "cache", "testing", "internal/history",
		testify, "internal/seam", "internal/cell", "internal/txid", "internal/keyspace",
		"internal/store", "internal/feed",
		"internal/sim/...",
		testify, "internal/cache", "internal/seam", "internal/cell", "internal/txid",
		"internal/keyspace", "internal/store", "internal/sim/...",
	}, "the simulator drives the engine through the seam and the API; it may look into cells"},
	{"internal/model", []string{"internal/model/explore"},
		"the model shares words with the engine, no code: else both would have the same bugs"},
	{"internal/model/explore", nil, "a search knows nothing of what it searches"},
	{"internal/history", nil, "the checker judges histories without knowing what made them"},
	{"internal/lint", nil, "rules outlive what they rule"},
	{"internal/raced", nil, "how a program was built depends on nothing"},
	{"internal/keytext", []string{"layers/tuple"}, "it knows bytes and text, and no database"},
	{"internal/dump", []string{".", "internal/keytext"},
		"files are written and loaded as a user's program would"},
	{"internal/activity", []string{".", "internal/keyspace", "internal/keytext"},
		"it is an observer like a user's, but that it can tell the key of an object"},
	{"internal/loopback", nil, "who is let in does not depend on what there is to see"},
	{"internal/plain", nil, "what programs print is judged as a reader sees it"},
	{"internal/check/system", nil, "it holds tests alone"},
	{"internal/check/mutants", nil, "it holds tests alone"},
	{"internal/check/modules", nil, "it holds tests alone"},

	{"layers/backup", []string{
		".", "backend", "layers/snapshot", "golang.org/x/sync", "filippo.io/age",
		"github.com/klauspost/compress",
	}, "a backup is a snapshot, sealed, in a list"},
	{"layers/otelkv", []string{
		".", "backend", "layers/otelkv/internal/instrument", "go.opentelemetry.io/otel",
	}, "a layer stands on the public API alone, and where its data go is the program's choice"},
	{"layers/otelkv/internal/instrument", nil, "names depend on nothing"},
	{"layers/otelkv/dashboard", []string{"layers/otelkv/internal/instrument"},
		"a dashboard is made of names"},
	{"layers/queue", []string{"."}, "a layer is made of what users see"},
	{"layers/redis", []string{".", "layers/redis/..."},
		"a layer stands on the public API alone; the protocol of Redis is the library's own"},
	{"layers/redis/internal/resp", nil, "bytes on a wire know no database"},
	{"layers/redis/internal/keys", []string{".", "layers/redis/internal/resp"},
		"it is what commands see of a database, and knows none of them"},
	{"layers/redis/internal/command", []string{
		"layers/redis/internal/keys", "layers/redis/internal/resp",
	}, "what a command is, is known before any is"},
	{"layers/redis/internal/session", []string{
		".", "layers/redis/internal/command", "layers/redis/internal/keys",
		"layers/redis/internal/resp",
	}, "a connection runs commands, whatever they are"},
	{"layers/redis/internal/hashcmd", []string{
		"layers/redis/internal/command", "layers/redis/internal/fields",
		"layers/redis/internal/keys", "layers/redis/internal/resp",
	}, "hashes and sets have one form; a family knows no other, and no connection"},
	{"layers/redis/internal/setcmd", []string{
		"layers/redis/internal/command", "layers/redis/internal/fields",
		"layers/redis/internal/keys", "layers/redis/internal/resp",
	}, "hashes and sets have one form; a family knows no other, and no connection"},
	{"layers/redis/internal/zsetcmd", []string{
		".", "layers/redis/internal/command", "layers/redis/internal/fields",
		"layers/redis/internal/keys", "layers/redis/internal/resp",
	}, "plain sets can be combined with sorted ones; a family knows no other, and no connection"},
	{"layers/redis/internal/redistest", []string{
		".", "backend/memory", "layers/redis", "testing", testify,
	}, "it runs a server for tests"},
	{"layers/redis/internal/...", []string{
		".", "layers/redis/internal/command", "layers/redis/internal/keys",
		"layers/redis/internal/resp",
	}, "a family of commands knows no other, and no connection"},
	{"layers/replica", []string{
		".", "github.com/cockroachdb/pebble/v2", "github.com/maypok86/otter/v2",
	}, "a layer stands on the public API alone; a copy on a disk needs an engine, and a cache"},
	{"layers/replica/example", append([]string{".", "backend", "layers/replica"}, public...),
		"an example is a user's program: it sees what users see"},
	{"layers/snapshot", []string{
		".", "backend", "layers/snapshot/internal/table", "golang.org/x/sync",
	}, "a layer stands on the public API alone"},
	{"layers/snapshot/internal/table", []string{"backend"}, "a format knows no database"},
	{"layers/tuple", []string{"."}, "a layer stands on the public API alone"},
	{"layers/typed", []string{".", "layers/tuple", "golang.org/x/sync"},
		"a layer stands on the public API alone; the parts of a key are a tuple's elements"},
	{"layers/typed/cbor", []string{"github.com/fxamacker/cbor/v2"},
		"a codec needs to know nothing of who uses it"},
	{"layers/typed/protobuf", []string{"google.golang.org/protobuf"},
		"a codec needs to know nothing of who uses it"},

	{"examples/devserver", []string{"github.com/fsouza/fake-gcs-server"},
		"it is a stand-in for a store, and knows nothing of who uses that"},
	{"examples/...", append([]string{kong, "golang.org/x/sync", "examples/...", "layers/..."},
		public...), "an example is a user's program: it sees what users see"},
	{prober, []string{
		".", "backend", "backend/bucketurl", "backend/backendtest", "internal/history",
		"golang.org/x/sync",
	}, "it asks of a store what tests ask, where no test can: in its user's account"},
	{"cmd/strictkv/bench", []string{".", "backend", "golang.org/x/sync"},
		"it measures what users see, in their bucket"},
	{"cmd/strictkv/console", []string{
		".", "internal/activity", "internal/dump", "internal/keytext", "internal/loopback",
	}, "a page shows what users see, and what it needs of the web is in Go"},
	{"cmd/strictkv", []string{
		".", "backend", "backend/bucketurl", "backend/pebble/pebbleurl", "cmd/strictkv/...",
		"internal/keytext", prober, "internal/dump", "internal/activity", "internal/loopback",
		"github.com/spf13/cobra", "layers/redis", "layers/backup", "filippo.io/age",
		"golang.org/x/term", "github.com/schollz/progressbar/v3",
	}, "an operator's tool stands on what users see; what it prints and reads is in packages"},
	{"benchmarks/internal/server", []string{
		"testing", "net/http/httptest", "backend", "backend/azure/azuretest", "backend/bucketurl",
		"backend/bucketurl/bucketurltest", "backend/pebble/pebbleurl", "benchmarks/internal/bucket",
		"github.com/fsouza/fake-gcs-server",
	}, "it starts the stand-ins of the tests for benchmarks"},
	{"benchmarks/engines", []string{
		".", "backend/pebble", "benchmarks/internal/report", "golang.org/x/sync",
		"github.com/cockroachdb/pebble/v2", "github.com/dgraph-io/badger/v4", "go.etcd.io/bbolt",
	}, "what embedded engines do is compared by their own packages"},
	{"benchmarks/...", append([]string{
		"benchmarks/...", "internal/history", "testing", "github.com/HdrHistogram/hdrhistogram-go",
		"gonum.org/v1/plot", "golang.org/x/sync", "golang.org/x/term",
		"github.com/schollz/progressbar/v3",
		"testing/synctest", "layers/...", "github.com/cockroachdb/pebble/v2", "golang.org/x/sys",
	}, public...), "a benchmark measures what users see; virtual time is package testing's"},
}

// restricted are the packages of the standard library that production files
// import only where the table says so.
var restricted = []string{"testing", "net/http/httptest"}

func covers(pattern, pkg string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == below || strings.HasPrefix(pkg, below+"/")
	}
	return pattern == pkg
}

func rowOf(pkg string) (row, bool) {
	for _, r := range directions {
		if covers(r.pkg, pkg) {
			return r, true
		}
	}
	return row{}, false
}

func (r row) allows(target string) bool {
	for _, m := range r.may {
		module := strings.Contains(m, ".") && m != "."
		if covers(m, target) || module && covers(m+"/...", target) {
			return true
		}
	}
	return standard(target) && !slices.ContainsFunc(restricted, func(pkg string) bool {
		return covers(pkg+"/...", target)
	})
}

// standard reports whether target is of the standard library: its path begins with
// a word without a dot, which is no folder of ours.
func standard(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	ours := []string{"backend", "cache", "cmd", "internal", "examples", "benchmarks", "layers"}
	return !strings.Contains(first, ".") && !slices.Contains(ours, first)
}

// within turns an import path into a path within the module where it is one.
func within(importPath string) string {
	if importPath == modulePath {
		return "."
	}
	return strings.TrimPrefix(importPath, modulePath+"/")
}

// imports checks the production files' imports against the table.
func imports(f *file) []finding {
	r, known := rowOf(f.pkg())
	if !known {
		return []finding{f.at(f.ast.Package,
			"a package has one responsibility and fixed directions: enter both in directions",
			"package %s is not in the table of import directions", f.pkg())}
	}
	if f.test() {
		return nil
	}
	var found []finding
	for _, spec := range f.ast.Imports {
		target := within(strings.Trim(spec.Path.Value, `"`))
		if !r.allows(target) {
			found = append(found, f.at(spec.Pos(), r.why, "%s must not import %s", f.pkg(), target))
		}
	}
	return found
}

func TestImports(t *testing.T) {
	expect(t, imports, []planted{
		{"backend imports engine", "backend/backend.go", `package backend
import (
	"context"
	"github.com/strictkv/strictkv/internal/cell"
)`, []string{"4: backend must not import internal/cell"}},
		{"adapter imports adapter", "backend/gcs/gcs.go", `package gcs
import "cloud.google.com/go/storage"
import "cloud.google.com/go/pubsub"
import "github.com/strictkv/strictkv/backend/memory"`,
			[]string{
				"3: backend/gcs must not import cloud",
				"4: backend/gcs must not import backend/memory",
			}},
		{"engine imports SDK", "internal/store/store.go", `package store
import "cloud.google.com/go/storage"
import "github.com/strictkv/strictkv/internal/cache"`, []string{"2: internal/store must not"}},
		{"history imports the module", "internal/history/history.go", `package history
import "slices"
import "github.com/strictkv/strictkv"`, []string{"3: internal/history must not import ."}},
		{"production imports sim", "benchmarks/load/main.go", `package main
import "github.com/strictkv/strictkv"
import "github.com/strictkv/strictkv/internal/sim"`,
			[]string{"3: benchmarks/load must not import internal/sim"}},
		{"production imports testing", "db.go", `package strictkv
import "testing/synctest"`, []string{"2: . must not import testing/synctest"}},
		{"tests are free", "internal/cell/cell_test.go", `package cell_test
import "github.com/strictkv/strictkv/internal/sim"`, nil},
		{"suite imports testing", "backend/backendtest/run.go", `package backendtest
import "testing"
import "github.com/stretchr/testify/require"`, nil},
		{"unknown package", "internal/util/util_test.go", `package util`,
			[]string{"1: package internal/util is not in the table"}},
	})
}

// TestDirections keeps the table itself within what never changes.
func TestDirections(t *testing.T) {
	testOnly := []string{
		"internal/sim", "internal/lint", "backend/backendtest", "backend/gcs/gcstest",
		"backend/azure/azuretest", "backend/s3/s3test", "backend/backendtest/faultproxy",
		"backend/bucketurl/bucketurltest", "benchmarks/internal/server", "internal/protocoltest",
	}
	wrappers := []string{"backend/faulty", "backend/simulated"}
	for _, r := range directions {
		assert.NotEmpty(t, r.why, "%s: a row gives its reason", r.pkg)
		for _, m := range r.may {
			if !slices.Contains(testOnly, r.pkg) && r.pkg != prober {
				assert.NotContains(t, testOnly, m, "%s: production never imports tests", r.pkg)
			}
			switch {
			case r.pkg == "backend/folder" && m == "internal/filelock": // the engine does not lock
			case strings.HasPrefix(r.pkg, "backend") && strings.HasPrefix(m, "internal/"):
				assert.Contains(t, wrappers, r.pkg, "%s: a backend never knows the engine", r.pkg)
				assert.Equal(t, "internal/seam", m, "%s: a wrapper knows the seam alone", r.pkg)
			case slices.Contains(adapters, r.pkg):
				assert.NotContains(t, adapters, m, "%s: adapters never import each other", r.pkg)
			case slices.Contains(engine, r.pkg):
				assert.NotContains(t, adapters, m, "%s: the engine knows no adapter", r.pkg)
				assert.True(t, m == "." || !strings.Contains(m, "."),
					"%s: the engine knows no SDK, not %s", r.pkg, m)
			}
		}
	}
	for _, alone := range []string{"internal/history", "internal/lint", "backend"} {
		r, known := rowOf(alone)
		assert.True(t, known && len(r.may) == 0, "%s imports the standard library alone", alone)
	}
	for _, pkg := range engine {
		_, known := rowOf(pkg)
		assert.True(t, known, "%s is engine, so it has a row", pkg)
	}
}
