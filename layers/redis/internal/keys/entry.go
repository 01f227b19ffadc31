package keys

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
)

// Kind is a type of value. The numbers are part of the stored format.
type Kind uint8

// The kinds. None is that of a key without a value.
const (
	None Kind = iota
	String
	Hash
	List
	Set
	SortedSet
)

var kinds = [...]string{"none", "string", "hash", "list", "set", "zset"}

// String is the name that TYPE replies.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Entry is the value of a key.
type Entry struct {
	Kind Kind
	// Large says that the elements are in a collection of their own: Body begins with its ID.
	Large bool
	// Body is the value as its kind encodes it.
	Body []byte
	// Expires is when the value is due, in milliseconds since 1970; 0 is never.
	Expires int64

	watched bool
}

// Absent reports whether there is no value.
func (e *Entry) Absent() bool { return e.Kind == None }

// The header of a value: the format's version, the kind with flags, then what the flags tell of.
const (
	format = 1

	flagLarge   = 0x10
	flagWatched = 0x20
	flagExpires = 0x40 // the time, 8 bytes, little-endian
	flagNamed   = 0x80 // the key, with its length before it: of those that are hashed
	kindMask    = 0x0f

	// HeaderMax is how long a header is without a key's name, in bytes.
	HeaderMax = 2 + 8
)

// StringMax is how long a string may be, in bytes.
const StringMax = strictkv.ValueMax - HeaderMax - binary.MaxVarintLen32 - NameMax

// encode is the value that is stored: memory of its own. The name is that of a key which is hashed,
// else nil.
func (e *Entry) encode(name []byte) []byte {
	var room [HeaderMax]byte
	out := room[:0]
	flags := byte(e.Kind)
	if e.Large {
		flags |= flagLarge
	}
	if e.watched {
		flags |= flagWatched
	}
	if e.Expires != 0 {
		flags |= flagExpires
	}
	if name != nil {
		flags |= flagNamed
	}
	out = append(out, format, flags)
	if e.Expires != 0 {
		out = binary.LittleEndian.AppendUint64(out, uint64(e.Expires))
	}
	if name != nil {
		out = appendName(out, name)
	}
	return bytes.Join([][]byte{out, e.Body}, nil) // does not clear what it is about to write
}

// decode is the inverse of encode. The entry shares the value's memory.
func decode(value []byte) (e Entry, name []byte, err error) {
	if len(value) < 2 || value[0] != format {
		return Entry{}, nil, damaged("no value of this layer, or of a newer version of it")
	}
	flags := value[1]
	e = Entry{
		Kind: Kind(flags & kindMask), Large: flags&flagLarge != 0, watched: flags&flagWatched != 0,
	}
	rest := value[2:]
	if e.Kind == None || e.Kind > SortedSet || e.Large && e.Kind == String {
		return Entry{}, nil, damaged("unknown kind")
	}
	if flags&flagExpires != 0 {
		if len(rest) < 8 {
			return Entry{}, nil, damaged("cut short")
		}
		e.Expires, rest = int64(binary.LittleEndian.Uint64(rest)), rest[8:]
	}
	if flags&flagNamed != 0 {
		if name, rest, err = cutName(rest); err != nil {
			return Entry{}, nil, err
		}
	}
	if e.Large && len(rest) < idLen {
		return Entry{}, nil, damaged("cut short")
	}
	e.Body = rest
	return e, name, nil
}

// ErrDamaged is matched by errors that tell of a stored value which can't be read.
var ErrDamaged = strictkv.ErrCorrupt

func damaged(what string) error { return fmt.Errorf("stored value: %s: %w", what, ErrDamaged) }

// due reports whether the value has expired at a time in milliseconds.
func (e *Entry) due(now int64) bool { return e.Expires != 0 && e.Expires <= now }

// options are those by which the engine learns when the value expires.
func (e *Entry) options() []strictkv.WriteOption {
	if e.Expires == 0 {
		return nil
	}
	return []strictkv.WriteOption{strictkv.ExpireAt(time.UnixMilli(min(e.Expires, expiresMax)))}
}

// expiresMax is the last time that the engine knows, in milliseconds since 1970: in 2262. What
// expires later is removed by nobody, but due.
const expiresMax = (1<<63 - 1) / 1_000_000

// Limits above which a value that is made of elements becomes a large one.
const (
	// SmallMax is how long the body of a small value may be, in bytes.
	SmallMax = 16 << 10
	// SmallElements is how many elements it may have.
	SmallElements = 512
	// WritesMax is how many elements of large values one command may write.
	WritesMax = 900
)
