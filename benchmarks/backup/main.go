// Command backup measures backups and restores of a database in a real store, or a stand-in:
//
//	go run -C benchmarks ./backup -server folder -keys 200000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/report"
	_ "github.com/strictkv/strictkv/benchmarks/internal/server" // -bucket and -server
	"github.com/strictkv/strictkv/benchmarks/internal/virtual"
	"github.com/strictkv/strictkv/layers/backup"
	"github.com/strictkv/strictkv/layers/snapshot"
)

func main() { virtual.Main(program) }

// row is one step.
type row struct {
	Store   string  `json:"store" column:"store"`
	Step    string  `json:"step" column:"step"`
	Seconds float64 `json:"seconds" column:"s"`
	MB      float64 `json:"mb" column:"MB moved"`
	Keys    int64   `json:"keys" column:"keys"`
}

func program(t *testing.T, args []string, out, progress io.Writer) (err error) {
	f := flag.NewFlagSet("backup", flag.ContinueOnError)
	f.SetOutput(progress)
	server := f.String("server", "folder", "folder, or a stand-in to start: "+bucket.Real.Names())
	keys := f.Int("keys", 20_000, "keys of 16 bytes, with values of 1008")
	collections := f.Int("collections", 1,
		"how many collections they are in: stand-ins list a short prefix quicker")
	concurrency := f.Int("concurrency", strictkv.DefaultConcurrency,
		"requests at once: a server that is slow to accept connections has some time out")
	to := report.Output{Table: out}
	to.Flag(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	if *keys < 100 || *collections < 1 || *collections > *keys {
		return errors.New("backup: want at least 100 keys, and one in each collection")
	}
	url := "file://" + t.TempDir()
	if *server != "folder" {
		if url, err = bucket.Real.Start(t, *server); err != nil {
			return err
		}
	}
	b, err := bucketurl.Open(context.Background(), url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	m := &measuring{ctx: context.Background(), store: *server, b: b, keys: *keys, log: progress,
		collections: *collections, concurrency: *concurrency}
	if err := m.run(); err != nil {
		return err
	}
	return report.Show(to, "", m.rows)
}

type measuring struct {
	ctx         context.Context
	store       string
	b           *bucketurl.Bucket
	keys        int
	collections int
	concurrency int
	log         io.Writer
	moved       atomic.Int64
	rows        []row
}

// step measures f, which tells how many keys it has dealt with.
func (m *measuring) step(name string, f func() (int64, error)) error {
	start, before := time.Now(), m.moved.Load()
	n, err := f()
	took := time.Since(start).Seconds()
	fmt.Fprintf(m.log, "%s: %s: %.1f s\n", m.store, name, took)
	m.rows = append(m.rows, row{m.store, name, took, float64(m.moved.Load()-before) / 1e6, n})
	return err
}

func (m *measuring) open(name string) (*strictkv.DB, error) {
	return strictkv.Open(m.ctx, name, m.b, strictkv.WithConcurrency(m.concurrency))
}

func (m *measuring) run() error {
	db, err := m.open("mine")
	if err != nil {
		return err
	}
	defer db.Close(m.ctx)
	repo, err := backup.Open(m.b.Within("backups"), backup.Options{Progress: m.moved.Store})
	if err != nil {
		return err
	}
	if err := m.step("load", func() (int64, error) { return m.load(db) }); err != nil {
		return err
	}
	if err := m.back(repo, db, "full", false); err != nil {
		return err
	}
	for i := range m.collections {
		for k, v := range m.records(i, 100, 1) {
			if err := m.collection(db, i).Write(m.ctx, k, v); err != nil {
				return err
			}
		}
	}
	if err := m.back(repo, db, "incremental, after 1 %", true); err != nil {
		return err
	}
	if err := m.step("verify", func() (int64, error) {
		info, err := repo.Verify(m.ctx, "")
		return info.Keys, err
	}); err != nil {
		return err
	}
	copied, err := m.open("copy")
	if err != nil {
		return err
	}
	defer copied.Close(m.ctx)
	if err := m.step("restore", func() (int64, error) {
		r, err := repo.Restore(m.ctx, "", copied, backup.RestoreOptions{})
		return r.Inserted, err
	}); err != nil {
		return err
	}
	return m.step("compare, check", func() (int64, error) { return m.compare(db, copied) })
}

func (m *measuring) collection(db *strictkv.DB, i int) *strictkv.Collection {
	return db.Collection(fmt.Appendf(nil, "c%03d", i))
}

func (m *measuring) load(db *strictkv.DB) (inserted int64, err error) {
	for i := 0; err == nil && i < m.collections; i++ {
		var r strictkv.LoadReport
		r, err = m.collection(db, i).Load(m.ctx, m.records(i, 1, 0), strictkv.LoadOptions{})
		inserted += r.Inserted
	}
	return inserted, err
}

func (m *measuring) back(
	repo *backup.Repository, db *strictkv.DB, name string, incremental bool,
) error {
	return m.step(name, func() (int64, error) {
		info, err := repo.Backup(m.ctx, db, backup.BackupOptions{Incremental: incremental})
		return info.Keys, err
	})
}

// compare compares the hashes of all that is in two databases, and checks the second.
func (m *measuring) compare(a, b *strictkv.DB) (int64, error) {
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s := snapshot.Dir(dir)
	one, err := snapshot.SaveDB(m.ctx, s, a, snapshot.SaveOptions{})
	if err != nil {
		return 0, err
	}
	two, err := snapshot.SaveDB(m.ctx, s, b, snapshot.SaveOptions{})
	if err == nil && one != two {
		err = errors.New("what was restored differs")
	}
	if err != nil {
		return 0, err
	}
	r, err := b.Check(m.ctx, strictkv.CheckOptions{})
	if err == nil && len(r.Problems) > 0 {
		err = fmt.Errorf("check: %v", r.Problems)
	}
	return int64(m.keys), err
}

// records yields each n-th record of a collection, in a version; nobody can compress its value.
func (m *measuring) records(c, n int, version uint64) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		value := make([]byte, 1008)
		for i := c; i < m.keys; i += n * m.collections {
			x := uint64(i)*0x9e3779b97f4a7c15 + version + 1
			for j := range value {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
				value[j] = byte(x)
			}
			if !yield(fmt.Appendf(nil, "k%015d", i*7), value) {
				return
			}
		}
	}
}
