package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/dump"
	"github.com/strictkv/strictkv/internal/keytext"
)

const (
	pageKeys       = 50       // keys on a page
	collectionsMax = 500      // collections shown of those within one
	shownMax       = 64 << 10 // bytes of a value that are shown
	intentMax      = 1 << 10  // bytes shown of the value of an intent
)

// rasters are the images that a browser is given as such: nothing in them is run.
var rasters = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"}

// raster is the type of an image, by how it begins; empty of anything else.
func raster(value []byte) string {
	if kind := http.DetectContentType(value); slices.Contains(rasters, kind) {
		return kind
	}
	return ""
}

// place is the collection, and the names that lead there.
func (c *console) place(path string) (*strictkv.Collection, [][]byte, error) {
	if path == "" {
		return nil, nil, nil
	}
	names, err := keytext.ParsePath(path)
	return dump.Below(c.db, names), names, err
}

// at is the key that texts name.
func (c *console) at(path, text string) (*strictkv.Collection, []byte, error) {
	in, _, err := c.place(path)
	if err != nil {
		return nil, nil, err
	}
	key, err := keytext.Parse(text)
	if in == nil {
		err = errors.Join(errRequest, errors.New("no collection"))
	}
	return in, key, err
}

// link is a collection that can be gone to.
type link struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

func linkTo(names [][]byte) link {
	last := len(names) - 1
	return link{keytext.ShowPath(names[last:]), keytext.ShowPath(names)}
}

// listing is a page of a collection.
type listing struct {
	Database    string   `json:"database"`
	Write       bool     `json:"write"`
	Crumbs      []link   `json:"crumbs"`
	Collections []link   `json:"collections"`
	Cut         bool     `json:"cut"` // there are more collections
	Keys        []string `json:"keys"`
	Next        bool     `json:"next"` // there are more keys
}

func (c *console) list(ctx context.Context, r *http.Request) (any, error) {
	in, names, err := c.place(r.FormValue("collection"))
	if err != nil {
		return nil, err
	}
	out := listing{
		Database: c.options.Name, Write: c.options.Write,
		Crumbs: []link{}, Collections: []link{}, Keys: []string{},
	}
	for i := range names {
		out.Crumbs = append(out.Crumbs, linkTo(names[:i+1]))
	}
	inner := c.db.Collections(ctx)
	if in != nil {
		inner = in.Collections(ctx)
		if err := out.fill(ctx, in, r); err != nil {
			return nil, err
		}
	}
	if r.FormValue("after") != "" || r.FormValue("prefix") != "" {
		return out, nil
	}
	for name, err := range inner {
		if err != nil {
			return nil, err
		}
		if out.Cut = len(out.Collections) == collectionsMax; out.Cut {
			break
		}
		out.Collections = append(out.Collections, linkTo(append(slices.Clip(names), name)))
	}
	return out, nil
}

// fill takes the keys of the page.
func (l *listing) fill(ctx context.Context, in *strictkv.Collection, r *http.Request) error {
	prefix, err := keytext.Parse(r.FormValue("prefix"))
	if err != nil {
		return err
	}
	within := strictkv.Prefix(prefix)
	if text := r.FormValue("after"); text != "" {
		after, err := keytext.Parse(text)
		if err != nil {
			return err
		}
		within = within.After(after)
	}
	within.KeysOnly, within.Limit = true, pageKeys+1
	for item, err := range in.Items(ctx, within) {
		if err != nil {
			return err
		}
		if l.Next = len(l.Keys) == pageKeys; !l.Next {
			l.Keys = append(l.Keys, keytext.Show(item.Key))
		}
	}
	return nil
}

// shown is a value, or the beginning of it.
type shown struct {
	Size    int        `json:"size"`
	Version string     `json:"version"`
	Expires *time.Time `json:"expires,omitempty"`
	Image   string     `json:"image,omitempty"`
	Data    []byte     `json:"data"`
}

func (c *console) key(ctx context.Context, r *http.Request) (any, error) {
	in, key, err := c.at(r.FormValue("collection"), r.FormValue("key"))
	if err != nil {
		return nil, err
	}
	out := map[string]any{"key": keytext.Show(key)}
	item, err := in.ReadItem(ctx, key)
	switch {
	case err == nil:
		v := shown{
			Size: len(item.Value), Version: item.Version.String(), Image: raster(item.Value),
			Data: item.Value[:min(len(item.Value), shownMax)],
		}
		if !item.Expires.IsZero() {
			v.Expires = &item.Expires
		}
		out["value"] = v
	case !errors.Is(err, strictkv.ErrNotFound):
		out["error"] = err.Error() // the cell may be seen nevertheless
	}
	cell, err := in.Inspect(ctx, key)
	switch {
	case err != nil && out["error"] == nil:
		return nil, err
	case err == nil && cell.ObjectVersion == "":
		return nil, strictkv.ErrNotFound
	case err == nil:
		cell.Value.Data, cell.Current.Data = nil, nil
		if cell.Intent != nil {
			data := cell.Intent.Value.Data
			cell.Intent.Value.Data = data[:min(len(data), intentMax)]
		}
		fields := keytext.Fields(cell)
		if cell.Intent == nil {
			delete(fields, "current") // it is the value
		}
		out["cell"] = fields
	}
	return out, nil
}

// value answers with the bytes of a value: to be stored as a file, or as an image.
func (c *console) value(w http.ResponseWriter, r *http.Request) {
	in, key, err := c.at(r.FormValue("collection"), r.FormValue("key"))
	var item strictkv.Item
	if err == nil {
		item, err = in.ReadItem(r.Context(), key)
	}
	if err != nil {
		fail(w, err)
		return
	}
	kind := raster(item.Value)
	if r.FormValue("as") != "image" || kind == "" {
		kind = "application/octet-stream"
		w.Header().Set("Content-Disposition", `attachment; filename="value"`)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(item.Value)))
	_, _ = w.Write(item.Value)
}

// change puts or deletes a key, if it still has the version that was shown; without one, it must
// have no value. A value expires when the one before would have.
func (c *console) change(ctx context.Context, r *http.Request) (any, error) {
	q, err := read(r)
	if err != nil {
		return nil, err
	}
	in, key, err := c.at(q.Collection, q.Key)
	if err != nil {
		return nil, err
	}
	version, err := strictkv.ParseVersion(q.Version)
	if err == nil && !c.options.Write {
		err = strictkv.ErrReadOnly
	}
	if err != nil {
		return nil, err
	}
	return struct{}{}, c.db.Tx(ctx, func(tx *strictkv.Tx) error {
		if version.IsZero() && q.Value != nil {
			return tx.Insert(in, key, q.Value)
		}
		if err := tx.Require(in, key, version); err != nil {
			return err
		}
		if q.Value == nil {
			return tx.Delete(in, key)
		}
		old, err := tx.ReadItem(in, key)
		if err != nil {
			return err
		}
		return tx.Write(in, key, q.Value, strictkv.ExpireAt(old.Expires))
	})
}
