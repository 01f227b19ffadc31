package txn

import "sync/atomic"

// Room is for how many bytes of values ReadMulti has room; a nil one is for any number. It is safe
// for concurrent use.
type Room struct{ left atomic.Int64 }

// NewRoom is room for so many bytes.
func NewRoom(bytes int) *Room {
	r := &Room{}
	r.left.Store(int64(bytes))
	return r
}

// take takes room for a value, unless there is too little: from then on there is none. What has no
// bytes needs none.
func (r *Room) take(bytes int) bool {
	return r == nil || bytes == 0 || r.left.Add(-int64(bytes)) >= 0
}

// full reports whether a value had too little room.
func (r *Room) full() bool { return r != nil && r.left.Load() < 0 }
