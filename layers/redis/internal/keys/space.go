package keys

import (
	"context"
	"slices"
	"strconv"

	"github.com/strictkv/strictkv"
)

// Databases is how many databases there are: 0 to 15.
const Databases = 16

// Space is where all databases are.
type Space struct {
	db       *strictkv.DB
	root     *strictkv.Collection
	numbered [Databases]*strictkv.Collection
	large    *strictkv.Collection
	left     *strictkv.Collection

	// Cursors are those of SCAN and its like.
	Cursors Cursors
}

// NewSpace is the space below a collection.
func NewSpace(root *strictkv.Collection) *Space {
	s := &Space{
		db:    root.DB(),
		root:  root,
		large: root.Collection([]byte("large")),
		left:  root.Collection([]byte("left")),
	}
	for n := range s.numbered {
		s.numbered[n] = root.Collection(strconv.AppendInt(nil, int64(n), 10))
	}
	return s
}

// DB is the handle that all is in.
func (s *Space) DB() *strictkv.DB { return s.db }

// Collection is where the keys of database n are.
func (s *Space) Collection(n int) *strictkv.Collection { return s.numbered[n] }

// Used are the databases that have anything stored, in order: by one list request, mostly.
func (s *Space) Used(ctx context.Context) (used []int, err error) {
	for name, err := range s.root.Collections(ctx) {
		if err != nil {
			return nil, err
		}
		if n, err := strconv.Atoi(string(name)); err == nil && 0 <= n && n < Databases {
			used = append(used, n)
		}
	}
	slices.Sort(used)
	return used, nil
}
