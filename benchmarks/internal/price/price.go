// Package price tells what requests cost at the clouds' list prices.
package price

// List is what a store takes for its requests, in US dollars per 1000. Deletes are free in
// all of them.
type List struct {
	// Name is that of a profile of package bucket.
	Name string
	// Put and List are for one write and for one page of a listing, Get for one read: an
	// answer "not modified" costs as much.
	Put, List, Get float64
}

// Lists are the prices of the standard classes in large regions of the United States, as known
// in November 2026; those of Azure are for the hot tier, locally redundant. They differ by
// region: look yours up. Storage and traffic come on top.
var Lists = []List{
	{Name: "gcs", Put: 0.005, List: 0.005, Get: 0.0004},
	{Name: "s3", Put: 0.005, List: 0.005, Get: 0.0004},
	{Name: "azure", Put: 0.005, List: 0.005, Get: 0.0004},
}

// Requests are counts by kind.
type Requests struct{ Gets, Puts, Lists int64 }

// Cost is what the requests cost, in dollars.
func (l List) Cost(r Requests) float64 {
	return (l.Put*float64(r.Puts) + l.List*float64(r.Lists) + l.Get*float64(r.Gets)) / 1000
}

// PerMillion is what a million transactions cost, in dollars, if n of them took r.
func (l List) PerMillion(r Requests, n int64) float64 {
	if n == 0 {
		return 0
	}
	return l.Cost(r) / float64(n) * 1e6
}
