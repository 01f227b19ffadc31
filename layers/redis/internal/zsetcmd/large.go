package zsetcmd

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

func (z *zset) elements() *keys.Elements { return z.c.Elements(z.key, &z.entry) }

// order is the order of a large set.
func (z *zset) order() *tree {
	if z.large == nil {
		z.large = &tree{treeHeader: z.header, load: z.load}
	}
	return z.large
}

// nodeName is the name of a node, in the collection beside the elements.
func nodeName(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

// load reads nodes.
func (z *zset) load(ids []uint64) ([][]byte, error) {
	in := z.elements().Order()
	names := make([]strictkv.Key, len(ids))
	for i, id := range ids {
		names[i] = in.Key(nodeName(id))
	}
	nodes := make([][]byte, len(ids))
	for i, r := range z.c.Raw().ReadMulti(names...) {
		switch {
		case errors.Is(r.Err, strictkv.ErrNotFound):
			return nil, damaged("a node is missing")
		case r.Err != nil:
			return nil, r.Err
		}
		nodes[i] = r.Value
	}
	return nodes, nil
}

// saveLarge writes what has changed, and reports whether it could. It does not if that is too much,
// and has all members in memory then if they are few enough to be written anew.
func (z *zset) saveLarge() (done bool, err error) {
	order := z.order()
	var elements []entry // whose scores are to be written, or which are to be deleted
	for _, member := range slices.Sorted(maps.Keys(z.changes)) {
		if err := z.look([]byte(member)); err != nil {
			return false, err
		}
		old, score := z.found[member], z.changes[member]
		if old == score || old != nil && score != nil && *old == *score {
			continue
		}
		if old != nil {
			if err := order.remove(entry{[]byte(member), *old}); err != nil {
				return false, err
			}
		}
		if score != nil {
			if err := order.insert(entry{[]byte(member), *score}); err != nil {
				return false, err
			}
		}
		elements = append(elements, entry{member: []byte(member)})
	}
	if len(elements)+len(order.changed()) > keys.WritesMax {
		if z.n > growMax {
			return false, keys.ErrTooMany
		}
		z.small, err = order.slice(0, z.n)
		return false, err
	}
	return true, z.write(elements)
}

// write writes the elements of a large set that have changed, the nodes, and the header if that
// has.
func (z *zset) write(elements []entry) error {
	x := z.elements()
	if err := x.Changed(); err != nil {
		return err
	}
	for _, e := range elements {
		score := z.changes[string(e.member)]
		if score == nil {
			if err := x.Delete(e.member); err != nil {
				return err
			}
			continue
		}
		if err := x.Write(e.member, appendScore(nil, *score)); err != nil {
			return err
		}
	}
	in, order := x.Order(), z.order()
	for _, id := range order.changed() {
		var err error
		if nd := order.nodes[id]; nd != nil {
			err = z.c.Raw().Write(in, nodeName(id), encodeNode(nd))
		} else {
			err = z.c.Raw().Delete(in, nodeName(id))
		}
		if err != nil {
			return err
		}
	}
	if order.treeHeader == z.header {
		return nil
	}
	z.header = order.treeHeader
	z.entry.SetHeader(z.header.encode())
	return z.c.Set(z.key, z.entry)
}

// grow makes a large set of the members in memory.
func (z *zset) grow() error {
	e, err := z.c.NewLarge(z.key, keys.SortedSet)
	if err != nil {
		return err
	}
	e.Expires = z.entry.Expires
	z.entry, z.header, z.large = e, treeHeader{}, nil
	z.changes = make(map[string]*float64, len(z.small))
	for i, e := range z.small {
		if err := z.order().insert(e); err != nil {
			return err
		}
		z.changes[string(e.member)] = &z.small[i].score
	}
	return z.write(z.small)
}
