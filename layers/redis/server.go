package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/hashcmd"
	"github.com/strictkv/strictkv/layers/redis/internal/keycmd"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/listcmd"
	"github.com/strictkv/strictkv/layers/redis/internal/session"
	"github.com/strictkv/strictkv/layers/redis/internal/setcmd"
	"github.com/strictkv/strictkv/layers/redis/internal/stringcmd"
	"github.com/strictkv/strictkv/layers/redis/internal/zsetcmd"
)

// table has all commands.
var table = command.NewTable(
	session.Commands, stringcmd.Commands(), keycmd.Commands(),
	hashcmd.Commands(), setcmd.Commands(), listcmd.Commands(), zsetcmd.Commands(),
)

// Server serves one database. Make it with NewServer. It is safe for concurrent use.
type Server struct {
	o      Options
	shared *session.Shared
	stats  session.Stats
	memory atomic.Int64 // in flight

	collected atomic.Int64

	life context.Context // of commands
	stop context.CancelFunc

	closing chan struct{} // closed by Shutdown

	mu        sync.Mutex // guards all below
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	lastID    int64
	collects  bool
	idle      sync.WaitGroup // of conns, and of the collector
}

// NewServer makes a server of a database, which stays the caller's to close, after Shutdown. It
// returns ErrInvalid for options that are not allowed.
func NewServer(db *strictkv.DB, o Options) (*Server, error) {
	if db == nil {
		return nil, fmt.Errorf("redis: nil database: %w", ErrInvalid)
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		o: o, listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{},
		closing: make(chan struct{}),
	}
	full := func() bool { return s.memory.Load() > o.MemoryMax }
	s.life, s.stop = context.WithCancel(context.Background())
	s.shared = &session.Shared{
		Space: keys.NewSpace(db.Collection([]byte(o.Root))), Table: table, Log: o.Logger,
		Staleness: o.MaxStaleness, Timeout: o.CommandTimeout, Stats: &s.stats,
		Directory: directory{s}, Started: time.Now(), Settings: o.settings(),
		Full: full, Reserve: s.reserve, Free: s.free,
	}
	if o.Combine {
		s.shared.Combiner = session.NewCombiner()
	}
	if len(o.Users) > 0 {
		s.shared.Admit = newUsers(o.Users).admit
	}
	return s, nil
}

// Listen is a listener for Serve, at a TCP address such as "127.0.0.1:6389". It returns
// ErrNoPassword where Serve would.
func (s *Server) Listen(ctx context.Context, address string) (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := s.allows(ln); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// allows tells why a listener can't be served.
func (s *Server) allows(ln net.Listener) error {
	if s.shared.Admit == nil && !private(ln.Addr()) {
		return fmt.Errorf("listen on %s: %w", ln.Addr(), ErrNoPassword)
	}
	return nil
}

// Serve accepts clients until Shutdown, and returns ErrServerClosed then. It closes the listener.
// Other errors: ErrNoPassword, and the listener's.
func (s *Server) Serve(ln net.Listener) error {
	defer ln.Close()
	if err := s.allows(ln); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrServerClosed
	}
	s.listeners[ln] = struct{}{}
	if !s.collects {
		s.collects = true
		s.idle.Add(1)
		go s.collect()
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, ln)
		s.mu.Unlock()
	}()
	pause := time.Duration(0)
	for {
		c, err := ln.Accept()
		switch {
		case err == nil:
			pause = 0
			s.begin(c)
		case s.isClosed():
			return ErrServerClosed
		case passing(err):
			// Such as too many open files: it gets better as clients leave.
			pause = min(max(2*pause, acceptPauseMin), acceptPauseMax)
			s.o.Logger.Warn("can't accept a client", "err", err, "pause", pause)
			time.Sleep(pause)
		default:
			return fmt.Errorf("serve %s: %w", ln.Addr(), err)
		}
	}
}

// How long Serve waits when it can't accept.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// passing reports whether accepting may succeed later.
func passing(err error) bool {
	var ne interface{ Temporary() bool }
	return errors.As(err, &ne) && ne.Temporary()
}

// private reports whether no other machine can connect.
func private(addr net.Addr) bool {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.IP.IsLoopback()
	}
	return addr.Network() != "udp"
}

