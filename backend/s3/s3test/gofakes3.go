package s3test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// GoFakes3 starts gofakes3 within this process. Its own are the objects and the
// conditions of a PUT and a GET. Corrected are: a DELETE obeys If-Match; a PUT with
// If-Match of an absent object is answered with 404; an upload must match its
// CRC32C, which a download returns; listings have the order, prefixes and pages of
// the real store.
func GoFakes3(t testing.TB) *Server {
	t.Helper()
	objects := s3mem.New()
	front := httptest.NewServer(&corrected{
		objects: objects,
		next:    gofakes3.New(objects).Server(),
	})
	t.Cleanup(front.Close)
	return &Server{front.URL}
}

// corrected is what stands in front of gofakes3.
type corrected struct {
	objects *s3mem.Backend
	next    http.Handler
	// writes is locked by a DELETE, which is two steps; PUTs share it.
	writes sync.RWMutex
}

// ServeHTTP answers as S3 would.
func (c *corrected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, object, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.Method == http.MethodGet && object == "" && r.URL.Query().Get("list-type") == "2":
		c.list(w, bucket, r.URL.Query())
	case r.Method == http.MethodPut && object != "":
		c.put(w, r, bucket, object)
	case r.Method == http.MethodDelete && object != "":
		c.delete(w, r, bucket, object)
	default:
		c.next.ServeHTTP(w, r)
	}
}

func (c *corrected) put(w http.ResponseWriter, r *http.Request, bucket, object string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		fail(w, http.StatusBadRequest, "IncompleteBody", err.Error())
		return
	}
	if sum := r.Header.Get("X-Amz-Checksum-Crc32c"); sum != "" && sum != checksum(body) {
		fail(w, http.StatusBadRequest, "BadDigest", "The CRC32C did not match.")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	c.writes.RLock()
	c.next.ServeHTTP(answer, r)
	c.writes.RUnlock()
	if answer.Code == http.StatusPreconditionFailed && r.Header.Get("If-Match") != "" {
		if _, err := c.objects.HeadObject(bucket, object); missing(err) {
			fail(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
			return
		}
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func checksum(data []byte) string {
	crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc))
}

func missing(err error) bool {
	var e gofakes3.Error
	return errors.As(err, &e) && e.ErrorCode() == gofakes3.ErrNoSuchKey
}

func (c *corrected) delete(w http.ResponseWriter, r *http.Request, bucket, object string) {
	c.writes.Lock()
	defer c.writes.Unlock()
	if match := r.Header.Get("If-Match"); match != "" {
		o, err := c.objects.HeadObject(bucket, object)
		switch {
		case missing(err):
			fail(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
			return
		case err == nil && strings.Trim(match, `"`) != hex.EncodeToString(o.Hash):
			fail(w, http.StatusPreconditionFailed, "PreconditionFailed",
				"At least one of the pre-conditions you specified did not hold")
			return
		}
	}
	c.next.ServeHTTP(w, r)
}

// fail answers with an error in S3's form.
func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	var text bytes.Buffer
	_ = xml.EscapeText(&text, []byte(message))
	fmt.Fprintf(w, "%s<Error><Code>%s</Code><Message>%s</Message></Error>",
		xml.Header, code, text.Bytes())
}
