package faultproxy

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// answer is an answer as a whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// forward passes a request on, and its answer back, as streams.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	resp, err := p.send(r, r.Body)
	if err != nil { // The client shall not take it for an answer of the store.
		reset(w)
		return
	}
	defer resp.Body.Close()
	writeHead(w, resp.StatusCode, resp.Header)
	if _, err := io.Copy(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// disturb passes a request on as far as its fault lets it.
func (p *Proxy) disturb(w http.ResponseWriter, r *http.Request, f Fault) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // The client has broken off: the store gets no whole request.
		reset(w)
		return
	}
	if f.Received != nil {
		f.Received()
	}
	if !p.wait(f.Delay) || f.ResetBefore || f.Outage > 0 {
		reset(w)
		return
	}
	if f.Late > 0 {
		reset(w)
		if p.wait(f.Late) {
			_, _ = p.exchange(r, body, f)
		}
		return
	}
	if f.CorruptRequest {
		body = flip(body)
	}
	var a answer
	if f.Status == 0 || f.Landed {
		a, err = p.exchange(r, body, f)
	}
	if f.Status != 0 {
		a = f.refusal()
	}
	if err != nil || f.ResetAfter {
		reset(w)
		return
	}
	f.write(w, r, a)
}

// wait returns after the time, and false if the proxy was closed meanwhile.
func (p *Proxy) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// exchange sends a request, as often as the fault says, and returns the answer.
func (p *Proxy) exchange(r *http.Request, body []byte, f Fault) (answer, error) {
	first, err := p.once(r, body)
	if err != nil || !f.Duplicate {
		return first, err
	}
	second, err := p.once(r, body)
	if f.FirstAnswer {
		return first, nil
	}
	return second, err
}

func (p *Proxy) once(r *http.Request, body []byte) (answer, error) {
	resp, err := p.send(r, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, data}, err
}

// send sends a request to the store. It goes on even if its client has gone.
func (p *Proxy) send(r *http.Request, body io.Reader) (*http.Response, error) {
	out := r.Clone(p.ctx)
	out.URL.Scheme, out.URL.Host = p.target.Scheme, p.target.Host
	out.RequestURI = ""
	out.Close = false
	out.Header.Del("Connection") // It is about this connection, not the next.
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // None, rather than the transport's own.
	}
	out.Body = io.NopCloser(body)
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	return p.transport.RoundTrip(out)
}

// writeHead sends the head of an answer.
func writeHead(w http.ResponseWriter, status int, header http.Header) {
	h := w.Header()
	for name, values := range header {
		h[name] = values
	}
	h.Del("Connection")
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil // None, rather than a guess.
	}
	w.WriteHeader(status)
}

// write sends an answer, with the fault's damage done to it.
func (f Fault) write(w http.ResponseWriter, r *http.Request, a answer) {
	if f.Corrupt {
		a.body = flip(a.body)
	}
	if len(a.body) > 0 {
		a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	if !f.Truncate {
		writeHead(w, a.status, a.header)
		_, _ = w.Write(a.body)
		return
	}
	if len(a.body) == 0 || r.Method == http.MethodHead {
		reset(w)
		return
	}
	writeHead(w, a.status, a.header)
	_, _ = w.Write(a.body[:len(a.body)/2])
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
