package main

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"iter"
	"math/rand/v2"

	"github.com/strictkv/strictkv"
)

// parcels is the collection of the land register.
func parcels(db *strictkv.DB) *strictkv.Collection { return db.Collection([]byte("parcels")) }

// parcelKey is the key of a parcel.
func parcelKey(i int) []byte {
	return fmt.Appendf(nil, "%03d-%02d-%06d", i%401, i%37, i)
}

// parcel is a record, and how often it has been updated.
func parcel(r *rand.Rand, i, updates int) []byte {
	kinds := []string{"arable", "meadow", "forest", "building", "garden", "road", "water"}
	return fmt.Appendf(nil, `{"parcel":"%06d/%d","municipality":%d,"kind":%q,"area_m2":%d,`+
		`"owner":"person-%07d","share":"1/%d","price_per_m2":%d.%02d,"burden":%t,"updates":%d}`,
		i, r.IntN(9), 500_000+i%401, kinds[r.IntN(len(kinds))], 100+r.IntN(90_000),
		r.IntN(3_000_000), 1+r.IntN(4), r.IntN(300), r.IntN(100), r.IntN(10) == 0, updates)
}

// register yields all records.
func register(n int, seed uint64) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		r := rand.New(rand.NewPCG(seed, 0))
		for i := range n {
			if !yield(parcelKey(i), parcel(r, i, 0)) {
				return
			}
		}
	}
}

// sum is what a copy has, so that copies can be compared.
type sum struct {
	hash hash.Hash
	keys int
}

func newSum() *sum { return &sum{hash: sha256.New()} }

func (s *sum) add(key, value []byte) {
	fmt.Fprintf(s.hash, "%d %d %s%s", len(key), len(value), key, value)
	s.keys++
}

func (s *sum) String() string { return fmt.Sprintf("%d:%.12x", s.keys, s.hash.Sum(nil)) }
