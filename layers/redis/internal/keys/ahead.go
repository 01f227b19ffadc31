package keys

import (
	"encoding/binary"
	"errors"

	"github.com/strictkv/strictkv"
)

// Limits of what is read at once before commands ask for it. What is asked for when a wave has come
// to one of them begins the next.
const (
	// aheadMax is how many keys one wave reads.
	aheadMax = 512
	// aheadBytesMax is how many bytes of values it brings.
	aheadBytesMax = 16 << 20
)

// Named is a key of a database.
type Named struct {
	Database int
	Name     []byte
}

// ahead are keys that commands are about to ask for, once each.
type ahead struct {
	keys    []strictkv.Key
	places  []string
	waiting map[string]int // those that were not read yet, by place: where they are in keys
	read    map[string]strictkv.Result
}

// place tells keys of all databases apart.
func place(n int, key []byte) string {
	return string(append(binary.AppendUvarint(make([]byte, 0, len(key)+1), uint64(n)), key...))
}

// Ahead has the run read keys in waves, in the order in which commands are about to ask for them.
func (t *Tx) Ahead(names []Named) {
	t.ahead = &ahead{
		waiting: make(map[string]int, len(names)), read: make(map[string]strictkv.Result),
	}
	for _, name := range names {
		key, _ := store(name.Name)
		p := place(name.Database, key)
		if _, twice := t.ahead.waiting[p]; !twice {
			t.ahead.waiting[p] = len(t.ahead.keys)
			t.ahead.keys = append(t.ahead.keys, t.space.numbered[name.Database].Key(key))
			t.ahead.places = append(t.ahead.places, p)
		}
	}
}

// take is what was read ahead of a key, once. It begins a wave if need be; what is too large for
// that it reads by itself.
func (t *Tx) take(
	key []byte, read func(*strictkv.Collection, []byte) ([]byte, error),
) (r strictkv.Result, ok bool, err error) {
	if t.ahead == nil {
		return r, false, nil
	}
	p := place(t.n, key)
	if i, waits := t.ahead.waiting[p]; waits {
		if err := t.wave(i); err != nil {
			return r, false, err
		}
		if _, waits = t.ahead.waiting[p]; waits {
			delete(t.ahead.waiting, p)
			r.Value, r.Err = read(t.Collection(), key)
			return r, true, t.keeps(len(r.Value))
		}
	}
	if r, ok = t.ahead.read[p]; ok {
		delete(t.ahead.read, p)
	}
	return r, ok, nil
}

// wave reads keys from one on.
func (t *Tx) wave(from int) error {
	a := t.ahead
	var keys []strictkv.Key
	var places []string
	for i := from; i < len(a.keys) && len(keys) < aheadMax; i++ {
		if _, waits := a.waiting[a.places[i]]; waits {
			keys, places = append(keys, a.keys[i]), append(places, a.places[i])
		}
	}
	size := 0
	for i, r := range t.tx.ReadMultiMax(aheadBytesMax, keys...) {
		if errors.Is(r.Err, strictkv.ErrNoRoom) {
			continue
		}
		size += len(r.Value)
		a.read[places[i]] = r
		delete(a.waiting, places[i])
	}
	return t.holds(size)
}

// readAll reads keys in waves, of which each brings aheadBytesMax at most, but for a value that is
// larger.
func (t *Tx) readAll(keys []strictkv.Key) ([]strictkv.Result, error) {
	results := make([]strictkv.Result, len(keys))
	for rest := seq(len(keys)); len(rest) > 0; {
		wave := make([]strictkv.Key, len(rest))
		for i, at := range rest {
			wave[i] = keys[at]
		}
		var left []int
		size := 0
		for i, r := range t.tx.ReadMultiMax(aheadBytesMax, wave...) {
			if errors.Is(r.Err, strictkv.ErrNoRoom) {
				left = append(left, rest[i])
				continue
			}
			size += len(r.Value)
			results[rest[i]] = r
		}
		if len(left) == len(rest) {
			r, first := &results[left[0]], keys[left[0]]
			r.Value, r.Err = t.tx.Read(first.Collection, first.Key)
			size, left = len(r.Value), left[1:]
		}
		if err := t.keeps(size); err != nil {
			return nil, err
		}
		rest = left
	}
	return results, nil
}

// seq is the numbers below n.
func seq(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

// drop forgets what was read of a key that is written.
func (a *ahead) drop(n int, key []byte) {
	if a != nil {
		p := place(n, key)
		delete(a.waiting, p)
		delete(a.read, p)
	}
}
