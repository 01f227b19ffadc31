package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/dgraph-io/badger/v4"
	"go.etcd.io/bbolt"

	"github.com/strictkv/strictkv"
	store "github.com/strictkv/strictkv/backend/pebble"
)

// engine is an open store of keys and values.
type engine interface {
	// update adds 1 to the number at the beginning of a key's value, in a transaction that is
	// atomic, and durable if the engine was opened so.
	update(ctx context.Context, key []byte) error
	// read reads the current value of a key.
	read(ctx context.Context, key []byte) error
	// scan reads all values in the order of keys, and returns how many.
	scan(ctx context.Context) (int, error)
	// load inserts new keys, in the way that the engine has for many.
	load(ctx context.Context, items iter.Seq2[[]byte, []byte]) error
	close(ctx context.Context) error
}

// kind is one of the engines that are compared.
type kind struct {
	name string
	open func(ctx context.Context, dir string, durable bool) (engine, error)
}

// kinds are the engines. Those of others have their defaults, but for whether they sync.
var kinds = []kind{
	{"strictkv", openStrictKV},
	{"pebble", openPebble},
	{"bbolt", openBolt},
	{"bbolt, Batch", openBatching},
	{"badger", openBadger},
}

// errCount says that a scan has missed something.
var errCount = errors.New("wrong number of keys")

// bump returns a copy of a value with a greater number.
func bump(value []byte) []byte {
	next := append([]byte(nil), value...)
	binary.BigEndian.PutUint64(next, binary.BigEndian.Uint64(value)+1)
	return next
}

type strictKV struct {
	bucket *store.Backend
	db     *strictkv.DB
	c      *strictkv.Collection
}

func openStrictKV(ctx context.Context, dir string, durable bool) (engine, error) {
	var options []store.Option
	if !durable {
		options = append(options, store.NoSync())
	}
	bucket, err := store.Open(dir, options...)
	if err != nil {
		return nil, err
	}
	db, err := strictkv.Open(ctx, "db", bucket)
	if err != nil {
		return nil, errors.Join(err, bucket.Close())
	}
	return &strictKV{bucket, db, db.Collection([]byte("c"))}, nil
}

func (e *strictKV) update(ctx context.Context, key []byte) error {
	return e.c.Update(ctx, key, func(old []byte) ([]byte, error) { return bump(old), nil })
}

func (e *strictKV) read(ctx context.Context, key []byte) error {
	_, err := e.c.Read(ctx, key)
	return err
}

func (e *strictKV) scan(ctx context.Context) (n int, err error) {
	for _, err := range e.c.Items(ctx, strictkv.Range{}) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (e *strictKV) load(ctx context.Context, items iter.Seq2[[]byte, []byte]) error {
	_, err := e.c.Load(ctx, items, strictkv.LoadOptions{})
	return err
}

func (e *strictKV) close(ctx context.Context) error {
	return errors.Join(e.db.Close(ctx), e.bucket.Close())
}

// barePebble does what a program would that has Pebble alone: it locks a key while it
// reads and writes it.
type barePebble struct {
	db    *pebble.DB
	write *pebble.WriteOptions
	locks [1024]sync.Mutex
}

func openPebble(_ context.Context, dir string, durable bool) (engine, error) {
	db, err := pebble.Open(dir, &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest, Logger: silent{},
	})
	if err != nil {
		return nil, err
	}
	e := &barePebble{db: db, write: pebble.NoSync}
	if durable {
		e.write = pebble.Sync
	}
	return e, nil
}

func (e *barePebble) update(_ context.Context, key []byte) error {
	lock := &e.locks[binary.BigEndian.Uint64(key)%uint64(len(e.locks))]
	lock.Lock()
	defer lock.Unlock()
	old, held, err := e.db.Get(key)
	if err != nil {
		return err
	}
	b := e.db.NewBatch()
	err = errors.Join(b.Set(key, bump(old), nil), held.Close())
	return errors.Join(err, b.Commit(e.write), b.Close())
}

func (e *barePebble) read(_ context.Context, key []byte) error {
	value, held, err := e.db.Get(key)
	if err != nil {
		return err
	}
	_ = append([]byte(nil), value...)
	return held.Close()
}

func (e *barePebble) scan(context.Context) (n int, err error) {
	i, err := e.db.NewIter(nil)
	if err != nil {
		return 0, err
	}
	for more := i.First(); more; more = i.Next() {
		if _, err := i.ValueAndErr(); err != nil {
			return n, errors.Join(err, i.Close())
		}
		n++
	}
	return n, i.Close()
}

