package strictkv_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
)

// documents serves values as resources, with their versions as ETags: who sends what he has read
// back with If-Match can't overwrite what others have written meanwhile.
type documents struct {
	db *strictkv.DB
	c  *strictkv.Collection
}

func (d documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var err error
	if key := []byte(r.URL.Path); r.Method == http.MethodPut {
		err = d.put(r, key)
	} else {
		err = d.get(w, r, key)
	}
	switch {
	case err == nil:
	case errors.Is(err, strictkv.ErrNotFound):
		w.WriteHeader(http.StatusNotFound)
	case errors.Is(err, strictkv.ErrVersion), errors.Is(err, strictkv.ErrInvalid):
		w.WriteHeader(http.StatusPreconditionFailed)
	default:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (d documents) get(w http.ResponseWriter, r *http.Request, key []byte) error {
	item, err := d.c.ReadItem(r.Context(), key)
	if err != nil {
		return err
	}
	etag := `"` + item.Version.String() + `"`
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	_, err = w.Write(item.Value)
	return err
}

func (d documents) put(r *http.Request, key []byte) error {
	value, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	// Without If-Match the document must be new: the zero Version.
	seen, err := strictkv.ParseVersion(strings.Trim(r.Header.Get("If-Match"), `"`))
	if err != nil {
		return err
	}
	return d.db.Tx(r.Context(), func(tx *strictkv.Tx) error {
		if err := tx.Require(d.c, key, seen); err != nil {
			return err
		}
		return tx.Write(d.c, key, value)
	})
}

// A service has its documents edited by compare-and-set over several requests.
func ExampleVersion() {
	db := openExample()
	defer db.Close(ctx)
	server := documents{db, db.Collection([]byte("documents"))}
	request := func(method, header, etag, body string) (answer *http.Response) {
		r := httptest.NewRequest(method, "/readme", strings.NewReader(body))
		r.Header.Set(header, etag)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Result()
	}
	fmt.Println("create:", request("PUT", "If-Match", "", "first").StatusCode)
	etag := request("GET", "If-None-Match", "", "").Header.Get("ETag")
	fmt.Println("unchanged:", request("GET", "If-None-Match", etag, "").StatusCode)
	fmt.Println("edit:", request("PUT", "If-Match", etag, "second").StatusCode)
	fmt.Println("edit of what was first:", request("PUT", "If-Match", etag, "third").StatusCode)
	fmt.Println("changed:", request("GET", "If-None-Match", etag, "").StatusCode)
	// Output:
	// create: 200
	// unchanged: 304
	// edit: 200
	// edit of what was first: 412
	// changed: 200
}

func ExampleTx_Require() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	key := []byte("key")
	must(c.Write(ctx, key, []byte("read")))
	item, err := c.ReadItem(ctx, key)
	must(err)
	must(c.Write(ctx, key, []byte("replaced by somebody else")))

	err = db.Tx(ctx, func(tx *strictkv.Tx) error {
		if err := tx.Require(c, key, item.Version); err != nil {
			return err
		}
		return tx.Write(c, key, append(item.Value, " and edited"...))
	})
	fmt.Println(errors.Is(err, strictkv.ErrVersion))
	// Output: true
}

func ExampleVersionError() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("key"), nil))
	err := db.Tx(ctx, func(tx *strictkv.Tx) error {
		return tx.Require(c, []byte("key"), strictkv.Version{}) // no value
	})
	var other *strictkv.VersionError
	if errors.As(err, &other) {
		fmt.Println(other.Want.IsZero(), other.Found.IsZero())
	}
	// Output: true false
}

func ExampleTx_ReadVersion() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("key"), nil))
	must(db.View(ctx, func(tx *strictkv.Tx) error {
		here, err := tx.ReadVersion(c, []byte("key"))
		must(err)
		none, err := tx.ReadVersion(c, []byte("no such key"))
		fmt.Println(here.IsZero(), none.IsZero())
		return err
	}))
	// Output: false true
}

