// Package backendtest is the conformance suite of package backend: what it passes
// is a store that a database can stand on.
//
// An adapter's test is a harness of a few lines:
//
//	func TestConformance(t *testing.T) {
//		backendtest.Run(t, func(t *testing.T) backendtest.Harness {
//			return backendtest.Harness{Backend: memory.New()}
//		})
//	}
package backendtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// Harness is one store for one subtest.
type Harness struct {
	// Backend is a client of a namespace that is empty, and nobody else's.
	Backend backend.Backend
	// SecondClient makes further clients of that namespace, as other processes
	// would have; races run through all of them. Nil: there is only Backend.
	SecondClient func() backend.Backend
	// NoBucket is a client of a bucket that does not exist. Nil: the store knows
	// no such thing.
	NoBucket backend.Backend
	// HostileNames are names beyond the suite's own that this store must keep
	// apart, such as "." and ".." for one that claims to take any name.
	HostileNames []string
	// NoConditionalDelete declares that a Delete is not atomic: it looks at the
	// version, then removes the object whatever has become of it, and a Put at the
	// same time may come before or after it.
	NoConditionalDelete bool
	// ContentVersions declares that a version is a function of the content, so
	// that it comes back with the same bytes.
	ContentVersions bool
	// UnavailableReads declares that a Get may be ErrUnavailable while the object
	// is being replaced, and then is to be tried again.
	UnavailableReads bool
	// LaggingVersions declares that a Get may return, while the object is being
	// replaced, a newer state than that of its version.
	LaggingVersions bool
	// Clock is the store's. Nil: it is not known, and the times that answers tell are not
	// judged.
	Clock func() time.Time
	// NameMax is the length of the longest name that the store takes, in bytes; 0 is 1024.
	NameMax int
	// PathNames declares that names are paths in a file system: none may go on
	// behind another with a slash, and none of its segments may be empty, a dot or
	// two, or longer than 255 bytes.
	PathNames bool
}

// T is what the suite needs of a *testing.T. Programs that judge a store outside of `go test`
// have one of their own: see Judge.
type T interface {
	// Errorf notes a failure, FailNow ends the question or its part.
	require.TestingT
	// Helper is called by functions whose callers are to be blamed.
	Helper()
	// Context ends when the question is to be left.
	Context() context.Context
	// Logf tells what is no failure.
	Logf(format string, args ...any)
	// Skip ends the question or its part, which does not apply.
	Skip(args ...any)
	// Run runs a part of a question, and returns once it has ended.
	Run(name string, part func(t T)) bool
}

// test is a T of `go test`.
type test struct{ *testing.T }

// Run runs a subtest.
func (t test) Run(name string, part func(t T)) bool {
	return t.T.Run(name, func(t *testing.T) { part(test{t}) })
}

// Run judges a store. It calls newHarness once for each subtest; what a harness
// holds is released by t.Cleanup.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	Judge(test{t}, func(t T) Harness { return newHarness(t.(test).T) })
}

// Judge is Run for programs: each question is a part of t, and has a harness of its own.
func Judge(t T, newHarness func(t T) Harness) {
	for _, question := range []struct {
		name string
		test func(t T, h Harness)
	}{
		{"Conditions", testConditions},
		{"InvalidCalls", testInvalidCalls},
		{"NoBucket", testNoBucket},
		{"VersionsNeverRecur", testVersionsNeverRecur},
		{"RaceToIncrement", testRaceToIncrement},
		{"RaceToCreate", testRaceToCreate},
		{"RaceToReplaceOrDelete", testRaceToReplaceOrDelete},
		{"ReadsDuringWrites", testReadsDuringWrites},
		{"ListingOrder", testListingOrder},
		{"ListingEntries", testListingEntries},
		{"ListingDefaultPages", testListingDefaultPages},
		{"ListingDuringWrites", testListingDuringWrites},
		{"HostileNames", testHostileNames},
		{"Data", testData},
		{"Times", testTimes},
		{"Batches", testBatches},
		{"EndedContext", testEndedContext},
		{"CancelDuringCall", testCancelDuringCall},
	} {
		t.Run(question.name, func(t T) { question.test(t, newHarness(t)) })
	}
}

// clients returns n clients, of which several may be the same.
func (h Harness) clients(n int) []backend.Backend {
	clients := []backend.Backend{h.Backend}
	if h.SecondClient != nil {
		for range min(n, 4) - 1 {
			clients = append(clients, h.SecondClient())
		}
	}
	for i := len(clients); i < n; i++ {
		clients = append(clients, clients[i%len(clients)])
	}
	return clients
}

// create puts an object that must be absent.
func create(t T, b backend.Backend, name, data string) backend.Version {
	t.Helper()
	at, err := b.Put(t.Context(), name, []byte(data), backend.IfAbsent())
	require.NoError(t, err, "create %q", name)
	require.NotEmpty(t, at.Version, "version of the new object %q", name)
	return at.Version
}

// replace puts an object that must be at version v.
func replace(
	t T, b backend.Backend, name, data string, v backend.Version,
) backend.Version {
	t.Helper()
	next, err := b.Put(t.Context(), name, []byte(data), backend.IfVersion(v))
	require.NoError(t, err, "replace %q at version %q", name, v)
	require.NotEmpty(t, next, "version of the replaced object %q", name)
	return next.Version
}

// expect requires that the object is there with that content, and at v.
func expect(t T, b backend.Backend, name, data string, v backend.Version) {
	t.Helper()
	o, err := b.Get(t.Context(), name, "")
	require.NoError(t, err, "get %q", name)
	require.Equal(t, data, string(o.Data), "content of %q", name)
	require.Equal(t, v, o.Version, "version of %q", name)
}

var sentinels = []error{
	backend.ErrNotFound, backend.ErrNotModified, backend.ErrPrecondition,
	backend.ErrBucketNotFound, backend.ErrDenied, backend.ErrThrottled,
	backend.ErrUnavailable, backend.ErrOutcomeUnknown, backend.ErrCorrupt,
	backend.ErrInvalid,
}

// matched returns the sentinels that err matches.
func matched(err error) []error {
	var found []error
	for _, s := range sentinels {
		if errors.Is(err, s) {
			found = append(found, s)
		}
	}
	return found
}

// assertOnly fails the test unless err matches want and no other sentinel.
func assertOnly(t T, want, err error, format string, args ...any) {
	t.Helper()
	call := fmt.Sprintf(format, args...)
	if want == nil {
		assert.NoError(t, err, call)
		return
	}
	assert.Equal(t, []error{want}, matched(err),
		"sentinels matched by the error of %s: %v", call, err)
}

// notNow reports whether a call was refused without effect, to be tried again.
func notNow(err error) bool {
	return errors.Is(err, backend.ErrThrottled) || errors.Is(err, backend.ErrUnavailable)
}
