package redis

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
	"github.com/strictkv/strictkv/layers/redis/internal/session"
)

// What a client may send that has not been let in, as Redis has it.
const (
	strangerArgs = 10
	strangerBulk = 16 << 10
	// strangerMax is how long a client may take to be let in.
	strangerMax = 30 * time.Second
)

// conn is one client's connection.
type conn struct {
	server  *Server
	nc      net.Conn
	id      int64
	strange time.Time // since when the client has to be let in
	reader  *resp.Reader
	out     resp.Writer
	session *session.Session
	batch   [][][]byte
	known   bool        // the client was let in, and the reader has been told
	waiting atomic.Bool // for a command, with none begun
	// readBy and writeBy are the deadlines that the connection has; zero for none.
	readBy, writeBy time.Time
}

func (c *conn) begin() {
	c.strange = time.Now()
	c.reader = resp.NewReader(counted{c}, resp.Bounds{
		Args: strangerArgs, Bulk: strangerBulk, Free: c.server.free,
	})
	c.session = session.New(c.server.shared, &c.out, session.Info{
		ID: c.id, Addr: c.nc.RemoteAddr().String(), Laddr: c.nc.LocalAddr().String(),
		Begun: c.strange, Active: c.strange,
	})
	c.bounds()
}

// bounds lets the client send more once it was let in.
func (c *conn) bounds() {
	if c.session.Admitted() && !c.known {
		c.known = true
		c.reader.SetBounds(resp.Bounds{
			Args: resp.ArgsMax, Bulk: strictkv.ValueMax,
			Reserve: c.server.reserve, Free: c.server.free,
		})
	}
}

// serve runs what the client sends, until it leaves.
func (c *conn) serve() {
	defer c.server.end(c)
	defer c.nc.Close()
	defer c.reader.Close()
	defer c.session.Close()
	defer func() {
		if p := recover(); p != nil {
			c.server.o.Logger.Error("a command has panicked, and its connection is closed",
				"panic", p, "stack", string(debug.Stack()))
		}
	}()
	for {
		err := c.read()
		more := c.run()
		switch {
		case err != nil && told(err):
			c.out.Error(protocolReply(err))
			_ = c.flush()
			return
		case err != nil || !more:
			return
		}
	}
}

// told reports whether the client is told why the connection is closed.
func told(err error) bool {
	var reply resp.Error
	return errors.Is(err, resp.ErrProtocol) || errors.As(err, &reply)
}

func protocolReply(err error) resp.Error {
	var reply resp.Error
	if errors.As(err, &reply) {
		return reply
	}
	return resp.Error("ERR " + err.Error())
}

// read waits for a command, and takes those that have come with it. What it has when it fails has
// come as a whole, and is to be run.
func (c *conn) read() error {
	c.batch = c.batch[:0]
	if err := c.deadline(); err != nil {
		return err
	}
	args, err := c.reader.Next()
	c.waiting.Store(false)
	for args != nil && err == nil {
		c.batch = append(c.batch, args)
		if len(c.batch) >= c.server.o.BatchMax || !c.session.Admitted() {
			break
		}
		if args, err = c.reader.Ready(); args == nil && err == nil {
			args, err = c.rest()
		}
	}
	return err
}

// restMax is how long the rest of a batch is waited for that was longer than the buffer.
const restMax = time.Millisecond

// rest returns the next command, if what has come was more than there was room for, and the
// command comes at once.
func (c *conn) rest() (args [][]byte, err error) {
	for args == nil && err == nil && c.reader.Filled() {
		if err = c.readUntil(time.Now().Add(restMax)); err != nil {
			return nil, err
		}
		if err = c.reader.Fill(); errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, nil
		}
		if err == nil {
			args, err = c.reader.Ready()
		}
	}
	return args, err
}

// deadline sets until when the client has to send something. A server that shuts down wakes who
// waits.
func (c *conn) deadline() error {
	var until time.Time
	if c.server.o.IdleTimeout > 0 {
		until = time.Now().Add(c.server.o.IdleTimeout)
	}
	if !c.session.Admitted() {
		until = c.strange.Add(strangerMax)
	}
	if err := c.readUntil(until); err != nil {
		return err
	}
	c.waiting.Store(true)
	if c.server.isClosed() {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// readUntil sets the deadline for what the client sends, unless it is that already.
func (c *conn) readUntil(t time.Time) error {
	if t.Equal(c.readBy) {
		return nil
	}
	c.readBy = t
	return c.nc.SetReadDeadline(t)
}

// wake ends waiting for a command.
func (c *conn) wake() {
	if c.waiting.Load() {
		_ = c.nc.SetReadDeadline(time.Unix(1, 0))
	}
}

// run runs the commands that were read, sends the replies, and reports whether there may be more.
func (c *conn) run() bool {
	defer clear(c.batch)
	if c.session.Admitted() {
		c.strange = time.Now() // if it isn't any more
	}
	for rest := c.batch; len(rest) > 0; {
		n := c.session.Do(c.server.life, rest)
		rest = rest[n:]
		if c.flush() != nil {
			return false
		}
		if c.session.Closing() {
			return false
		}
	}
	c.reader.Release()
	c.bounds()
	return true
}

// flush sends the replies. A client that does not read them is left.
func (c *conn) flush() error {
	n := c.out.Len()
	if n == 0 {
		return nil
	}
	c.server.memory.Add(int64(n))
	defer c.server.memory.Add(-int64(n))
	c.server.stats.BytesOut.Add(int64(n))
	_, err := c.out.WriteTo(patient{c})
	return err
}

// writtenMax is how many bytes a client is given the WriteTimeout for.
const writtenMax = 1 << 20

// patient writes to the client, which has the WriteTimeout for each part.
type patient struct{ c *conn }

func (w patient) Write(p []byte) (n int, err error) {
	for {
		if err := w.c.writeInTime(); err != nil {
			return n, err
		}
		part := p[n:min(n+writtenMax, len(p))]
		m, err := w.c.nc.Write(part)
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// WriteAll is Write of several parts, by one call of the system for each writtenMax.
func (w patient) WriteAll(parts net.Buffers) (n int64, err error) {
	for len(parts) > 0 && err == nil {
		if err = w.c.writeInTime(); err != nil {
			break
		}
		var some net.Buffers
		var m int64
		some, parts = split(parts, writtenMax)
		m, err = some.WriteTo(w.c.nc)
		n += m
	}
	return n, err
}

// split takes the first n bytes off parts, or all.
func split(parts net.Buffers, n int) (some, rest net.Buffers) {
	for i, p := range parts {
		if len(p) > n {
			some = append(slices.Clip(parts[:i]), p[:n])
			parts[i] = p[n:]
			return some, parts[i:]
		}
		n -= len(p)
	}
	return parts, nil
}

// laxity is which part of the WriteTimeout a write may have less, so that the deadline need not be
// set for each.
const laxity = 16

// writeInTime gives the client the WriteTimeout from now, or a little less.
func (c *conn) writeInTime() error {
	now, limit := time.Now(), c.server.o.WriteTimeout
	if c.writeBy.Sub(now) >= limit-limit/laxity {
		return nil
	}
	c.writeBy = now.Add(limit)
	return c.nc.SetWriteDeadline(c.writeBy)
}

// counted counts what comes from the client.
type counted struct{ c *conn }

func (r counted) Read(p []byte) (int, error) {
	n, err := r.c.nc.Read(p)
	r.c.server.stats.BytesIn.Add(int64(n))
	return n, err
}

var _ io.Reader = counted{}
