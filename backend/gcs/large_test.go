package gcs_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/option"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

// large is the size in bytes of the largest object that the library writes, roughly.
const large = 64<<20 + 4<<10

// oneObject is a store of one object that allocates next to nothing.
type oneObject struct {
	sum  uint32 // of data, as it was before any damage
	data []byte
}

func (s *oneObject) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n < int64(len(s.data)) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"generation": "1"}`)
		return
	}
	sum := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, s.sum))
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(s.data)))
	w.Header().Set("X-Goog-Generation", "1")
	w.Header().Set("X-Goog-Hash", "crc32c="+sum)
	_, _ = w.Write(s.data)
}

// allocated is how many bytes f allocates, as a part of large. It counts what other
// goroutines allocate too, so tests of it are not parallel.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / large
}

// TestLargeObject: a Put takes no copy of the data and a Get just one, which is checked
// to the last byte, by either way to read.
func TestLargeObject(t *testing.T) {
	data := make([]byte, large)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	for name, options := range map[string][]option.ClientOption{
		"JSON": {storage.WithJSONReads()}, "XML": nil,
	} {
		t.Run(name, func(t *testing.T) {
			store := &oneObject{crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)), data}
			s := httptest.NewServer(store)
			t.Cleanup(s.Close)
			b := gcs.New(gcstest.Client(t, s.URL, options...).Bucket("bucket"))
			assert.Less(t, allocated(func() {
				_, err := b.Put(t.Context(), "large", data, backend.IfAbsent())
				require.NoError(t, err)
			}), 0.1, "sizes of the object that a Put allocates")

			var o backend.Object
			assert.Less(t, allocated(func() {
				var err error
				o, err = b.Get(t.Context(), "large", "")
				require.NoError(t, err)
			}), 1.1, "sizes of the object that a Get allocates")
			require.True(t, bytes.Equal(data, o.Data), "the data read are those stored")

			store.sum++
			_, err := b.Get(t.Context(), "large", "")
			assertOnly(t, backend.ErrUnavailable, err, "get of damaged data")
		})
	}
}

// TestModified: it is when the version was written, not when its metadata changed.
func TestModified(t *testing.T) {
	t.Parallel()
	const created, updated = "2026-01-02T03:04:05.678Z", "2026-06-07T08:09:10Z"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := fmt.Fprintf(w, `{"items": [{"name": "name", "generation": "1",
			"timeCreated": %q, "updated": %q}]}`, created, updated)
		assert.NoError(t, err)
	}))
	t.Cleanup(s.Close)
	b := gcs.New(gcstest.Client(t, s.URL).Bucket("bucket"))
	page, err := b.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	require.Len(t, page.Objects, 1)
	assert.Equal(t, created, page.Objects[0].Modified.Format("2006-01-02T15:04:05.999Z07:00"))
}

// TestModifiedOfAGet: the SDK hides the time of an answer, but not that of the object.
func TestModifiedOfAGet(t *testing.T) {
	t.Parallel()
	written := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Goog-Generation", "1")
		w.Header().Set("Last-Modified", written.Format(http.TimeFormat))
		_, _ = w.Write([]byte("data"))
	}))
	t.Cleanup(s.Close)
	o, err := gcs.New(gcstest.Client(t, s.URL).Bucket("bucket")).Get(t.Context(), "name", "")
	require.NoError(t, err)
	assert.True(t, written.Equal(o.Modified), o.Modified)
}

// TestTooLarge: what claims to be larger than any object of ours, or has no end, takes
// no memory.
func TestTooLarge(t *testing.T) {
	for _, length := range []string{"5368709120", "134217729", ""} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Goog-Generation", "1")
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			for part := make([]byte, 1<<20); r.Context().Err() == nil; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}))
		for _, options := range [][]option.ClientOption{{storage.WithJSONReads()}, nil} {
			b := gcs.New(gcstest.Client(t, s.URL, options...).Bucket("bucket"))
			size := allocated(func() {
				_, err := b.Get(t.Context(), "huge", "")
				assertOnly(t, backend.ErrCorrupt, err, "length "+length)
				assert.ErrorContains(t, err, `"huge"`)
			})
			if length != "" {
				assert.Less(t, size, 0.1, "memory for %s bytes", length)
			}
		}
		s.Close()
	}
}

// TestTime: a Put tells the store's clock, as far as the SDK does.
func TestTime(t *testing.T) {
	t.Parallel()
	for updated, want := range map[string]time.Time{
		"2026-01-02T03:04:05.678Z": time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC),
		"yesterday":                {},
		"":                         {},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"generation": "1", "crc32c": "AAAAAA==", "updated": %q}`, updated)
		}))
		b := gcs.New(gcstest.Client(t, s.URL).Bucket("bucket"))
		at, err := b.Put(t.Context(), "name", nil, backend.IfAbsent())
		require.NoError(t, err)
		assert.True(t, want.Equal(at.Time), "%q gave %v", updated, at.Time)
		s.Close()
	}
}
