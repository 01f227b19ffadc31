package sweep

import (
	"context"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/store"
)

// Count is a number of objects, and what they take.
type Count struct{ Objects, Bytes int64 }

// Usage counts the objects of a database by what their names and sizes tell.
type Usage struct {
	Values, Tombstones, Condemned, Unread, External, Feed, Lost, Foreign, Damaged, Other Count
}

// Use lists the objects whose names begin with prefix, and counts them. Progress, if not nil, is
// called now and then with how many there were.
func Use(
	ctx context.Context, st *store.Store, prefix string, progress func(objects int64),
) (Usage, error) {
	var u Usage
	n := int64(0)
	for info, err := range st.List(ctx, prefix) {
		if err != nil {
			return u, err
		}
		c := u.of(info)
		c.Objects++
		c.Bytes += info.Size
		if n++; n%progressEvery == 0 && progress != nil {
			progress(n)
		}
	}
	return u, nil
}

// of is the count to which an object belongs.
func (u *Usage) of(info backend.Info) *Count {
	switch {
	case info.Name == keyspace.Meta, keyspace.IsClock(info.Name):
		return &u.Other
	case keyspace.IsLost(info.Name):
		return &u.Lost
	case info.Damaged:
		return &u.Damaged
	case keyspace.IsHint(info.Name):
		return &u.Feed
	}
	if _, _, err := keyspace.ParseValue(info.Name); err == nil {
		return &u.External
	}
	if _, _, err := keyspace.ParseCell(info.Name); err != nil {
		return &u.Foreign
	}
	switch cell.ShapeOf(info.Size) {
	case cell.ShapeValue:
		return &u.Values
	case cell.ShapeTombstone:
		return &u.Tombstones
	case cell.ShapeCondemned:
		return &u.Condemned
	}
	return &u.Unread
}
