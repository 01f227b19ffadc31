// Package planted breaks the determinism seam once on each marked line.
package planted

import (
	"context"
	crand "crypto/rand"
	"hash/maphash"
	"iter"
	"maps"
	"math/rand"
	randv2 "math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
	"unique"
	"weak"

	"golang.org/x/sync/errgroup"
)

type queue chan int // want "a channel"

type guarded struct {
	sync.Mutex       // want "sync.Mutex"
	q          queue // want "a channel"
}

func goroutines(g *guarded) {
	go func() {}()           // want "a go statement"
	g.Lock()                 // want "sync.Mutex.Lock"
	var group errgroup.Group // want "golang.org/x/sync/errgroup.Group"
	_ = group
	var once sync.Once // want "sync.Once"
	once.Do(nil)       // want "sync.Once.Do"
}

func channels(ctx context.Context, g *guarded) {
	q := make(queue) // want "a channel"
	q <- 1           // want "a channel"
	<-g.q            // want "a channel"
	for range q {    // want "a channel"
	}
	select {} // want "a select"
}

func generic[Q ~chan int, M ~map[int]int](q Q, m M) { // want "a channel"
	<-q           // want "a channel"
	for range m { // want "a range over a map"
	}
}

func clock(t time.Time) {
	now := time.Now // want "time.Now"
	_ = now
	_ = time.Since(t)          // want "time.Since"
	_ = time.Until(t)          // want "time.Until"
	time.Sleep(1)              // want "time.Sleep"
	_ = time.After(1)          // want "time.After:; a channel"
	_ = time.AfterFunc(1, nil) // want "time.AfterFunc"
	_ = time.Tick(1)           // want "time.Tick; a channel"
	timer := time.NewTimer(1)  // want "time.NewTimer"
	_ = timer.C                // want "a channel"
	_ = time.NewTicker(1)      // want "time.NewTicker"
}

func contexts(ctx context.Context) {
	_, _ = context.WithTimeout(ctx, 1)                      // want "context.WithTimeout:"
	_, _ = context.WithTimeoutCause(ctx, 1, nil)            // want "context.WithTimeoutCause"
	_, _ = context.WithDeadline(ctx, time.Time{})           // want "context.WithDeadline:"
	_, _ = context.WithDeadlineCause(ctx, time.Time{}, nil) // want "context.WithDeadlineCause"
	_, _ = context.WithCancel(ctx)                          // want "context.WithCancel:"
	_, _ = context.WithCancelCause(ctx)                     // want "context.WithCancelCause"
	_ = context.AfterFunc(ctx, nil)                         // want "context.AfterFunc"
	_ = ctx.Done()                                          // want "context.Context.Done; a channel"
	_ = ctx.Done                                            // want "context.Context.Done"
}

func chance() {
	_ = rand.Int()                                // want "math/rand.Int"
	_ = randv2.Int()                              // want "math/rand/v2.Int"
	_, _ = crand.Read(nil)                        // want "crypto/rand.Read"
	_ = maphash.MakeSeed()                        // want "hash/maphash.MakeSeed"
	_ = weak.Make(new(int))                       // want "weak.Make"
	_ = unique.Make(1)                            // want "unique.Make"
	runtime.SetFinalizer(nil, nil)                // want "runtime.SetFinalizer"
	runtime.AddCleanup(new(int), func(int) {}, 1) // want "runtime.AddCleanup"
	runtime.Gosched()                             // want "runtime.Gosched"
	runtime.Goexit()                              // want "runtime.Goexit"
	_, _ = iter.Pull(slices.Values([]int{}))      // want "iter.Pull:"
	_, _ = iter.Pull2(slices.All([]int{}))        // want "iter.Pull2:"
}

func world() {
	_ = os.Getpid()      // want "os.Getpid"
	_ = net.IPv4len      // want "net.IPv4len"
	_ = syscall.Getpid() // want "syscall.Getpid"
}

type index map[string]int

func orders(m index) {
	for range m { // want "a range over a map"
	}
	// in any order: this is not the form that counts
	for range m { // want "a range over a map"
	}
	// any order: this is not the line above

	for range m { // want "a range over a map"
	}
	for range maps.Keys(m) { // want "maps.Keys not"
	}
	_ = slices.Collect(maps.Values(m)) // want "maps.Values not"
	for range maps.All(m) {            // want "maps.All not"
	}
	maps.DeleteFunc(m, nil)                // want "maps.DeleteFunc not"
	_ = slices.Sorted(first(maps.Keys(m))) // want "maps.Keys not"
}

func first(s iter.Seq[string]) iter.Seq[string] { return s }
