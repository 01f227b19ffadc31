package commit

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// beatenBy is a member whose write was refused by that cell.
func beatenBy(c *cell.Cell) *Member {
	return &Member{Fate: Fate{Result: store.Refused, Seen: store.Snapshot{Cell: c}}}
}

func intentOf(tx txid.ID) *cell.Intent { return &cell.Intent{Tx: tx} }

func TestTornByMoreThanOneRival(t *testing.T) {
	one, two := txid.ID{1}, txid.ID{2}
	left := &Member{Fate: Fate{Result: store.NotApplied, Unsent: true}}
	for name, x := range map[string]struct {
		members []*Member
		want    bool
	}{
		"by nobody":         {[]*Member{left, left}, false},
		"one of two":        {[]*Member{left, beatenBy(&cell.Cell{Writer: one})}, true},
		"one seen, and not": {[]*Member{beatenBy(&cell.Cell{Writer: one}), beatenBy(nil)}, true},
		"both by one": {[]*Member{beatenBy(&cell.Cell{Writer: one}),
			beatenBy(&cell.Cell{Writer: one})}, false},
		"by two": {[]*Member{beatenBy(&cell.Cell{Writer: one}),
			beatenBy(&cell.Cell{Writer: two})}, true},
		"both by one, who is not done": {[]*Member{beatenBy(&cell.Cell{Writer: one}),
			beatenBy(&cell.Cell{Writer: two, Intent: intentOf(one)})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := Result{Batched: true, Members: x.members}
			assert.Equal(t, x.want, r.Torn())
			r.Batched = false
			assert.False(t, r.Torn(), "it was not one request")
		})
	}
}

func TestBeatenByADirectCommit(t *testing.T) {
	tx := txid.ID{1}
	for name, x := range map[string]struct {
		c    *cell.Cell
		want bool
	}{
		"not seen":        {nil, false},
		"a writer":        {&cell.Cell{Writer: tx}, true},
		"an intent":       {&cell.Cell{Writer: tx, Intent: intentOf(tx)}, false},
		"one with a mark": {&cell.Cell{Writer: tx, Marks: []cell.Mark{{Tx: tx}}}, false},
	} {
		assert.Equal(t, x.want, beatenBy(x.c).Beaten(), name)
	}
}

// Why an attempt is in doubt matches nothing that would say that it was not applied.
func TestWhyDoubt(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	unknown := fmt.Errorf("put: %w", backend.ErrOutcomeUnknown)
	denied := errors.Join(backend.ErrDenied, context.DeadlineExceeded)
	for name, x := range map[string]struct {
		ctx  context.Context
		err  error
		text string
		is   []error
		not  []error
	}{
		"nothing known": {t.Context(), nil, "gave up", nil,
			[]error{context.Canceled, backend.ErrOutcomeUnknown}},
		"no answer": {t.Context(), unknown, unknown.Error(), []error{backend.ErrOutcomeUnknown},
			[]error{context.Canceled}},
		"the caller has left": {ended, unknown, unknown.Error(),
			[]error{backend.ErrOutcomeUnknown, context.Canceled}, nil},
		"an error that says no": {t.Context(), denied, denied.Error(), nil,
			[]error{backend.ErrDenied, context.DeadlineExceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			why := whyDoubt(x.ctx, x.err)
			require.EqualError(t, why, x.text)
			for _, target := range x.is {
				require.ErrorIs(t, why, target)
			}
			for _, target := range x.not {
				require.NotErrorIs(t, why, target)
			}
		})
	}
}
