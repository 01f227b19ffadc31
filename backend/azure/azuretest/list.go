package azuretest

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pageMax is the largest number of entries in a page. Azure may send fewer than
// its 5000, too.
const pageMax = 1000

// entry is one object of a listing.
type entry struct {
	name, tag string
	size      int64
	modified  time.Time
}

// entries returns what a listing tells of the objects.
func entries(objects map[string]*object) []entry {
	all := make([]entry, 0, len(objects))
	for name, o := range objects {
		// A listing has ETags without quotes.
		all = append(all, entry{name, strings.Trim(o.tag, `"`), int64(len(o.data)), o.modified})
	}
	return all
}

// page is a listing as XML.
type page struct {
	XMLName xml.Name `xml:"EnumerationResults"`
	Blobs   struct {
		Items    []item   `xml:"Blob"`
		Prefixes []rolled `xml:"BlobPrefix"`
	}
	NextMarker string
}

type item struct {
	Name       string
	Properties struct {
		Modified string `xml:"Last-Modified"`
		Etag     string
		Length   int64 `xml:"Content-Length"`
		BlobType string
	}
}

type rolled struct{ Name string }

// parameters are those of a listing that are known.
var parameters = []string{
	"restype", "comp", "prefix", "delimiter", "marker", "maxresults", "startFrom",
}

// list answers the page that the query asks for, of entries in any order.
func list(w http.ResponseWriter, query url.Values, all []entry) *failure {
	for name := range query {
		if !slices.Contains(parameters, name) {
			return strange(name)
		}
	}
	most := pageMax
	if s := query.Get("maxresults"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n <= 0 {
			return &failure{http.StatusBadRequest, "OutOfRangeQueryParameterValue"}
		}
		most = min(most, n)
	}
	after, err := base64.StdEncoding.DecodeString(query.Get("marker"))
	if err != nil {
		return &failure{http.StatusBadRequest, "InvalidQueryParameterValue"}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	body, err := xml.Marshal(fill(all, query, string(after), most))
	if err != nil {
		return &failure{http.StatusInternalServerError, "InternalError"}
	}
	w.Header().Set("Content-Type", "application/xml")
	_, _ = fmt.Fprintf(w, "%s%s", xml.Header, body)
	return nil
}

// fill makes a page of at most that many entries greater than after. StartFrom
// is about names, after about what they are rolled up to.
func fill(all []entry, query url.Values, after string, most int) page {
	var (
		p         page
		prefix    = query.Get("prefix")
		delimiter = query.Get("delimiter")
		last      = after
		count     = 0
	)
	for _, e := range all {
		rest, ok := strings.CutPrefix(e.name, prefix)
		if !ok || e.name < query.Get("startFrom") {
			continue
		}
		shown := e.name
		i := strings.Index(rest, delimiter)
		isPrefix := delimiter != "" && i >= 0
		if isPrefix {
			shown = prefix + rest[:i+len(delimiter)]
		}
		if shown <= last {
			continue
		}
		if count == most {
			p.NextMarker = base64.StdEncoding.EncodeToString([]byte(last))
			break
		}
		count++
		last = shown
		if isPrefix {
			p.Blobs.Prefixes = append(p.Blobs.Prefixes, rolled{shown})
			continue
		}
		p.Blobs.Items = append(p.Blobs.Items, e.item())
	}
	return p
}

func (e entry) item() item {
	i := item{Name: e.name}
	i.Properties.Modified = e.modified.Format(http.TimeFormat)
	i.Properties.Etag = e.tag
	i.Properties.Length = e.size
	i.Properties.BlobType = "BlockBlob"
	return i
}
