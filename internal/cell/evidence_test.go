package cell_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/cell"
)

// Attempt 9 expects a cell at version v, where it saw attempt 1.
func TestEvidence(t *testing.T) {
	full := &cell.Cell{Writer: id(18), Recent: ids(18, 17, 16, 15, 14, 13, 12, 11)}
	back := &cell.Cell{Writer: id(17), Recent: ids(17, 16, 15, 14, 13, 12, 11, 1)}
	condemned := &cell.Cell{Writer: id(2), Recent: ids(2, 1), Condemned: true}
	for _, x := range []struct {
		name    string
		c       *cell.Cell
		version string
		ask     cell.Question
		want    cell.Evidence
	}{
		{"its intent", locked(intent(9, cell.Staged, cell.Put)), "w", cell.Question{},
			cell.HoldsIntent},
		{"its lock", locked(intent(9, cell.Pending, cell.Lock)), "w", cell.Question{Lock: true},
			cell.HoldsIntent},
		{"another's intent", locked(intent(8, cell.Staged, cell.Put)), "w", cell.Question{},
			cell.ProvesDead},
		{"its value", &cell.Cell{Writer: id(9), Recent: ids(9, 1)}, "w", cell.Question{},
			cell.ProvesCommitted},
		{"its value, written over", &cell.Cell{Writer: id(2), Recent: ids(2, 9)}, "w",
			cell.Question{}, cell.ProvesCommitted},
		{"its mark", &cell.Cell{Writer: id(1), Recent: ids(1), Marks: marks(9)}, "w",
			cell.Question{}, cell.ProvesCommitted},
		{"as expected", valued(), "v", cell.Question{}, cell.AtExpected},
		{"as expected, absent", &cell.Cell{}, "", cell.Question{Expected: "-"}, cell.AtExpected},
		{"as expected, condemned", condemned, "v", cell.Question{}, cell.AtExpected},
		{"as expected, refused", valued(), "v", cell.Question{Refused: true}, cell.ProvesDead},
		{"as expected, refused, forgotten", full, "v", cell.Question{Refused: true}, cell.Silent},
		{"written since", &cell.Cell{Writer: id(2), Recent: ids(2, 1)}, "w", cell.Question{},
			cell.ProvesDead},
		{"written often, remembers", back, "w", cell.Question{}, cell.ProvesDead},
		{"written often, forgotten", full, "w", cell.Question{}, cell.Silent},
		{"a lock leaves no trace", valued(), "w", cell.Question{Lock: true}, cell.Silent},
		{"condemned", condemned, "w", cell.Question{}, cell.Silent},
		{"gone", &cell.Cell{}, "", cell.Question{}, cell.ProvesDead},
	} {
		q := x.ask
		q.Tx, q.Saw = id(9), id(1)
		switch q.Expected {
		case "":
			q.Expected = "v"
		case "-":
			q.Expected = ""
		}
		assert.Equal(t, x.want, x.c.Evidence(x.version, q), x.name)
	}
}