func ExampleTx_ReadItem() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("key"), []byte("value")))
	must(db.View(ctx, func(tx *strictkv.Tx) error {
		i, err := tx.ReadItem(c, []byte("key"))
		fmt.Printf("%s=%s, expires: %v\n", i.Key, i.Value, !i.Expires.IsZero())
		return err
	}))
	// Output: key=value, expires: false
}

func ExampleCollection_ReadItem() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("key"), []byte("value")))
	i, err := c.ReadItem(ctx, []byte("key"))
	fmt.Printf("%s=%s, has a version: %v, %v\n", i.Key, i.Value, !i.Version.IsZero(), err)
	// Output: key=value, has a version: true, <nil>
}

func ExampleVersion_IsZero() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(db.View(ctx, func(tx *strictkv.Tx) error {
		v, err := tx.ReadVersion(c, []byte("no such key"))
		fmt.Println(v.IsZero())
		return err
	}))
	// Output: true
}

func ExampleParseVersion() {
	v, err := strictkv.ParseVersion("0123456789abcdef0123456789abcdef")
	fmt.Println(v, err)
	_, err = strictkv.ParseVersion("W/1")
	fmt.Println(errors.Is(err, strictkv.ErrInvalid))
	// Output:
	// 0123456789abcdef0123456789abcdef <nil>
	// true
}

func ExampleVersion_String() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("key"), nil))
	i, err := c.ReadItem(ctx, []byte("key"))
	must(err)
	again, err := strictkv.ParseVersion(i.Version.String())
	fmt.Println(again == i.Version, err)
	// Output: true <nil>
}

// A form keeps the version of what it shows.
func ExampleVersion_MarshalText() {
	v, err := strictkv.ParseVersion("0123456789abcdef0123456789abcdef")
	must(err)
	form, err := json.Marshal(map[string]strictkv.Version{"version": v})
	fmt.Println(string(form), err)
	// Output: {"version":"0123456789abcdef0123456789abcdef"} <nil>
}

func ExampleVersion_UnmarshalText() {
	var form struct{ Version strictkv.Version }
	err := json.Unmarshal([]byte(`{"version": "0123456789abcdef0123456789abcdef"}`), &form)
	fmt.Println(form.Version, err)
	// Output: 0123456789abcdef0123456789abcdef <nil>
}

// A session ends by itself, and each use of it puts that off.
func ExampleExpireAt() {
	db := openExample()
	defer db.Close(ctx)
	sessions := db.Collection([]byte("sessions"))
	login := func(id string, end time.Time) {
		must(sessions.Insert(ctx, []byte(id), []byte("alice"), strictkv.ExpireAt(end)))
	}
	use := func(id string) error {
		return db.Tx(ctx, func(tx *strictkv.Tx) error {
			user, err := tx.Read(sessions, []byte(id))
			if err != nil {
				return err // ErrNotFound: log in again
			}
			end := strictkv.ExpireAt(time.Now().Add(time.Hour))
			return tx.Write(sessions, []byte(id), user, end)
		})
	}
	login("lasting", time.Now().Add(time.Hour))
	login("over", time.Now().Add(-time.Second))
	fmt.Println(use("lasting"), errors.Is(use("over"), strictkv.ErrNotFound))
	login("over", time.Now().Add(time.Hour)) // there is none
	// Output: <nil> true
}

func ExampleTx_ReadMultiMax() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("a"), make([]byte, 1000)))
	must(c.Write(ctx, []byte("b"), make([]byte, 1000)))
	must(db.View(ctx, func(tx *strictkv.Tx) error {
		left := 0
		for _, r := range tx.ReadMultiMax(1500, c.Key([]byte("a")), c.Key([]byte("b"))) {
			if errors.Is(r.Err, strictkv.ErrNoRoom) {
				left++
			}
		}
		fmt.Println(left, "left out")
		return nil
	}))
	// Output: 1 left out
}
