package server

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	fakeBucket = "bench"
	objectsURL = "/storage/v1/b/" + fakeBucket + "/o"
	// pageMax is the largest number of entries of a page, as in the cloud.
	pageMax = 1000
)

// listParameters are those of a list that front obeys, or may ignore.
var listParameters = []string{
	"prefix", "delimiter", "startOffset", "maxResults", "pageToken",
	"alt", "fields", "prettyPrint", "projection",
}

// front answers lists in the place of fake-gcs-server, which walks all its files for each
// page, from an index of what has passed on the way to it: all objects, if it was empty. All
// else the server does.
type front struct {
	server http.Handler

	// changes lets one change at a time through, so that the index has them in the server's
	// order. The server itself writes one object at a time.
	changes sync.Mutex

	mu    sync.Mutex // protects index
	index index
}

func newFront(server http.Handler) *front {
	return &front{server: server, index: index{objects: make(map[string]object)}}
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && r.URL.Path == objectsURL:
		f.list(w, r.URL.Query())
	case r.Method == http.MethodGet:
		f.server.ServeHTTP(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/upload"+objectsURL,
		r.Method == http.MethodDelete && strings.HasPrefix(r.URL.Path, objectsURL+"/"):
		f.change(w, r)
	default:
		http.Error(w, "the index knows uploads and deletes", http.StatusNotImplemented)
	}
}

// change lets an upload or a delete through.
func (f *front) change(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // not while others wait
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := f.changed(r)
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// changed returns the server's answer to a change, which is in the index then.
func (f *front) changed(r *http.Request) *httptest.ResponseRecorder {
	f.changes.Lock()
	defer f.changes.Unlock()
	answer := httptest.NewRecorder()
	f.server.ServeHTTP(answer, r)
	if answer.Code != http.StatusOK {
		return answer
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodDelete {
		f.index.remove(strings.TrimPrefix(r.URL.Path, objectsURL+"/"))
		return answer
	}
	var o object
	if err := json.Unmarshal(answer.Body.Bytes(), &o); err != nil || o.Name == "" {
		panic("an upload was answered without the object")
	}
	f.index.put(o)
	return answer
}

func (f *front) list(w http.ResponseWriter, q url.Values) {
	for name := range q {
		asks := q.Get(name) != "" && q.Get(name) != "false"
		if asks && !slices.Contains(listParameters, name) {
			http.Error(w, "the index knows no "+name, http.StatusNotImplemented)
			return
		}
	}
	after, err := base64.RawURLEncoding.DecodeString(q.Get("pageToken"))
	if err != nil {
		http.Error(w, "invalid page token", http.StatusBadRequest)
		return
	}
	most, err := strconv.Atoi(q.Get("maxResults"))
	if err != nil || most <= 0 || most > pageMax {
		most = pageMax
	}
	by := q.Get("delimiter")
	f.mu.Lock()
	p := f.index.list(q.Get("prefix"), by, q.Get("startOffset"), string(after), most)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(p)
}

// object is what a list tells of one.
type object struct {
	Name       string `json:"name"`
	Generation string `json:"generation"`
	Size       string `json:"size"`
	Created    string `json:"timeCreated"`
}

type page struct {
	Kind     string   `json:"kind"`
	Items    []object `json:"items,omitempty"`
	Prefixes []string `json:"prefixes,omitempty"`
	Next     string   `json:"nextPageToken,omitempty"`
}

// index has the objects of a bucket in the order of their names.
type index struct {
	objects map[string]object
	names   []string // of those in objects but not in added, in order
	added   []string // since the last list; may be gone, or repeated
}

func (x *index) put(o object) {
	if _, ok := x.objects[o.Name]; !ok {
		x.added = append(x.added, o.Name)
	}
	x.objects[o.Name] = o
}

func (x *index) remove(name string) {
	delete(x.objects, name)
	if i, ok := slices.BinarySearch(x.names, name); ok {
		x.names = slices.Delete(x.names, i, i+1)
	}
}

// merge puts the names that were added among the others.
func (x *index) merge() {
	if len(x.added) == 0 {
		return
	}
	slices.Sort(x.added)
	old, all := x.names, make([]string, 0, len(x.names)+len(x.added))
	for _, name := range slices.Compact(x.added) {
		if _, ok := x.objects[name]; !ok {
			continue
		}
		n, _ := slices.BinarySearch(old, name)
		all = append(append(all, old[:n]...), name)
		old = old[n:]
	}
	x.names, x.added = append(all, old...), nil
}

// list returns up to most objects, and prefixes that end with a delimiter: those of names from
// start on, and beyond the entry that was the last of the page before.
func (x *index) list(prefix, delimiter, start, after string, most int) page {
	x.merge()
	p := page{Kind: "storage#objects"}
	i, _ := slices.BinarySearch(x.names, max(prefix, start))
	if after != "" {
		i = x.behind(after, prefix, delimiter)
	}
	last := ""
	for i < len(x.names) && strings.HasPrefix(x.names[i], prefix) {
		if len(p.Items)+len(p.Prefixes) == most {
			p.Next = base64.RawURLEncoding.EncodeToString([]byte(last))
			break
		}
		last = entry(x.names[i], prefix, delimiter)
		if last == x.names[i] && !rolled(last, prefix, delimiter) {
			p.Items = append(p.Items, x.objects[last])
		} else {
			p.Prefixes = append(p.Prefixes, last)
		}
		i = x.behind(last, prefix, delimiter)
	}
	return p
}

// behind returns the place of the first name that belongs to a later entry.
func (x *index) behind(last, prefix, delimiter string) int {
	roll := rolled(last, prefix, delimiter)
	i, _ := slices.BinarySearchFunc(x.names, last, func(name, last string) int {
		if name <= last || roll && strings.HasPrefix(name, last) {
			return -1
		}
		return 1
	})
	return i
}

// entry is what a name is listed as: itself, or the prefix that ends with the first delimiter.
func entry(name, prefix, delimiter string) string {
	if !rolled(name, prefix, delimiter) {
		return name
	}
	end := strings.Index(name[len(prefix):], delimiter)
	return name[:len(prefix)+end+len(delimiter)]
}

// rolled reports whether a name, or an entry, is below a prefix or one.
func rolled(name, prefix, delimiter string) bool {
	return delimiter != "" && len(name) > len(prefix) &&
		strings.Contains(name[len(prefix):], delimiter)
}
