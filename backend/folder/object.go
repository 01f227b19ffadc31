package folder

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/strictkv/strictkv/backend"
)

// An object's file, integers in little endian:
//
//	0   8 bytes  "strictkv"
//	8   uint32   format, 2
//	12  uint32   CRC32C of the data
//	16  16 bytes random, new in every write: the version
//	32  uint64   length of the data
//	40  int64    time of the write, in nanoseconds since 1970: not after it took effect,
//	             and no more than stampMax before
//	48  uint32   CRC32C of the bytes above
//	52           the data
//
// Format 1 has no time: the checksum is at 40, the data at 44. Its objects are as old as
// their files, by the time of modification.
//
// A file is never changed, only replaced.
const (
	magic = "strictkv"

	formatUntimed = 1
	format        = 2

	headerSize        = 52
	headerSizeUntimed = 44

	// aheadMax is the size up to which a file is read together with its header, in bytes.
	aheadMax = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type header struct {
	sum   uint32 // of the data
	token [16]byte
	size  int64     // of the data, in bytes
	time  time.Time // zero in format 1
}

// newHeader returns the header of a new state with the data.
func newHeader(data []byte, now time.Time) header {
	h := header{sum: crc32.Checksum(data, castagnoli), size: int64(len(data)), time: now}
	// It never fails. The operating system's generator, unlike one of this process,
	// does not go back to an old state with a virtual machine's snapshot.
	_, _ = rand.Read(h.token[:])
	return h
}

func (h header) version() backend.Version {
	return backend.Version(hex.EncodeToString(h.token[:]))
}

// length is that of the header in its file.
func (h header) length() int64 {
	if h.time.IsZero() {
		return headerSizeUntimed
	}
	return headerSize
}

func (h header) append(b []byte) []byte {
	start := len(b)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, format)
	b = binary.LittleEndian.AppendUint32(b, h.sum)
	b = append(b, h.token[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.size))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.time.UnixNano()))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// errNewer says that a later program has written a file. It may be sound.
var errNewer = fmt.Errorf("this program knows formats up to %d only", format)

// parseHeader is the inverse of append, for a file of fileSize bytes that begins with b.
func parseHeader(b []byte, fileSize int64) (header, error) {
	if len(b) < headerSizeUntimed {
		return header{}, fmt.Errorf("%d bytes, less than a header", len(b))
	}
	if string(b[:8]) != magic {
		return header{}, errors.New("not an object's file")
	}
	h := header{
		sum:   binary.LittleEndian.Uint32(b[12:]),
		token: [16]byte(b[16:32]),
		size:  int64(binary.LittleEndian.Uint64(b[32:])),
	}
	switch f := binary.LittleEndian.Uint32(b[8:]); {
	case f > format:
		return header{}, fmt.Errorf("format %d: %w", f, errNewer)
	case f == format && len(b) < headerSize:
		return header{}, fmt.Errorf("%d bytes, less than a header", len(b))
	case f == format:
		h.time = time.Unix(0, int64(binary.LittleEndian.Uint64(b[40:])))
	case f != formatUntimed:
		return header{}, fmt.Errorf("format %d", f)
	}
	n := h.length() - 4
	if binary.LittleEndian.Uint32(b[n:]) != crc32.Checksum(b[:n], castagnoli) {
		return header{}, errors.New("wrong checksum of the header")
	}
	if fileSize != h.length()+h.size {
		return header{}, fmt.Errorf("%d bytes of data, not %d", fileSize-h.length(), h.size)
	}
	return h, nil
}

// object is an object's open file, its header read and found sound; or what is damaged,
// or something else, in its place.
type object struct {
	header
	file file        // nil: it can't be opened
	info fs.FileInfo // nil: it can't be looked at
	read []byte      // all of the file, or nil

	name   string
	damage error // nil: none
	whole  bool  // the bytes of the damaged object can be had
}

