package resolve

import (
	"context"

	"github.com/strictkv/strictkv/internal/cell"
)

// What a member of an attempt shows.
const (
	// ShowsIntent: it holds the attempt's intent.
	ShowsIntent = "intent"
	// ShowsMark: it has the attempt's mark: the intent was resolved, and the attempt has committed.
	ShowsMark = "mark"
	// ShowsExpected: it is still as the attempt expects it: the intent has not come yet.
	ShowsExpected = "expected"
	// ShowsOther: somebody has written it since.
	ShowsOther = "other"
)

// Seen is a member of an attempt, and what it shows of that.
type Seen struct {
	cell.Member
	Shows string
}

// Inspect reads a cell and asks for the status of the intent in it, as whoever meets it does, and
// then reads all members that the attempt has, as far as they are known. It writes nothing. What
// the handle has known of attempts before does not count: they are asked again.
func (r *Resolver) Inspect(ctx context.Context, name string) (Reading, []Seen, error) {
	afresh := New(Options{Store: r.st, Patience: r.patience})
	afresh.inert = true
	s, err := r.st.Fetch(ctx, name)
	if err != nil {
		return Reading{}, nil, err
	}
	rd, err := afresh.Status(ctx, s)
	if err != nil || rd.Cell.Intent == nil {
		return rd, nil, err
	}
	in := rd.Cell.Intent
	members := in.Members
	if !in.Whole() {
		if members, err = afresh.wholeOf(ctx, in); err != nil {
			return Reading{}, nil, err
		}
	}
	sights, err := afresh.look(ctx, in.Tx, members.List)
	seen := make([]Seen, len(sights))
	for i, s := range sights {
		seen[i] = Seen{members.List[i], [...]string{
			marked: ShowsMark, holds: ShowsIntent, atExpected: ShowsExpected, isOff: ShowsOther,
		}[s.state]}
	}
	return rd, seen, err
}

// wholeOf asks the primary for all members of an attempt. If that has forgotten them, they are the
// primary alone.
func (r *Resolver) wholeOf(ctx context.Context, in *cell.Intent) (cell.Members, error) {
	sight, err := r.lookAt(ctx, in.Tx, in.Primary())
	switch {
	case err != nil:
		return cell.Members{}, err
	case sight.state == holds:
		return sight.Cell.Intent.Members, nil
	case sight.state == marked:
		m, _ := sight.Cell.Mark(in.Tx)
		return m.Members, nil
	}
	return in.Members, nil
}
