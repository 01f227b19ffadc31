package gcstest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// pageMax is the largest number of entries of a page.
const pageMax = 1000

// listing is the body of an answer.
type listing struct {
	Kind          string            `json:"kind"`
	Items         []json.RawMessage `json:"items,omitempty"`
	Prefixes      []string          `json:"prefixes,omitempty"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

// list makes a page out of all objects that fake-gcs-server has.
func (p *proxy) list(r *http.Request) (answer, error) {
	q := r.URL.Query()
	a, err := p.forward(r, url.Values{"prefix": q["prefix"]}, nil)
	if err != nil {
		return a, err
	}
	if a.status == http.StatusNotFound {
		return noBucket(), nil
	}
	var all listing
	if err := json.Unmarshal(a.body, &all); err != nil {
		return a, err
	}
	after, err := base64.RawURLEncoding.DecodeString(q.Get("pageToken"))
	if err != nil {
		return failure(http.StatusBadRequest, "invalid", "Invalid page token."), nil
	}
	page, err := cut(all.Items, q, string(after))
	return jsonAnswer(http.StatusOK, page), err
}

// cut takes the page that begins after an entry. The items are in order.
func cut(items []json.RawMessage, q url.Values, last string) (listing, error) {
	page := listing{Kind: "storage#objects"}
	start, end := q.Get("startOffset"), q.Get("endOffset")
	for _, item := range items {
		var object struct{ Name string }
		if err := json.Unmarshal(item, &object); err != nil {
			return page, err
		}
		entry, rolled := rollup(object.Name, q.Get("prefix"), q.Get("delimiter"))
		if entry <= last || object.Name < start || end != "" && object.Name >= end {
			continue
		}
		if len(page.Items)+len(page.Prefixes) == limit(q) {
			page.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(last))
			return page, nil
		}
		last = entry
		if rolled {
			page.Prefixes = append(page.Prefixes, entry)
		} else {
			page.Items = append(page.Items, item)
		}
	}
	return page, nil
}

// rollup returns the entry that a name belongs to, and whether that is a prefix.
func rollup(name, prefix, delimiter string) (entry string, rolled bool) {
	i := strings.Index(name[len(prefix):], delimiter)
	if i < 0 || delimiter == "" {
		return name, false
	}
	return name[:len(prefix)+i+len(delimiter)], true
}

func limit(q url.Values) int {
	n, err := strconv.Atoi(q.Get("maxResults"))
	if err != nil || n <= 0 || n > pageMax {
		return pageMax
	}
	return n
}
