package keys

import (
	"github.com/strictkv/strictkv"
)

// Copy gives another key, in database n, a copy of a key's value, which is there, in place of what
// that has. Of a large value it copies WritesMax elements at most, else it returns ErrTooMany.
func (t *Tx) Copy(name []byte, n int, to []byte) error {
	e, err := t.Get(name)
	if err != nil {
		return err
	}
	there := t.In(n)
	e.watched = false
	if !e.Large {
		return there.Set(to, e)
	}
	elements, err := t.all(t.Elements(name, &e))
	if err != nil {
		return err
	}
	made, err := there.NewLarge(to, e.Kind)
	if err != nil {
		return err
	}
	made.SetHeader(e.Header())
	made.Expires = e.Expires
	x := there.Elements(to, &made)
	for i, c := range []*strictkv.Collection{x.in, x.Order()} {
		for _, item := range elements[i] {
			if err := t.tx.Write(c, item.Key, item.Value); err != nil {
				return err
			}
		}
	}
	return there.Set(to, made)
}

// all are the elements as they are stored, and what stands in their order.
func (t *Tx) all(x *Elements) (found [2][]strictkv.Item, err error) {
	total := 0
	for i, c := range []*strictkv.Collection{x.in, x.Order()} {
		for item, err := range t.tx.Scan(c, strictkv.Range{}) {
			if err != nil {
				return found, err
			}
			if item.Key[0] == ownerName {
				continue
			}
			if total++; total > WritesMax {
				return found, ErrTooMany
			}
			found[i] = append(found[i], item)
		}
	}
	return found, nil
}
