package main

import (
	"context"
	"errors"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
)

// state is what a handle knows of the keys before a transaction.
type state string

// The states: never seen; seen as they are; changed by another since; just written by the
// same transaction.
const (
	cold       state = "cold"
	warm       state = "warm"
	stale      state = "stale"
	backToBack state = "back to back"
)

// kind is a kind of transaction.
type kind struct {
	name string
	// keys is how many it is about; absent says that they don't exist.
	keys   int
	absent bool
	states []state
	run    func(ctx context.Context, c *strictkv.Collection, db *strictkv.DB, keys [][]byte) error
}

var (
	coldWarm = []state{cold, warm}
	all      = []state{cold, warm, stale}
	chained  = []state{cold, warm, stale, backToBack}
)

// lockedReads is how many keys are read beside the one that is written.
const lockedReads = 5

var kinds = []kind{
	{"strong read", 1, false, all, read},
	{"read of an absent key", 1, true, coldWarm, read},
	{"weak read, 10 s", 1, false, coldWarm, readWeak},
	{"view of 2 keys", 2, false, all, view},
	{"view of 10 keys", 10, false, all, view},
	{"write without reading", 1, false, all, write},
	{"write of a new key", 1, true, coldWarm, write},
	{"insert", 1, true, []state{cold}, insert},
	{"insert of 100 keys", 100, true, []state{cold}, insert},
	{"delete", 1, false, coldWarm, remove},
	{"update of 1 key", 1, false, chained, update},
	{"update of 2 keys", 2, false, chained, update},
	{"update of 10 keys", 10, false, chained, update},
	{"read 5, write 1", 1 + lockedReads, false, coldWarm, readAndWrite},
	{"lock 5, write 1", 1 + lockedReads, false, coldWarm, lockAndWrite},
}

// known lets the error of an absent key pass.
func known(err error) error {
	if errors.Is(err, strictkv.ErrNotFound) {
		return nil
	}
	return err
}

func read(ctx context.Context, c *strictkv.Collection, _ *strictkv.DB, keys [][]byte) error {
	_, err := c.Read(ctx, keys[0])
	return known(err)
}

func readWeak(ctx context.Context, c *strictkv.Collection, _ *strictkv.DB, keys [][]byte) error {
	_, err := c.ReadWeak(ctx, keys[0], staleness)
	return known(err)
}

func view(ctx context.Context, c *strictkv.Collection, db *strictkv.DB, keys [][]byte) error {
	return db.View(ctx, func(tx *strictkv.Tx) error { return readAll(tx, c, keys) })
}

func readAll(tx *strictkv.Tx, c *strictkv.Collection, keys [][]byte) (err error) {
	var multi []strictkv.Key
	for _, k := range keys {
		multi = append(multi, c.Key(k))
	}
	for _, r := range tx.ReadMulti(multi...) {
		err = errors.Join(err, known(r.Err))
	}
	return err
}

// each runs a transaction that does the same with all keys.
func each(
	ctx context.Context, db *strictkv.DB, keys [][]byte, do func(tx *strictkv.Tx, k []byte) error,
) error {
	return db.Tx(ctx, func(tx *strictkv.Tx) (err error) {
		for _, k := range keys {
			err = errors.Join(err, do(tx, k))
		}
		return err
	})
}

func write(ctx context.Context, c *strictkv.Collection, db *strictkv.DB, keys [][]byte) error {
	return each(ctx, db, keys, func(tx *strictkv.Tx, k []byte) error {
		return tx.Write(c, k, value)
	})
}

func insert(ctx context.Context, c *strictkv.Collection, db *strictkv.DB, keys [][]byte) error {
	return each(ctx, db, keys, func(tx *strictkv.Tx, k []byte) error {
		return tx.Insert(c, k, value)
	})
}

func remove(ctx context.Context, c *strictkv.Collection, db *strictkv.DB, keys [][]byte) error {
	return each(ctx, db, keys, func(tx *strictkv.Tx, k []byte) error { return tx.Delete(c, k) })
}

func update(ctx context.Context, c *strictkv.Collection, db *strictkv.DB, keys [][]byte) error {
	return db.Tx(ctx, func(tx *strictkv.Tx) error {
		err := readAll(tx, c, keys)
		for _, k := range keys {
			err = errors.Join(err, tx.Write(c, k, value))
		}
		return err
	})
}

func readAndWrite(
	ctx context.Context, c *strictkv.Collection, db *strictkv.DB, keys [][]byte,
) error {
	return db.Tx(ctx, func(tx *strictkv.Tx) error {
		return errors.Join(readAll(tx, c, keys[1:]), tx.Write(c, keys[0], value))
	})
}

func lockAndWrite(
	ctx context.Context, c *strictkv.Collection, db *strictkv.DB, keys [][]byte,
) error {
	return db.Tx(ctx, func(tx *strictkv.Tx) error {
		return errors.Join(tx.Lock(c, keys[1:]...), tx.Write(c, keys[0], value))
	})
}

// keysOf are the keys of the i-th run.
func keysOf(i, n int) (keys [][]byte) {
	for k := range n {
		keys = append(keys, bucket.Key(i*n+k))
	}
	return keys
}
