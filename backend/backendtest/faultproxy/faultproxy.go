// Package faultproxy is an HTTP proxy between a client and a store, within the
// process of a test, that injects what networks and stores do to requests: delays,
// lost requests and lost answers, refusals, repeated requests, damaged bodies and
// outages.
//
// It knows no store. It passes on the method, the path and the query with their
// escapes, the Host and all other headers, so that signatures hold, and streams the
// bodies of requests that no fault befalls. Only a request with a fault is held in
// memory. A store behind it must speak HTTP/1 without TLS.
//
//	p := faultproxy.New(target, faultproxy.Options{Seed: 1, Chances: faultproxy.Mix(0.1)})
//	defer p.Close()
//	// ... a client of p.URL() ...
//	p.Inject(isPut, faultproxy.Fault{ResetAfter: true}) // the next upload loses its answer
package faultproxy

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Options are what New is told. The zero Options inject nothing by themselves.
type Options struct {
	// Seed decides which request meets which chance, by the order of arrival.
	Seed uint64
	// Chances are faults by probability.
	Chances []Chance
}

// Chance is a fault that befalls a request with a probability.
type Chance struct {
	// Probability is between 0 and 1. A request has one fault at most: those of
	// the chances that match a request add up, to 1 at most.
	Probability float64
	// Match tells which requests it is for; nil means all.
	Match func(*http.Request) bool
	Fault Fault
}

// Proxy is a running proxy. Make one with New.
type Proxy struct {
	target    *url.URL
	front     *httptest.Server
	transport *http.Transport
	ctx       context.Context // ends with Close
	end       context.CancelFunc
	inside    sync.WaitGroup // requests

	mu       sync.Mutex // guards all below
	closed   bool
	source   *rand.Rand
	chances  []Chance
	injected []injection
	refusing time.Time // until then
	counts   map[string]int
}

// injection is a fault for the next request that matches.
type injection struct {
	match func(*http.Request) bool
	fault Fault
}

// New starts a proxy on a free port of 127.0.0.1, before the store at target.
func New(target *url.URL, o Options) *Proxy {
	p := &Proxy{
		target: target,
		// What the client did not ask for, the store must not be asked for either.
		transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		source:    rand.New(rand.NewPCG(o.Seed, 0)),
		chances:   slices.Clone(o.Chances),
		counts:    make(map[string]int),
	}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.front = httptest.NewServer(http.HandlerFunc(p.serve))
	return p
}

// URL is the proxy's address. It ends with the path of the target, if that has one.
func (p *Proxy) URL() string { return p.front.URL + p.target.EscapedPath() }

// Inject lets the next request for which match tells true, or any if match is nil,
// meet the fault f. Injected faults go before those by probability, in the order in
// which they were injected. match must not call the proxy, nor read the body.
func (p *Proxy) Inject(match func(*http.Request) bool, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.injected = append(p.injected, injection{match, f})
}

// Pending is the number of injected faults that no request has met.
func (p *Proxy) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.injected)
}

// SetChances replaces the faults by probability, by none to calm the network.
func (p *Proxy) SetChances(chances ...Chance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chances = slices.Clone(chances)
}

// Outage breaks the connection of each request that comes within the time d from
// now on, before the store sees it. 0 ends an outage.
func (p *Proxy) Outage(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = time.Now().Add(d)
}

// Counts tells how many requests have come, as "requests", and how many of them met
// each fault, by its name: "delay", "reset before", "late", "corrupt request",
// "duplicate", "status 503", "landed status 500", "reset after", "truncate",
// "corrupt", "outage".
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// Close ends the proxy with all requests that are on their way, delayed ones and
// those in the store included, and returns when they have ended. Their clients see
// their connections break.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	p.front.CloseClientConnections()
	p.front.Close()
	p.inside.Wait()
	p.transport.CloseIdleConnections()
}

// enter counts a request in, unless the proxy is closed.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.inside.Add(1)
	p.counts["requests"]++
	return true
}

// serve treats one request as its fault says.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		reset(w)
		return
	}
	defer p.inside.Done()
	f, befallen := p.decide(r)
	if befallen {
		p.disturb(w, r, f)
	} else {
		p.forward(w, r)
	}
}

// decide tells which fault befalls a request, if any.
func (p *Proxy) decide(r *http.Request) (f Fault, befallen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.refusing) {
		p.counts[nameOutage]++
		return Fault{ResetBefore: true}, true
	}
	defer func() {
		for _, name := range f.names() {
			p.counts[name]++
		}
		if f.Outage > 0 {
			p.refusing = time.Now().Add(f.Outage)
		}
	}()
	matches := func(match func(*http.Request) bool) bool { return match == nil || match(r) }
	for i, in := range p.injected {
		if matches(in.match) {
			p.injected = slices.Delete(p.injected, i, i+1)
			return in.fault, true
		}
	}
	// One number for each request: a chance that does not match moves no others.
	n := p.source.Float64()
	for _, c := range p.chances {
		if !matches(c.Match) {
			continue
		}
		if n < c.Probability {
			return c.Fault, true
		}
		n -= c.Probability
	}
	return Fault{}, false
}
