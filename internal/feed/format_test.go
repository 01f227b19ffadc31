package feed

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden are the objects in testdata. The files are the format: if one would change, the format
// has got a new version.
var golden = map[string]content{
	"names": {Hints{Names: []string{
		"+users/=alice", "+users/=alina", "+users/=bob", "=a!20b",
	}}, 0},
	"more": {Hints{Names: []string{"=k"}, Missed: true}, 1_700_000_000_000_000_000},
	"all":  {Hints{Missed: true}, 0},
}

func TestGoldenObjects(t *testing.T) {
	for name, h := range golden {
		path := filepath.Join("testdata", name+".hints")
		if *update {
			require.NoError(t, os.WriteFile(path, encode(h), 0o644))
		}
		stored, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, stored, encode(h), name)
		got, err := decode(stored)
		require.NoError(t, err, name)
		assert.Equal(t, h, got, name)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.hints"))
	require.NoError(t, err)
	assert.Len(t, files, len(golden), "every file is tested")
}

// sealed adds the checksum to an object.
func sealed(parts ...string) []byte {
	b := []byte(strings.Join(parts, ""))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func TestObjectsThatAreRefused(t *testing.T) {
	var many strings.Builder
	for i := range namesMax + 1 {
		many.WriteString("\x00\x06" + fmt.Sprintf("=%05d", i))
	}
	long := string(binary.AppendUvarint(nil, uint64(many.Len())))
	for what, x := range map[string]struct {
		data []byte
		is   error
	}{
		"empty":              {nil, errFormat},
		"foreign":            {sealed("hello, this is no object"), errFormat},
		"a later version":    {sealed("SKVF\x02"), errFormat},
		"an unknown field":   {sealed("SKVF\x01\x04\x00"), errFormat},
		"a wrong checksum":   {[]byte("SKVF\x01\x02\x00abcd"), errObject},
		"cut off":            {sealed("SKVF\x01\x01\x09\x00\x02"), errObject},
		"fields twice":       {sealed("SKVF\x01\x02\x00\x02\x00"), errObject},
		"in no order":        {sealed("SKVF\x01\x01\x08\x00\x02=b\x00\x02=a"), errObject},
		"one name twice":     {sealed("SKVF\x01\x01\x06\x00\x02=a\x02\x00"), errObject},
		"begins with more":   {sealed("SKVF\x01\x01\x04\x01\x02=a"), errObject},
		"not that of a cell": {sealed("SKVF\x01\x01\x06\x00\x04meta"), errObject},
		"an external value":  {sealed("SKVF\x01\x01\x04\x00\x02*a"), errObject},
		"too many names":     {sealed("SKVF\x01\x01", long, many.String()), errObject},
		"too large": {
			sealed("SKVF\x01", strings.Repeat("\xff\x01x", objectMax)), errFormat,
		},
	} {
		_, err := decode(x.data)
		assert.ErrorIs(t, err, x.is, what)
	}
	h, err := decode(sealed("SKVF\x01\x02\x00\x80\x01x\x80\x00\xff\x00"))
	require.NoError(t, err, "fields that may be ignored")
	assert.Equal(t, content{Hints: Hints{Missed: true}}, h)
}

func FuzzDecode(f *testing.F) {
	for _, h := range golden {
		f.Add(encode(h))
	}
	f.Add(sealed("SKVF\x01\x80\x01x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := decode(data)
		if err != nil {
			return
		}
		h.before = max(h.before, 0) // a time before 1970 means nothing
		again, err := decode(encode(h))
		require.NoError(t, err)
		require.Equal(t, h, again)
	})
}