// openObject opens the object with the name, which lies at the path. With ahead it reads all of it
// at once, if that is not large.
func (d disk) openObject(path, name string, ahead bool) (*object, error) {
	o := &object{name: name}
	var err error
	o.file, err = d.openFile(path)
	switch {
	case err == nil:
		err = o.readHeader(ahead)
	case errors.Is(err, errIrregular):
		o.info, _ = d.lstat(path)
		err = o.broken(err)
	case errors.Is(err, syscall.ENOTDIR) && d.exists():
		err = o.broken(errors.New("what should be its folder is a file"))
	case isMediaError(err):
		err = o.broken(err)
	}
	if err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

// exists reports whether the store's directory is there, and a directory.
func (d disk) exists() bool {
	info, err := os.Stat(d.dir)
	return err == nil && info.IsDir()
}

// isMediaError reports whether err says that the disk can't read some bytes.
func isMediaError(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EBADMSG)
}

// broken notes what is wrong with the object.
func (o *object) broken(err error) error {
	o.damage = o.corrupt(err)
	return nil
}

func (o *object) readHeader(ahead bool) (err error) {
	if o.info, err = o.file.Stat(); err != nil {
		return err
	}
	if !o.info.Mode().IsRegular() {
		return o.broken(errIrregular)
	}
	if size := o.info.Size(); size > headerSize+backend.ObjectMax {
		return o.broken(fmt.Errorf("%d bytes, more than the %d of the largest object",
			size, backend.ObjectMax))
	}
	buf := make([]byte, headerSize)
	if ahead && o.info.Size() <= aheadMax {
		buf = make([]byte, o.info.Size())
	}
	n, err := o.file.ReadAt(buf, 0)
	switch {
	case isMediaError(err):
		return o.broken(err)
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	if o.header, err = parseHeader(buf[:n], o.info.Size()); err != nil {
		o.whole = !errors.Is(err, errNewer)
		return o.broken(err)
	}
	if n == int(o.info.Size()) {
		o.read = buf[:n:n]
	}
	return nil
}

// version is the object's, or a token of its damaged state; empty if the bytes of that
// can't be had.
func (o *object) version() backend.Version {
	switch {
	case o.damage == nil:
		return o.header.version()
	case !o.whole:
		return ""
	}
	at, _ := changed(o.info)
	return backend.Version(fmt.Sprintf("damaged-%x-%x-%x",
		fileID(o.info), at.UnixNano(), o.info.Size()))
}

// modified is when the object was written, zero if that is not known.
func (o *object) modified() time.Time {
	switch {
	case !o.time.IsZero():
		return o.time
	case o.info != nil:
		return o.info.ModTime()
	}
	return time.Time{}
}

// bytes returns what is behind the header, with the version; of a damaged object all that
// can be had, and why it is none.
func (o *object) bytes() (backend.Object, error) {
	if o.damage != nil && !o.whole {
		return backend.Object{}, o.damage
	}
	start := int64(0)
	if o.damage == nil {
		start = o.length()
	}
	b, n, err := o.from(start)
	found := backend.Object{Data: b[:n], Version: o.version()}
	switch {
	case isMediaError(err):
		return backend.Object{}, o.corrupt(err)
	case err != nil && !errors.Is(err, io.EOF):
		return backend.Object{}, err
	case o.damage != nil:
		return found, o.damage
	case n < len(b):
		return found, o.corrupt(io.ErrUnexpectedEOF)
	case crc32.Checksum(b, castagnoli) != o.sum:
		return found, o.corrupt(errors.New("wrong checksum of the data"))
	}
	return found, nil
}

// from is what is in the file from a place on, and how much of that could be read.
func (o *object) from(start int64) (b []byte, n int, err error) {
	if o.read != nil {
		b = o.read[start:]
		return b, len(b), nil
	}
	b = make([]byte, o.info.Size()-start)
	n, err = o.file.ReadAt(b, start)
	return b, n, err
}

func (o *object) corrupt(err error) error {
	return &backend.CorruptError{Object: o.name, Err: err}
}

func (o *object) close() {
	if o.file != nil {
		_ = o.file.Close()
	}
}
