package azuretest

import (
	"bytes"
	"crypto/md5" // What the store keeps with a blob.
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// store is the stand-in. It answers what an adapter asks as Azure does, and
// refuses what it does not know, rather than to ignore it.
type store struct {
	mu         sync.Mutex // guards all below
	containers map[string]map[string]*object
	writes     int64
}

// object is a blob.
type object struct {
	data     []byte
	sum      string // MD5 in base64
	tag      string // in quotes
	modified time.Time
}

// failure is an answer that is an error.
type failure struct {
	status int
	code   string
}

var (
	errNoContainer = &failure{http.StatusNotFound, "ContainerNotFound"}
	errNoBlob      = &failure{http.StatusNotFound, "BlobNotFound"}
	errExists      = &failure{http.StatusConflict, "BlobAlreadyExists"}
	errCondition   = &failure{http.StatusPreconditionFailed, "ConditionNotMet"}
	errUnchanged   = &failure{http.StatusNotModified, "ConditionNotMet"}
	errChecksum    = &failure{http.StatusBadRequest, "Md5Mismatch"}
	errCut         = &failure{http.StatusBadRequest, "InvalidInput"}
	errAccess      = &failure{http.StatusForbidden, "AuthenticationFailed"}
)

// strange refuses what no adapter should ask for.
func strange(what string) *failure {
	return &failure{http.StatusNotImplemented, "StandInDoesNotKnow: " + what}
}

func newStore() *store { return &store{containers: make(map[string]map[string]*object)} }

// ServeHTTP implements http.Handler.
func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := s.serve(w, r); f != nil {
		f.write(w)
	}
}

func (f *failure) write(w http.ResponseWriter) {
	w.Header().Set("x-ms-error-code", f.code)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(f.status)
	if f.status != http.StatusNotModified {
		_, _ = fmt.Fprintf(w, "%s<Error><Code>%s</Code></Error>", xml.Header, f.code)
	}
}

func (s *store) serve(w http.ResponseWriter, r *http.Request) *failure {
	at, f := target(r)
	if f != nil {
		return f
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return errCut
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	query := r.URL.Query()
	if at.name == "" && r.Method == http.MethodPut && query.Encode() == "restype=container" {
		s.containers[at.container] = make(map[string]*object)
		w.WriteHeader(http.StatusCreated)
		return nil
	}
	objects, ok := s.containers[at.container]
	switch {
	case !ok:
		return errNoContainer
	case at.name == "" && r.Method == http.MethodGet && query.Get("comp") == "list":
		return list(w, query, entries(objects))
	case at.name == "" || len(query) > 0:
		return strange(r.Method + " of " + r.URL.String())
	case r.Method == http.MethodGet:
		return get(w, r.Header, objects[at.name])
	case r.Method == http.MethodPut:
		return s.put(w, r.Header, body, at)
	case r.Method == http.MethodDelete:
		return remove(w, r.Header, objects, at.name)
	}
	return strange(r.Method)
}

// place is what a request is about: a container, or the object with that name.
type place struct{ container, name string }

// target returns what a request is about.
func target(r *http.Request) (place, *failure) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/"+account+"/")
	if !ok || r.Header.Get("x-ms-version") == "" {
		return place{}, strange(r.URL.String())
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "SharedKey "+account+":") {
		return place{}, errAccess
	}
	name, object, _ := strings.Cut(path, "/")
	object, err := url.PathUnescape(object)
	if err != nil {
		return place{}, strange(path)
	}
	return place{name, object}, nil
}

// conditions are the headers of which each request must have those it is for, and
// none of the others.
var conditions = []string{
	"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Range",
	"x-ms-range", "x-ms-if-tags", "x-ms-lease-id",
}

// others refuses a request with conditions beyond these.
func others(h http.Header, known ...string) *failure {
	for _, name := range conditions {
		if h.Get(name) != "" && !slices.Contains(known, name) {
			return strange(name)
		}
	}
	return nil
}

func get(w http.ResponseWriter, h http.Header, o *object) *failure {
	if f := others(h, "If-None-Match"); f != nil {
		return f
	}
	switch {
	case o == nil:
		return errNoBlob
	case h.Get("If-None-Match") == o.tag:
		return errUnchanged
	}
	o.describe(w)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(o.data)))
	_, _ = w.Write(o.data)
	return nil
}

func (o *object) describe(w http.ResponseWriter) {
	w.Header().Set("ETag", o.tag)
	w.Header().Set("Content-MD5", o.sum)
	w.Header().Set("Last-Modified", o.modified.Format(http.TimeFormat))
}

func (s *store) put(w http.ResponseWriter, h http.Header, body []byte, at place) *failure {
	if f := others(h, "If-Match", "If-None-Match"); f != nil {
		return f
	}
	sum := md5.Sum(body)
	o := &object{
		data: bytes.Clone(body), sum: base64.StdEncoding.EncodeToString(sum[:]),
		tag: fmt.Sprintf(`"0x%X"`, 0x8DE<<48|s.writes), modified: time.Now().UTC(),
	}
	old := s.containers[at.container][at.name]
	match, unless := h.Get("If-Match"), h.Get("If-None-Match")
	switch {
	case h.Get("x-ms-blob-type") != "BlockBlob" || h.Get("x-ms-blob-content-md5") == "":
		return strange("an upload without a type or a checksum to keep")
	case h.Get("Content-MD5") != o.sum || h.Get("x-ms-blob-content-md5") != o.sum:
		return errChecksum
	case (match == "") == (unless == "") || unless != "" && unless != "*" || match == "*":
		return strange("an upload without one condition")
	case unless == "*" && old != nil:
		return errExists
	case match != "" && (old == nil || old.tag != match):
		return errCondition
	}
	s.writes++
	s.containers[at.container][at.name] = o
	o.describe(w)
	w.WriteHeader(http.StatusCreated)
	return nil
}

func remove(
	w http.ResponseWriter, h http.Header, objects map[string]*object, name string,
) *failure {
	if f := others(h, "If-Match"); f != nil {
		return f
	}
	old := objects[name]
	match := h.Get("If-Match")
	switch {
	case match == "" || match == "*":
		return strange("a delete without a condition")
	case old == nil:
		return errNoBlob
	case old.tag != match:
		return errCondition
	}
	delete(objects, name)
	w.WriteHeader(http.StatusAccepted)
	return nil
}
