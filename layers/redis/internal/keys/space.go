package keys

import (
	"strconv"

	"github.com/strictkv/strictkv"
)

// Databases is how many databases there are: 0 to 15.
const Databases = 16

// Space is where all databases are.
type Space struct {
	db       *strictkv.DB
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
