package resp

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// Limits of what a client may send.
const (
	// InlineMax is how long an inline command may be, in bytes, with its line's end.
	InlineMax = 64 << 10
	// ArgsMax is how many arguments a command may have, its name included.
	ArgsMax = 1 << 20
	// countMax is how long a line may be that tells a number, in bytes.
	countMax = 32
	// largeMin is from which size on, in bytes, an argument is read to where it stays.
	largeMin = 4 << 10

	bufferMin = 4 << 10
	bufferMax = 64 << 10
	// keptMax is how much memory for arguments is kept for the next commands, in bytes.
	keptMax  = 64 << 10
	argsKept = 1 << 10
	// argCost is what an argument takes beside its bytes, and smallMax what small ones may take
	// without being reserved, in bytes.
	argCost  = 24
	smallMax = 64 << 10
)

// ErrProtocol is matched by what is wrong with a request: the connection can't be used any more.
var ErrProtocol = errors.New("protocol error")

// ProtocolError tells what is wrong with a request, in the words of Redis.
type ProtocolError string

// Error is what the client is told.
func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// Is makes the error match ErrProtocol.
func (e ProtocolError) Is(target error) bool { return target == ErrProtocol }

// Bounds are what a Reader accepts at the moment: less from who has not authenticated.
type Bounds struct {
	// Args is how many arguments a command may have, and Bulk how many bytes one argument.
	Args, Bulk int
	// Reserve is asked before memory for a large argument is taken, and for small ones as they
	// come to something; nil lets all through. What was reserved is returned to Free as a sum.
	Reserve func(bytes int) error
	// Free takes back what was reserved.
	Free func(bytes int)
}

// Reader reads commands: arrays of bulk strings, or lines of words. What it returns is valid
// until Release. It keeps its place in a command that has come in part, and never looks at a byte
// twice.
type Reader struct {
	src    io.Reader
	bounds Bounds

	buf  []byte
	r, w int // buf[r:w] is yet to be parsed
	seen int // of that, so many bytes hold no line's end

	args  [][]byte // of the commands since Release
	arena []byte   // what small arguments are in, and large ones for which it need not be dropped

	begun    int    // the first of args that is of the command being read
	left     int    // how many more it has; 0 between commands
	bulk     int    // the length of the argument being read; -1 before that is known
	large    []byte // the argument being read, if it is large
	have     int    // how much of it has come
	reserved int
	current  int  // of that, for the command being read
	small    int  // what small arguments take that is not reserved yet
	filled   bool // the last read has left no room
}

var buffers = sync.Pool{New: func() any { return new([bufferMax]byte) }}

// NewReader reads from src.
func NewReader(src io.Reader, b Bounds) *Reader {
	return &Reader{src: src, bounds: b, bulk: -1}
}

// SetBounds changes what is accepted from the next argument on.
func (r *Reader) SetBounds(b Bounds) { r.bounds = b }

// Next returns the next command, and waits for it. Errors are ErrProtocol, that of
// Bounds.Reserve, and the source's: io.EOF only between commands.
func (r *Reader) Next() ([][]byte, error) {
	for {
		args, err := r.Ready()
		if args != nil || err != nil {
			return args, err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// Ready returns the next command if all of it has come, else nil.
func (r *Reader) Ready() ([][]byte, error) {
	for r.w > r.r || r.large != nil {
		if r.left == 0 {
			if more, err := r.begin(); err != nil || !more {
				return nil, err
			}
			if r.left > 0 {
				continue
			}
		} else if more, err := r.argument(); err != nil || !more {
			return nil, err
		}
		if r.left == 0 && len(r.args) > r.begun {
			args := r.args[r.begun:len(r.args):len(r.args)]
			r.begun, r.current = len(r.args), 0
			return args, nil
		}
	}
	return nil, nil
}

// Release forgets the commands that were returned, whose memory is used again.
func (r *Reader) Release() {
	if r.left > 0 { // a command has come in part: it stays
		r.args = append([][]byte{}, r.args[r.begun:]...)
		for i, arg := range r.args {
			r.args[i] = bytes.Clone(arg)
		}
		r.begun, r.arena = 0, nil
		r.free(r.reserved - r.current)
	} else {
		clear(r.args)
		r.args, r.begun, r.arena = r.args[:0], 0, r.arena[:0]
		if cap(r.args) > argsKept {
			r.args = nil
		}
		if cap(r.arena) > keptMax {
			r.arena = nil
		}
		r.free(r.reserved)
		r.small = 0
	}
	if r.r == r.w && len(r.buf) == bufferMax {
		r.drop()
	}
}

// Close gives back what the reader has. It can't be used afterwards.
func (r *Reader) Close() {
	r.free(r.reserved)
	r.drop()
	*r = Reader{src: eof{}, bulk: -1}
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// reserve asks for memory.
func (r *Reader) reserve(bytes int) error {
	if r.bounds.Reserve == nil {
		return nil
	}
	if err := r.bounds.Reserve(bytes); err != nil {
		return err
	}
	r.reserved += bytes
	r.current += bytes
	return nil
}

// free gives back some of what was reserved.
func (r *Reader) free(bytes int) {
	if bytes > 0 {
		r.bounds.Free(bytes)
		r.reserved -= bytes
	}
}

// took counts what an argument takes that is not large.
func (r *Reader) took(arg []byte) error {
	if r.small += len(arg) + argCost; r.small < smallMax {
		return nil
	}
	bytes := r.small
	r.small = 0
	return r.reserve(bytes)
}

// drop gives the buffer away.
func (r *Reader) drop() {
	if len(r.buf) == bufferMax {
		buffers.Put((*[bufferMax]byte)(r.buf))
	}
	r.buf, r.r, r.w, r.seen = nil, 0, 0, 0
}

// fill reads more, into what is being waited for.
func (r *Reader) fill() error {
	if r.large != nil {
		return r.fillLarge()
	}
	r.room()
	n, err := r.src.Read(r.buf[r.w:])
	r.w += n
	r.filled = r.w == len(r.buf)
	if n > 0 {
		return nil
	}
	return r.ended(err)
}

// fillLarge reads the rest of a large argument, and what has come behind it, by one call: so it is
// known whether a command has followed.
func (r *Reader) fillLarge() error {
	room := r.large[r.have:cap(r.large)]
	n, err := r.src.Read(room)
	r.filled = n == len(room)
	r.have += n
	if behind := r.have - len(r.large); behind > 0 {
		r.room() // of bufferMin at least: the buffer is empty
		r.w += copy(r.buf[r.w:], r.large[len(r.large):r.have:cap(r.large)])
		r.have = len(r.large)
	}
	if n > 0 {
		return nil
	}
	return r.ended(err)
}

// Filled reports whether more is likely to have come than was read.
func (r *Reader) Filled() bool { return r.filled && r.large == nil }

// Fill reads what has come, or waits for it.
func (r *Reader) Fill() error { return r.fill() }

// ended tells an end within a command from one between commands.
func (r *Reader) ended(err error) error {
	if errors.Is(err, io.EOF) && (r.left > 0 || r.w > r.r) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// room makes some at the end of the buffer. That is as long as any line that is accepted.
func (r *Reader) room() {
	switch {
	case r.buf == nil:
		r.buf = make([]byte, bufferMin)
	case r.r == r.w:
		r.r, r.w, r.seen = 0, 0, 0
	case r.w == len(r.buf) && len(r.buf) < bufferMax:
		larger := buffers.Get().(*[bufferMax]byte)[:]
		r.w = copy(larger, r.buf[r.r:r.w])
		r.r, r.buf = 0, larger
	case r.w == len(r.buf):
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
}
