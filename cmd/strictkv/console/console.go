// Package console is a page on which people look at a database with a browser: docs/console.md.
// Whatever somebody has written into the database, the page shows as text: scripts fetch keys and
// values as data, and make text nodes of them.
package console

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/activity"
	"github.com/strictkv/strictkv/internal/keytext"
	"github.com/strictkv/strictkv/internal/loopback"
)

const (
	answerMax = 30 * time.Second // how long what a request asks for may take, but for work
	bodyMax   = 2 << 20          // bytes of what is sent
)

var (
	//go:embed page
	embedded embed.FS

	errRequest = errors.New("not understood")
	errBusy    = errors.New("another check or sweep is under way: wait for its end, or cancel it")
)

// Options say whom a console serves, and what it may do.
type Options struct {
	// Name is what the page calls the database.
	Name string
	// Token is what lets a browser in: see package loopback.
	Token string
	// Write has the console put and delete keys. The handle must allow it too.
	Write bool
	// Monitor is what the handle is observed by, for the charts; nil: there are none.
	Monitor *activity.Monitor
}

type console struct {
	db      *strictkv.DB
	options Options
	work    sync.Mutex // held while a check or a sweep is under way
}

// New returns what serves the console of a database, to those who have the token.
func New(db *strictkv.DB, o Options) http.Handler {
	c, mux := &console{db: db, options: o}, http.NewServeMux()
	files, err := fs.Sub(embedded, "page")
	if err != nil {
		panic(err) // the folder is in the binary
	}
	mux.Handle("GET /", http.FileServerFS(files))
	mux.Handle("GET /api/list", answer(c.list))
	mux.Handle("GET /api/key", answer(c.key))
	mux.Handle("GET /api/activity", answer(c.activity))
	mux.HandleFunc("GET /api/value", c.value)
	mux.Handle("POST /api/change", answer(c.change))
	mux.HandleFunc("POST /api/work", c.run)
	return loopback.Guard(o.Token, http.MaxBytesHandler(mux, bodyMax))
}

// answer answers with what a function returns, as JSON.
func answer(f func(context.Context, *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerMax)
		defer cancel()
		v, err := f(ctx, r)
		var text []byte
		if err == nil {
			text, err = keytext.JSON(v)
		}
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // who has gone gets nothing
	})
}

// codes are those of errors that are not the console's fault.
var codes = []struct {
	error
	code int
}{
	{errRequest, http.StatusBadRequest}, {keytext.ErrSyntax, http.StatusBadRequest},
	{strictkv.ErrInvalid, http.StatusBadRequest}, {strictkv.ErrInvalidKey, http.StatusBadRequest},
	{strictkv.ErrReadOnly, http.StatusForbidden}, {strictkv.ErrNotFound, http.StatusNotFound},
	{strictkv.ErrExists, http.StatusConflict}, {strictkv.ErrVersion, http.StatusConflict},
	{errBusy, http.StatusConflict}, {strictkv.ErrUnavailable, http.StatusServiceUnavailable},
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	for _, x := range codes {
		if errors.Is(err, x.error) {
			code = x.code
			break
		}
	}
	text, _ := keytext.JSON(map[string]string{"error": err.Error()})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

// activity tells what charts show.
func (c *console) activity(context.Context, *http.Request) (any, error) {
	out := map[string]any{
		"database": c.options.Name, "write": c.options.Write, "stats": keytext.Fields(c.db.Stats()),
	}
	if m := c.options.Monitor; m != nil {
		out["seconds"], out["keys"] = m.Charts(time.Now())
	}
	return out, nil
}

// asked is what a request has sent, if it asks for more than to see something.
type asked struct {
	Collection, Key, Version, Task string
	Value                          []byte // nil deletes the key
}

func read(r *http.Request) (q asked, err error) {
	if err = json.NewDecoder(r.Body).Decode(&q); err != nil {
		err = fmt.Errorf("%w: %w", errRequest, err)
	}
	return q, err
}
