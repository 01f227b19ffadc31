package s3test

import (
	"encoding/base64"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/johannesboyne/gofakes3"
)

// pageMax is the largest number of entries of a page.
const pageMax = 1000

// listing is the body of an answer.
type listing struct {
	XMLName               xml.Name            `xml:"ListBucketResult"`
	Contents              []*gofakes3.Content `xml:"Contents"`
	CommonPrefixes        []prefix            `xml:"CommonPrefixes"`
	EncodingType          string              `xml:",omitempty"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
}

type prefix struct{ Prefix string }

// list makes a page out of all objects that gofakes3 has.
func (c *corrected) list(w http.ResponseWriter, bucket string, q url.Values) {
	all, err := c.objects.ListBucket(bucket,
		&gofakes3.Prefix{HasPrefix: true, Prefix: q.Get("prefix")}, gofakes3.ListBucketPage{})
	if err != nil {
		fail(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
		return
	}
	last, started := "", q.Get("start-after")
	if token := q.Get("continuation-token"); token != "" {
		text, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			fail(w, http.StatusBadRequest, "InvalidArgument", "The continuation token is incorrect")
			return
		}
		last, started = string(text), ""
	}
	page := listing{}
	for _, object := range all.Contents {
		entry, rolled := rollup(object.Key, q.Get("prefix"), q.Get("delimiter"))
		// As S3 does, start after a name, be it within a prefix that is rolled up.
		if object.Key <= started || entry <= last {
			continue
		}
		if len(page.Contents)+len(page.CommonPrefixes) == limit(q) {
			page.IsTruncated = true
			page.NextContinuationToken = base64.RawURLEncoding.EncodeToString([]byte(last))
			break
		}
		last = entry
		if rolled {
			page.CommonPrefixes = append(page.CommonPrefixes, prefix{entry})
		} else {
			page.Contents = append(page.Contents, object)
		}
	}
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, xml.Header)
	if q.Get("encoding-type") == "url" {
		page.encode()
	} else if page.unreadable() {
		_, _ = io.WriteString(w, "<ListBucketResult><Prefix>&#x1;</Prefix></ListBucketResult>")
		return
	}
	_ = xml.NewEncoder(w).Encode(page)
}

// encode makes names such that any reader of XML can have them.
func (l *listing) encode() {
	l.EncodingType = "url"
	for i, o := range l.Contents {
		o := *o // It is the store's.
		o.Key = url.QueryEscape(o.Key)
		l.Contents[i] = &o
	}
	for i := range l.CommonPrefixes {
		l.CommonPrefixes[i].Prefix = url.QueryEscape(l.CommonPrefixes[i].Prefix)
	}
}

// unreadable reports whether a name has a character that XML lacks, which S3 sends all
// the same.
func (l *listing) unreadable() bool {
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }
	for _, o := range l.Contents {
		if strings.ContainsFunc(o.Key, control) || !utf8.ValidString(o.Key) {
			return true
		}
	}
	return false
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
	n, err := strconv.Atoi(q.Get("max-keys"))
	if err != nil || n <= 0 || n > pageMax {
		return pageMax
	}
	return n
}
