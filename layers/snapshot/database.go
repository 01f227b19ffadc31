package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/strictkv/strictkv"
)

// SaveDB saves all collections of a database as one snapshot, in which keys are those that
// DatabaseKey makes. All are as they were at one instant, but that a collection may be missing in
// which the first key was written, and the last deleted, while SaveDB was at work. Else it is like
// Save.
func SaveDB(ctx context.Context, s Store, db *strictkv.DB, o SaveOptions) (string, error) {
	return saveOf(ctx, s, &database{db: db}, o)
}

// DiffDB saves how a database differs from a snapshot of SaveDB as a layer on that. Else it is like
// Diff.
func DiffDB(
	ctx context.Context, s Store, base string, db *strictkv.DB, o SaveOptions,
) (string, error) {
	return diffOf(ctx, s, base, &database{db: db}, o)
}

// In a key of a database's snapshot each name has mark and of behind it, the last one has keys:
// so collections are apart, and what is in one is in the order of its keys. A mark in a name is
// followed by quoted.
const (
	mark   = 0x00
	keys   = 0x00
	of     = 0x01
	quoted = 0xff
)

// DatabaseKey is the key, in a snapshot of SaveDB, of a key of a collection, which is given by its
// names, the outermost first. With no key it is what all keys of the collection begin with, and no
// others.
func DatabaseKey(collection [][]byte, key []byte) []byte {
	var buf []byte
	for _, name := range collection {
		for _, b := range name {
			if buf = append(buf, b); b == mark {
				buf = append(buf, quoted)
			}
		}
		buf = append(buf, mark, of)
	}
	return append(append(buf, mark, keys), key...)
}

// ParseDatabaseKey is the inverse of DatabaseKey. What that can't have made is ErrInvalid.
func ParseDatabaseKey(k []byte) (collection [][]byte, key []byte, err error) {
	name := []byte{}
	for i := 0; i+1 < len(k); i++ {
		if k[i] != mark {
			name = append(name, k[i])
			continue
		}
		i++
		switch {
		case k[i] == quoted:
			name = append(name, mark)
		case k[i] == of && len(name) > 0:
			collection, name = append(collection, name), []byte{}
		case k[i] == keys && len(name) == 0 && len(collection) > 0:
			return collection, k[i+1:], nil
		default:
			return nil, nil, fmt.Errorf("%.100q is no key of a database: %w", k, ErrInvalid)
		}
	}
	return nil, nil, fmt.Errorf("%.100q is no key of a database: %w", k, ErrInvalid)
}

// source is what a Save saves.
type source interface {
	handle() *strictkv.DB
	// prepare makes ready for a run, and settled reports whether what it found is all there is.
	prepare(ctx context.Context) error
	settled(ctx context.Context) (bool, error)
	scan(tx *strictkv.Tx, r strictkv.Range) iter.Seq2[strictkv.Item, error]
	items(ctx context.Context, r strictkv.Range) iter.Seq2[strictkv.Item, error]
	// place is the collection and the key in it.
	place(key []byte) (*strictkv.Collection, []byte, error)
}

// collection is a source of one collection.
type collection struct{ c *strictkv.Collection }

func (c *collection) handle() *strictkv.DB                  { return c.c.DB() }
func (c *collection) prepare(context.Context) error         { return nil }
func (c *collection) settled(context.Context) (bool, error) { return true, nil }

func (c *collection) scan(
	tx *strictkv.Tx, r strictkv.Range,
) iter.Seq2[strictkv.Item, error] {
	return tx.Scan(c.c, r)
}

func (c *collection) items(
	ctx context.Context, r strictkv.Range,
) iter.Seq2[strictkv.Item, error] {
	return c.c.Items(ctx, r)
}

func (c *collection) place(key []byte) (*strictkv.Collection, []byte, error) {
	return c.c, key, nil
}

// database is a source of all collections.
type database struct {
	db    *strictkv.DB
	parts []databasePart // in the order of their prefixes
}

type databasePart struct {
	prefix []byte
	c      *strictkv.Collection
}

func (d *database) handle() *strictkv.DB { return d.db }

// prepare lists the collections.
func (d *database) prepare(ctx context.Context) (err error) {
	d.parts, err = d.list(ctx)
	return err
}

func (d *database) list(ctx context.Context) (parts []databasePart, err error) {
	var below func(names [][]byte, all iter.Seq2[[]byte, error],
		in func(name []byte) *strictkv.Collection) error
	below = func(names [][]byte, all iter.Seq2[[]byte, error],
		in func(name []byte) *strictkv.Collection) error {
		for name, err := range all {
			if err != nil {
				return err
			}
			path, c := append(slices.Clip(names), name), in(name)
			parts = append(parts, databasePart{DatabaseKey(path, nil), c})
			if err := below(path, c.Collections(ctx), c.Collection); err != nil {
				return err
			}
		}
		return nil
	}
	err = below(nil, d.db.Collections(ctx), d.db.Collection)
	slices.SortFunc(parts, func(x, y databasePart) int { return bytes.Compare(x.prefix, y.prefix) })
	return parts, err
}

// settled lists the collections again: those that were there at the instant of a transaction that
// has read all others are found, if they still are.
func (d *database) settled(ctx context.Context) (bool, error) {
	now, err := d.list(ctx)
	for _, p := range now {
		if _, known := d.find(p.prefix); !known {
			return false, err
		}
	}
	return true, err
}

func (d *database) find(prefix []byte) (int, bool) {
	return slices.BinarySearchFunc(d.parts, prefix, func(p databasePart, prefix []byte) int {
		return bytes.Compare(p.prefix, prefix)
	})
}

func (d *database) scan(
	tx *strictkv.Tx, r strictkv.Range,
) iter.Seq2[strictkv.Item, error] {
	return d.each(func(c *strictkv.Collection) iter.Seq2[strictkv.Item, error] {
		return tx.Scan(c, r)
	})
}

func (d *database) items(
	ctx context.Context, r strictkv.Range,
) iter.Seq2[strictkv.Item, error] {
	return d.each(func(c *strictkv.Collection) iter.Seq2[strictkv.Item, error] {
		return c.Items(ctx, r)
	})
}

// each yields what is in the collections, one after another.
func (d *database) each(
	of func(*strictkv.Collection) iter.Seq2[strictkv.Item, error],
) iter.Seq2[strictkv.Item, error] {
	return func(yield func(strictkv.Item, error) bool) {
		for _, p := range d.parts {
			for item, err := range of(p.c) {
				item.Key = append(slices.Clip(p.prefix), item.Key...)
				if !yield(item, err) || err != nil {
					return
				}
			}
		}
	}
}

func (d *database) place(key []byte) (*strictkv.Collection, []byte, error) {
	_, k, err := ParseDatabaseKey(key)
	if err != nil {
		return nil, nil, err
	}
	i, known := d.find(key[:len(key)-len(k)])
	if !known {
		return nil, nil, errors.New("a key of a collection that was not listed")
	}
	return d.parts[i].c, k, nil
}