func (s *Server) isClosed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// begin serves a client, unless there are too many.
func (s *Server) begin(nc net.Conn) {
	if s.o.TLS != nil {
		nc = tls.Server(nc, s.o.TLS)
	}
	c := &conn{server: s, nc: nc}
	s.mu.Lock()
	closed, full := s.closed, len(s.conns) >= s.o.ClientsMax
	if !closed && !full {
		s.lastID++
		c.id = s.lastID
		c.begin() // before others find its session
		s.conns[c] = struct{}{}
		s.idle.Add(1)
	}
	s.mu.Unlock()
	if closed || full {
		s.stats.Refused.Add(1)
		_ = nc.SetWriteDeadline(time.Now().Add(refuseMax))
		if full && s.o.TLS == nil { // a handshake would be work for who is refused
			_, _ = nc.Write([]byte("-ERR max number of clients reached\r\n"))
		}
		_ = nc.Close()
		return
	}
	s.stats.Connections.Add(1)
	s.stats.Clients.Add(1)
	go c.serve()
}

// refuseMax is how long it may take to tell a client that it is refused.
const refuseMax = 100 * time.Millisecond

// end forgets a client.
func (s *Server) end(c *conn) {
	s.stats.Clients.Add(-1)
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.idle.Done()
}

func (s *Server) reserve(bytes int) error {
	if s.memory.Add(int64(bytes)) > s.o.MemoryMax {
		s.free(bytes)
		return session.ErrMemory
	}
	return nil
}

func (s *Server) free(bytes int) { s.memory.Add(-int64(bytes)) }

// directory tells sessions of each other.
type directory struct{ *Server }

// Each calls f for each session.
func (s directory) Each(f func(session.Info)) {
	s.mu.Lock()
	infos := make([]session.Info, 0, len(s.conns))
	for c := range s.conns {
		infos = append(infos, c.session.Info())
	}
	s.mu.Unlock()
	for _, i := range infos {
		f(i)
	}
}

// End closes the connections of the sessions that f picks, but that of one with an ID.
func (s directory) End(f func(session.Info) bool, but int64) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if f(c.session.Info()) {
			n++
			if c.id != but {
				_ = c.nc.Close()
			}
		}
	}
	return n
}

// ServeUntil is Serve until ctx ends, or the listener fails, and then Shutdown, which may take as
// long as stop. It returns nil if all ended as it should.
func (s *Server) ServeUntil(ctx context.Context, ln net.Listener, stop time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	var failed error
	select {
	case failed = <-served:
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stop)
	defer cancel()
	err := s.Shutdown(end)
	if failed == nil {
		failed = <-served
	}
	if !errors.Is(failed, ErrServerClosed) {
		err = errors.Join(failed, err)
	}
	return err
}

// Shutdown accepts nobody any more, lets what clients have begun come to its end, with its replies,
// and closes their connections. If ctx ends before, it ends what is under way: transactions that
// have not been decided have no effect, others are in doubt. It then returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	for ln := range s.listeners {
		_ = ln.Close()
	}
	for c := range s.conns {
		c.wake()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.idle.Wait()
		close(done)
	}()
	defer s.stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.stop()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.nc.Close()
	}
	s.mu.Unlock()
	<-done
	return fmt.Errorf("shut down: %w", ctx.Err())
}

// Stats count what a server has done since it was made.
type Stats struct {
	// Clients are connected now. Connections were, Refused could not be as there were too many.
	Clients, Connections, Refused int64
	// Commands were run, those in pipelines and between MULTI and EXEC included, in Transactions.
	Commands, Transactions int64
	// Errors were replied, InDoubt of them as an outcome was unknown. Denied passwords were wrong.
	Errors, InDoubt, Denied int64
	// BytesIn and BytesOut were read from clients, and written to them.
	BytesIn, BytesOut int64
	// MemoryInFlight is what large arguments and replies take now, in bytes.
	MemoryInFlight int64
	// Collected are the large values that were deleted, replaced, flushed or due, whose elements
	// the server has removed.
	Collected int64
}

// Stats returns the counters. They are not one snapshot.
func (s *Server) Stats() Stats {
	c := &s.stats
	return Stats{
		Clients: c.Clients.Load(), Connections: c.Connections.Load(), Refused: c.Refused.Load(),
		Commands: c.Commands.Load(), Transactions: c.Transactions.Load(),
		Errors: c.Errors.Load(), InDoubt: c.InDoubt.Load(), Denied: c.Denied.Load(),
		BytesIn: c.BytesIn.Load(), BytesOut: c.BytesOut.Load(),
		MemoryInFlight: s.memory.Load(), Collected: s.collected.Load(),
	}
}
