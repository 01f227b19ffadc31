package gcstest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// proxy forwards requests to fake-gcs-server, and answers as the store would.
type proxy struct {
	target    *url.URL
	transport *http.Transport
	inject    atomic.Pointer[func(*http.Request) Fault]
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// ServeHTTP treats one request as its fault says.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // The client has broken off: the store gets no whole request.
		panic(http.ErrAbortHandler)
	}
	var f Fault
	if inject := p.inject.Load(); inject != nil && *inject != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		f = (*inject)(r)
		if body, err = io.ReadAll(r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	time.Sleep(f.Delay)
	if f.ResetBefore {
		reset(w)
		return
	}
	if f.Status != 0 && !f.Landed {
		f.write(w, f.refuse())
		return
	}
	a, err := p.answer(r, body)
	if f.Duplicate && err == nil {
		a, err = p.answer(r, body)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if f.Status != 0 {
		a = f.refuse()
	}
	if f.ResetAfter {
		reset(w)
		return
	}
	f.write(w, a)
}

// answer is what the store says.
func (p *proxy) answer(r *http.Request, body []byte) (answer, error) {
	switch KindOf(r) {
	case List:
		return p.list(r)
	case Read:
		return p.read(r)
	case Delete:
		return p.delete(r)
	case Write:
		a, err := p.forward(r, r.URL.Query(), body)
		if err == nil && a.status == http.StatusNotFound {
			a = noBucket()
		}
		return a, err
	}
	return p.forward(r, r.URL.Query(), body)
}

// forward sends a request to fake-gcs-server. It reaches it even if its client
// goes.
func (p *proxy) forward(r *http.Request, query url.Values, body []byte) (answer, error) {
	u := *r.URL
	u.Scheme, u.Host, u.RawQuery = p.target.Scheme, p.target.Host, query.Encode()
	req, err := http.NewRequest(r.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.URL, req.Header = &u, r.Header.Clone()
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	data, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, data}, errors.Join(err, resp.Body.Close())
}

// read adds the conditions of reads, in the form of either API.
func (p *proxy) read(r *http.Request) (answer, error) {
	q := r.URL.Query()
	a, err := p.forward(r, q, nil)
	if err != nil {
		return a, err
	}
	if a.status == http.StatusNotFound {
		return p.notFound(r)
	}
	if a.status >= http.StatusMultipleChoices {
		return a, nil
	}
	generation := a.header.Get("X-Goog-Generation")
	if generation == "" { // It is an object's metadata.
		var meta struct{ Generation string }
		if err := json.Unmarshal(a.body, &meta); err != nil {
			return a, err
		}
		generation = meta.Generation
	}
	match := cmp.Or(q.Get("ifGenerationMatch"), r.Header.Get("X-Goog-If-Generation-Match"))
	etag := r.Header.Get("If-None-Match")
	switch {
	case match != "" && match != generation:
		return conditionNotMet(), nil
	case q.Get("ifGenerationNotMatch") == generation, etag != "" && etag == a.header.Get("Etag"):
		return answer{http.StatusNotModified, http.Header{}, nil}, nil
	}
	return a, nil
}

// delete adds the condition of deletes: fake-gcs-server removes one generation
// atomically, if it is asked for one.
func (p *proxy) delete(r *http.Request) (answer, error) {
	q := r.URL.Query()
	match := q.Get("ifGenerationMatch")
	if match != "" && q.Get("generation") == "" {
		q.Set("generation", match)
	}
	a, err := p.forward(r, q, nil)
	if err != nil || a.status != http.StatusNotFound {
		return a, err
	}
	probe := r.Clone(r.Context())
	probe.Method = http.MethodGet
	now, err := p.forward(probe, nil, nil)
	if err == nil && now.status == http.StatusOK && match != "" {
		return conditionNotMet(), nil
	}
	return p.notFound(r)
}

// notFound says what there is none of: the object or its bucket.
func (p *proxy) notFound(r *http.Request) (answer, error) {
	bucket, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/storage/v1/b/"), "/o/")
	object := strings.TrimPrefix(r.URL.Path, "/storage/v1/b/"+bucket+"/o/")
	if object == r.URL.Path { // Of the XML API.
		bucket, object, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	}
	probe := r.Clone(r.Context())
	probe.Method = http.MethodGet
	probe.URL = &url.URL{Path: "/storage/v1/b/" + bucket}
	a, err := p.forward(probe, nil, nil)
	if err != nil {
		return a, err
	}
	if a.status == http.StatusNotFound {
		return noBucket(), nil
	}
	message := "No such object: " + bucket + "/" + object
	if r.URL.Query().Get("alt") != "media" {
		return failure(http.StatusNotFound, "notFound", message), nil
	}
	header := http.Header{"Content-Type": {"text/html; charset=UTF-8"}}
	return answer{http.StatusNotFound, header, []byte(message)}, nil
}

func noBucket() answer {
	return failure(http.StatusNotFound, "notFound", "The specified bucket does not exist.")
}

func conditionNotMet() answer {
	return failure(http.StatusPreconditionFailed, "conditionNotMet",
		"At least one of the pre-conditions you specified did not hold.")
}
