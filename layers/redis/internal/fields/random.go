package fields

import (
	"math/rand/v2"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

const (
	// windowMax is among how many names that are side by side a random one is chosen. As they
	// are not evenly spread over the places, some are chosen more often than others: by a tenth.
	windowMax = 128
	// windowTake is how many are chosen of those at most.
	windowTake = 16
	// againMax is how many names a command gets at most that may come again.
	againMax = 1 << 20
)

// errRange is the reply to a count that is too far below zero. Redis goes on to the least integer.
const errRange = resp.Error(
	"ERR value is out of range, value must between -1048576 and 9223372036854775807")

// errLong is the reply to who wants the same long names many times.
const errLong = resp.Error("ERR the reply would be longer than 64 MiB")

// Repeatable tells whether names or values that may come again make too long a reply.
func Repeatable(words [][]byte) error {
	size := 0
	for _, w := range words {
		size += len(w)
	}
	if size > keys.StringMax {
		return errLong
	}
	return nil
}

// ParseCount reads how many random names are wanted: below zero if the same may come again.
func ParseCount(arg []byte) (n int, again bool, err error) {
	count, ok := resp.ParseInt(arg)
	switch {
	case !ok:
		return 0, false, command.ErrNotInt
	case count >= 0:
		return int(count), false, nil
	case count < -againMax:
		return 0, false, errRange
	}
	return int(-count), true, nil
}

// Random returns n names that are chosen at random: all different, or all of them if there are
// less; or, if the same may come again, just n, unless they are too long for a reply.
func (f *Fields) Random(n int, again bool) ([][]byte, error) {
	if f.Absent() || n == 0 {
		return nil, nil
	}
	if f.moved > windowMax && n < f.Len()/4 {
		names, err := f.scatter(n, again)
		if err == nil && again {
			err = Repeatable(names)
		}
		if err != nil || len(names) == n {
			return names, err
		}
	}
	names, err := f.Names()
	if err != nil {
		return nil, err
	}
	names = choose(names, n, again)
	if again {
		err = Repeatable(names)
	}
	return names, err
}

// choose changes the order of names.
func choose(names [][]byte, n int, again bool) [][]byte {
	if again {
		chosen := make([][]byte, n)
		for i := range chosen {
			chosen[i] = names[rand.IntN(len(names))]
		}
		return chosen
	}
	n = min(n, len(names))
	for i := range n {
		j := i + rand.IntN(len(names)-i)
		names[i], names[j] = names[j], names[i]
	}
	return names[:n]
}

// scatter chooses names in windows at random places. It may find less than n, if it has chosen all
// of the windows' before.
func (f *Fields) scatter(n int, again bool) ([][]byte, error) {
	names := make([][]byte, 0, n)
	known := map[string]struct{}{}
	for tries := 0; len(names) < n && tries < n+1; tries++ {
		place := rand.Uint64N(places)
		found, err := f.window(place, windowMax, false)
		if err != nil {
			return nil, err
		}
		if len(found) < windowMax {
			first, err := f.window(0, windowMax-len(found), false)
			if err != nil {
				return nil, err
			}
			found = append(found, first...)
		}
		window := make([][]byte, len(found))
		for i, p := range found {
			window[i] = p.Name
		}
		for _, name := range choose(window, min(windowTake, n-len(names)), again) {
			if _, twice := known[string(name)]; twice && !again {
				continue
			}
			known[string(name)] = struct{}{}
			names = append(names, name)
		}
	}
	return names, nil
}
