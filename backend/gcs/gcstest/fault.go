package gcstest

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is what happens to one request. The zero Fault is none. Faults add up, in
// the order of the fields.
type Fault struct {
	// Delay is waited before anything else. The request goes on even if its
	// client has gone.
	Delay time.Duration
	// ResetBefore breaks the connection; the store never sees the request.
	ResetBefore bool
	// Status, if not 0, is the answer. The store sees the request only if Landed
	// is set as well.
	Status int
	Landed bool
	// Reason and Message are those of the answer with Status.
	Reason, Message string
	// RetryAfter, if not 0, is sent with Status, in whole seconds.
	RetryAfter time.Duration
	// Duplicate lets the store see the request twice; the second answer counts.
	Duplicate bool
	// ResetAfter breaks the connection when the store has answered.
	ResetAfter bool
	// Truncate breaks the connection in the middle of the answer's body.
	Truncate bool
	// Corrupt changes a byte of the answer's body.
	Corrupt bool
}

// Kind tells what a request asks for.
type Kind int

// The kinds of requests. Other is everything about buckets.
const (
	Other Kind = iota
	Read
	Write
	Delete
	List
)

// KindOf tells what r asks for.
func KindOf(r *http.Request) Kind {
	path := r.URL.EscapedPath()
	if strings.HasPrefix(path, "/upload/") {
		return Write
	}
	// A bucket and its "o", or "o/" and an object; XML reads name just these two.
	rest, isJSON := strings.CutPrefix(path, "/storage/v1/b/")
	_, object, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	if isJSON {
		if r.Method == http.MethodGet && strings.TrimSuffix(object, "/") == "o" {
			return List
		}
		object, isJSON = strings.CutPrefix(object, "o/")
	}
	switch {
	case object == "" || !isJSON && strings.HasPrefix(path, "/storage/v1/"):
		return Other
	case r.Method == http.MethodDelete:
		return Delete
	case r.Method == http.MethodGet:
		return Read
	}
	return Other
}

// refuse makes the answer of a fault with a status.
func (f Fault) refuse() answer {
	a := failure(f.Status, f.Reason, f.Message)
	if f.RetryAfter > 0 {
		a.header.Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
	}
	return a
}

// failure makes an answer in the form of the JSON API.
func failure(status int, reason, message string) answer {
	type item struct {
		Domain  string `json:"domain"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	var body struct {
		Error struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Errors  []item `json:"errors"`
		} `json:"error"`
	}
	body.Error.Code, body.Error.Message = status, message
	body.Error.Errors = []item{{"global", reason, message}}
	return jsonAnswer(status, body)
}

func jsonAnswer(status int, v any) answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic("gcstest: " + err.Error())
	}
	header := http.Header{"Content-Type": {"application/json; charset=UTF-8"}}
	return answer{status, header, body}
}

// write sends the answer, with the fault's damage done to it.
func (f Fault) write(w http.ResponseWriter, a answer) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if a.status == http.StatusNotModified || a.status == http.StatusNoContent {
		w.WriteHeader(a.status)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	body := a.body
	if f.Corrupt && len(body) > 0 {
		body = append([]byte(nil), body...)
		body[len(body)/2] ^= 0x01
	}
	if !f.Truncate {
		_, _ = w.Write(body)
		return
	}
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// reset breaks the connection, so that the client sees it reset, not ended.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
