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

	"github.com/strictkv/strictkv/backend"
)

// An object's file, integers in little endian:
//
//	0   8 bytes  "strictkv"
//	8   uint32   format
//	12  uint32   CRC32C of the data
//	16  16 bytes random, new in every write: the version
//	32  uint64   length of the data
//	40  uint32   CRC32C of the bytes above
//	44           the data
//
// It is never changed, only replaced.
const (
	magic      = "strictkv"
	format     = 1
	headerSize = 44
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type header struct {
	sum   uint32 // of the data
	token [16]byte
	size  int64 // of the data, in bytes
}

// newHeader returns the header of a new state with the data.
func newHeader(data []byte) header {
	h := header{sum: crc32.Checksum(data, castagnoli), size: int64(len(data))}
	// It never fails. The operating system's generator, unlike one of this process,
	// does not go back to an old state with a virtual machine's snapshot.
	_, _ = rand.Read(h.token[:])
	return h
}

func (h header) version() backend.Version {
	return backend.Version(hex.EncodeToString(h.token[:]))
}

func (h header) append(b []byte) []byte {
	start := len(b)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, format)
	b = binary.LittleEndian.AppendUint32(b, h.sum)
	b = append(b, h.token[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.size))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// parseHeader is the inverse of append, for a file of fileSize bytes.
func parseHeader(b []byte, fileSize int64) (header, error) {
	if len(b) < headerSize {
		return header{}, fmt.Errorf("%d bytes, less than a header", len(b))
	}
	if string(b[:8]) != magic {
		return header{}, errors.New("not an object's file")
	}
	if f := binary.LittleEndian.Uint32(b[8:]); f != format {
		return header{}, fmt.Errorf("format %d, this program knows %d only", f, format)
	}
	if binary.LittleEndian.Uint32(b[40:]) != crc32.Checksum(b[:40], castagnoli) {
		return header{}, errors.New("wrong checksum of the header")
	}
	h := header{
		sum:   binary.LittleEndian.Uint32(b[12:]),
		token: [16]byte(b[16:32]),
		size:  int64(binary.LittleEndian.Uint64(b[32:])),
	}
	if fileSize != headerSize+h.size {
		return header{}, fmt.Errorf("%d bytes of data, not %d", fileSize-headerSize, h.size)
	}
	return h, nil
}

// object is an object's open file, its header read and found sound.
type object struct {
	header
	name string
	file *os.File
	info fs.FileInfo
}

// openObject opens the object with the name, which lies at the path.
func (d disk) openObject(path, name string) (*object, error) {
	f, err := d.open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	o := &object{name: name, file: f}
	if err := o.readHeader(); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (o *object) readHeader() (err error) {
	if o.info, err = o.file.Stat(); err != nil {
		return err
	}
	if !o.info.Mode().IsRegular() {
		return o.corrupt(errors.New("not a regular file"))
	}
	var buf [headerSize]byte
	n, err := io.ReadFull(o.file, buf[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if o.header, err = parseHeader(buf[:n], o.info.Size()); err != nil {
		return o.corrupt(err)
	}
	return nil
}

// data reads what is behind the header.
func (o *object) data() ([]byte, error) {
	b := make([]byte, o.size)
	_, err := io.ReadFull(o.file, b)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, o.corrupt(err)
	case err != nil:
		return nil, err
	case crc32.Checksum(b, castagnoli) != o.sum:
		return nil, o.corrupt(errors.New("wrong checksum of the data"))
	}
	return b, nil
}

func (o *object) corrupt(err error) error {
	return &backend.CorruptError{Object: o.name, Err: err}
}

func (o *object) close() { _ = o.file.Close() }