// batchSize is how many keys are loaded in one transaction.
const batchSize = 1000

func (e *barePebble) load(_ context.Context, items iter.Seq2[[]byte, []byte]) error {
	b := e.db.NewBatch()
	for key, value := range items {
		if err := b.Set(key, value, nil); err != nil {
			return err
		}
		if b.Count() == batchSize {
			if err := errors.Join(b.Commit(e.write), b.Close()); err != nil {
				return err
			}
			b = e.db.NewBatch()
		}
	}
	return errors.Join(b.Commit(e.write), b.Close())
}

func (e *barePebble) close(context.Context) error { return e.db.Close() }

// silent keeps engines from writing to the terminal.
type silent struct{}

func (silent) Infof(string, ...any)    {}
func (silent) Errorf(string, ...any)   {}
func (silent) Debugf(string, ...any)   {}
func (silent) Warningf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Errorf(format, args...))
}

var bucketName = []byte("c")

type bolt struct {
	db    *bbolt.DB
	write func(func(*bbolt.Tx) error) error
}

func openBolt(_ context.Context, dir string, durable bool) (engine, error) {
	db, err := bbolt.Open(filepath.Join(dir, "bolt"), 0o600, nil)
	if err != nil {
		return nil, err
	}
	db.NoSync = !durable
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucketName)
		return err
	})
	return &bolt{db, db.Update}, err
}

func openBatching(ctx context.Context, dir string, durable bool) (engine, error) {
	e, err := openBolt(ctx, dir, durable)
	if err == nil {
		e.(*bolt).write = e.(*bolt).db.Batch
	}
	return e, err
}

func (e *bolt) update(_ context.Context, key []byte) error {
	return e.write(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketName)
		return b.Put(key, bump(b.Get(key)))
	})
}

func (e *bolt) read(_ context.Context, key []byte) error {
	return e.db.View(func(tx *bbolt.Tx) error {
		_ = append([]byte(nil), tx.Bucket(bucketName).Get(key)...)
		return nil
	})
}

func (e *bolt) scan(context.Context) (n int, err error) {
	err = e.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketName).ForEach(func(_, _ []byte) error {
			n++
			return nil
		})
	})
	return n, err
}

func (e *bolt) load(_ context.Context, items iter.Seq2[[]byte, []byte]) error {
	next, stop := iter.Pull2(items)
	defer stop()
	for more := true; more; {
		err := e.db.Update(func(tx *bbolt.Tx) error {
			for range batchSize {
				key, value, ok := next()
				if !ok {
					more = false
					return nil
				}
				if err := tx.Bucket(bucketName).Put(key, value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *bolt) close(context.Context) error { return e.db.Close() }

type badgerDB struct{ db *badger.DB }

func openBadger(_ context.Context, dir string, durable bool) (engine, error) {
	db, err := badger.Open(
		badger.DefaultOptions(dir).WithSyncWrites(durable).WithLogger(silent{}))
	return &badgerDB{db}, err
}

func (e *badgerDB) update(_ context.Context, key []byte) error {
	for {
		err := e.db.Update(func(tx *badger.Txn) error {
			item, err := tx.Get(key)
			if err != nil {
				return err
			}
			old, err := item.ValueCopy(nil)
			if err != nil {
				return err
			}
			return tx.Set(key, bump(old))
		})
		if !errors.Is(err, badger.ErrConflict) {
			return err
		}
	}
}

func (e *badgerDB) read(_ context.Context, key []byte) error {
	return e.db.View(func(tx *badger.Txn) error {
		item, err := tx.Get(key)
		if err == nil {
			_, err = item.ValueCopy(nil)
		}
		return err
	})
}

func (e *badgerDB) scan(context.Context) (n int, err error) {
	err = e.db.View(func(tx *badger.Txn) error {
		i := tx.NewIterator(badger.DefaultIteratorOptions)
		defer i.Close()
		for i.Rewind(); i.Valid(); i.Next() {
			if err := i.Item().Value(func([]byte) error { return nil }); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

func (e *badgerDB) load(_ context.Context, items iter.Seq2[[]byte, []byte]) error {
	b := e.db.NewWriteBatch()
	for key, value := range items {
		if err := b.Set(key, value); err != nil {
			return err
		}
	}
	return b.Flush()
}

func (e *badgerDB) close(context.Context) error { return e.db.Close() }
