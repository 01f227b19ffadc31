package baton

// Source is a small random generator (splitmix64). Equal seeds give equal streams on
// every machine.
type Source uint64

// Derive makes a stream of its own for each path.
func Derive(seed uint64, path ...uint64) Source {
	s := Source(seed)
	for _, x := range path {
		s = Source(s.Next() ^ x)
	}
	s.Next()
	return s
}

// Next returns 64 random bits.
func (s *Source) Next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below returns a number from 0 to n-1.
func (s *Source) Below(n int) int { return int(s.Next()>>33) % n }
