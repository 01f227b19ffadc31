package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/raw"
)

// storeRow compares the mix on a stand-in with what that does by itself. Latencies are
// medians.
type storeRow struct {
	Store     string  `json:"store" show:"title"`
	Get       float64 `json:"download_ms" column:"download, ms" short:"download"`
	Unchanged float64 `json:"not_modified_ms" column:"not modified, ms" short:"unchanged"`
	Put       float64 `json:"upload_ms" column:"upload, ms" short:"upload"`
	Clients   int     `json:"clients" column:"clients x 10" short:"clients"`
	PerSecond float64 `json:"per_s" column:"transactions/s" short:"per s"`
	Read      float64 `json:"read_ms" column:"strong read of 2 keys, ms" short:"read p50"`
	Update    float64 `json:"update_ms" column:"update of 2 keys, ms" short:"update p50"`
	OfRaw     float64 `json:"of_raw" column:"requests/s, of a bare loop's" short:"of raw"`
}

// The stand-ins are asked by fewer clients than the clouds: client and server share the
// processor.
var storeClients = []int{1, 4}

const (
	storeKeys = 2000
	rawCount  = 100
)

// stores measures some stand-ins, by name. Those that are not on this machine are left out.
func stores(
	t *testing.T, s settings, names string, progress io.Writer,
) (rows []storeRow, failed error) {
	s.Keys = storeKeys
	for name := range strings.SplitSeq(names, ",") {
		done := false
		t.Run(name, func(t *testing.T) {
			s.Bucket = bucket.Options{Server: name}
			more, err := store(t, s, progress)
			rows, failed, done = append(rows, more...), errors.Join(failed, err), true
		})
		if !done {
			fmt.Fprintf(progress, "%s is not here: see docs/testing.md\n", name)
		}
	}
	return rows, failed
}

func store(t *testing.T, s settings, progress io.Writer) (rows []storeRow, err error) {
	if err := s.Bucket.Start(t); err != nil {
		return nil, err
	}
	limit, err := s.raw(t.Context())
	if err != nil {
		return nil, err
	}
	for _, s.Clients = range storeClients {
		r, err := measure(t, s, 1, progress)
		if err != nil {
			return nil, err
		}
		row := limit
		row.Clients, row.PerSecond, row.OfRaw = r.Clients, r.PerSecond, r.OfRaw
		row.Read, row.Update = r.ReadP50, r.UpdateP50
		rows = append(rows, row)
	}
	return rows, nil
}

// raw measures the store alone.
func (s settings) raw(ctx context.Context) (row storeRow, err error) {
	b, err := bucket.Open(ctx, s.Bucket)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	all, err := b.Raw().Latency(ctx, s.ValueSize, rawCount)
	row.Store = s.Bucket.String()
	for _, r := range all {
		switch r.Request {
		case raw.Get:
			row.Get = r.Median
		case raw.Unchanged:
			row.Unchanged = r.Median
		case raw.Put:
			row.Put = r.Median
		}
	}
	return row, err
}
