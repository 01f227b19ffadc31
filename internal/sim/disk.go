package sim

import "github.com/strictkv/strictkv/internal/sim/baton"

// disk is what the caches of all processes have on disk: everything that was ever put there, by
// any of them. What it answers was put under the key, and may be as old as can be: a log that has
// lost its end, or that was copied from another machine, is no worse.
type disk struct {
	random baton.Source
	kept   map[string][]record
}

type record struct {
	version string
	data    []byte
}

// Get returns the latest record more often than any other, and sometimes none.
func (s *disk) Get(key string) (version string, data []byte, size int, ok bool) {
	all := s.kept[key]
	if len(all) == 0 || s.random.Below(8) == 0 {
		return "", nil, 0, false
	}
	r := all[len(all)-1]
	if s.random.Below(4) == 0 {
		r = all[s.random.Below(len(all))]
	}
	return r.version, r.data, len(r.data), true
}

// Put keeps a record, most of the time.
func (s *disk) Put(key, version string, data []byte) {
	if s.random.Below(8) > 0 {
		s.kept[key] = append(s.kept[key], record{version, data})
	}
}
