package cell_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/cell"
)

func TestEffective(t *testing.T) {
	for _, x := range []struct {
		name      string
		c         *cell.Cell
		committed bool
		value     cell.Value
		writer    byte
	}{
		{"no intent", valued(), false, inline("old"), 1},
		{"no intent, whatever is known", valued(), true, inline("old"), 1},
		{"put, committed", locked(intent(2, cell.Staged, cell.Put)), true, inline("new"), 2},
		{"put, not", locked(intent(2, cell.Staged, cell.Put)), false, inline("old"), 1},
		{"delete, committed", locked(intent(2, cell.Staged, cell.Delete)), true, cell.Value{}, 2},
		{"delete, not", locked(intent(2, cell.Staged, cell.Delete)), false, inline("old"), 1},
		{"lock, committed", locked(intent(2, cell.Pending, cell.Lock)), true, inline("old"), 1},
		{"lock, not", locked(intent(2, cell.Pending, cell.Lock)), false, inline("old"), 1},
	} {
		value, writer := x.c.Effective(x.committed)
		assert.Equal(t, x.value, value, x.name)
		assert.Equal(t, id(x.writer), writer, x.name)
	}
	value, writer := new(cell.Cell).Effective(true)
	assert.Equal(t, cell.Absent, value.Kind)
	assert.True(t, writer.IsZero(), "an absent object has no writer")
}

func TestNames(t *testing.T) {
	c := &cell.Cell{Writer: id(3), Recent: ids(3, 2), Marks: marks(4)}
	c.Intent = intent(5, cell.Staged, cell.Lock)
	for n, named := range map[byte]bool{1: false, 2: true, 3: true, 4: true, 5: false} {
		assert.Equal(t, named, c.Names(id(n)), "attempt %d", n)
	}
	assert.True(t, (&cell.Cell{Writer: id(3)}).Names(id(3)), "the writer alone names it")
}

func TestReachesBack(t *testing.T) {
	full := &cell.Cell{Recent: ids(9, 8, 7, 6, 5, 4, 3, 2)}
	assert.True(t, full.ReachesBack(id(2)), "contains the writer")
	assert.False(t, full.ReachesBack(id(1)), "has forgotten the writer")
	notFull := &cell.Cell{Recent: ids(9, 8, 7, 6, 5, 4, 3)}
	assert.True(t, notFull.ReachesBack(id(1)), "was never full")
}

func TestMarkAndIntentOfAnAttempt(t *testing.T) {
	c := &cell.Cell{Marks: marks(3, 4), Intent: intent(5, cell.Staged, cell.Lock)}
	m, ok := c.Mark(id(4))
	assert.True(t, ok)
	assert.Equal(t, mark(4), m)
	_, ok = c.Mark(id(5))
	assert.False(t, ok, "an intent is no mark")
	assert.True(t, c.Holds(id(5)))
	assert.False(t, c.Holds(id(4)), "a mark is no intent")
	assert.False(t, new(cell.Cell).Holds(id(4)))
}

func TestMembers(t *testing.T) {
	m := members("=a", "=b")
	assert.Equal(t, "=a", m.Primary().Name)
	b, ok := m.Find("=b")
	assert.True(t, ok)
	assert.Equal(t, cell.Member{Name: "=b", Expected: "v1"}, b)
	_, ok = m.Find("=c")
	assert.False(t, ok)

	alone := members("=a")
	assert.True(t, alone.Whole())
	alone.Long = true
	assert.False(t, alone.Whole(), "the primary alone of a long list")
	m.Long = true
	assert.True(t, m.Whole(), "the primary's own long list")
}

func TestShapes(t *testing.T) {
	for _, x := range []struct {
		name  string
		c     *cell.Cell
		shape cell.Shape
	}{
		{"absent", &cell.Cell{}, cell.ShapeTombstone},
		{"deleted", &cell.Cell{Writer: id(1), Recent: ids(1)}, cell.ShapeTombstone},
		{"value", valued(), cell.ShapeValue},
		{"value that expires",
			&cell.Cell{Value: expiring(inline("x"), 1), Writer: id(1)}, cell.ShapeLook},
		{"value to come that expires", &cell.Cell{Intent: &cell.Intent{
			Tx: id(2), Mode: cell.Staged, Action: cell.Put, Value: expiring(inline("x"), 1),
			Members: members("=a"),
		}}, cell.ShapeLook},
		{"intent on a value", locked(intent(2, cell.Staged, cell.Delete)), cell.ShapeLook},
		{"intent on nothing", &cell.Cell{Intent: intent(2, cell.Staged, cell.Put)},
			cell.ShapeLook},
	} {
		assert.Equal(t, x.shape, x.c.Shape(), x.name)
		assert.Equal(t, x.shape, cell.ShapeOf(int64(len(cell.Encode(x.c, nonce)))), x.name)
	}
}
