package cell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/cell"
)

// benchCells are a plain cell of 1 KiB, and intents with 2 and with 10 members.
func benchCells() map[string]*cell.Cell {
	plain := &cell.Cell{Value: inline(strings.Repeat("x", 1024)), Writer: id(1)}
	plain.Recent = ids(1, 2, 3, 4, 5, 6, 7, 8)
	withMembers := func(n int) *cell.Cell {
		c := *plain
		c.Intent = intent(9, cell.Staged, cell.Put)
		c.Intent.Members = cell.Members{}
		for i := range n {
			name := fmt.Sprintf("+accounts/=%029d", i)
			c.Intent.List = append(c.Intent.List, cell.Member{Name: name, Expected: "1234567890"})
		}
		return &c
	}
	return map[string]*cell.Cell{
		"plain": plain, "members=2": withMembers(2), "members=10": withMembers(10),
	}
}

func TestAllocations(t *testing.T) {
	limits := map[string]float64{"plain": 4, "members=2": 8, "members=10": 8}
	for name, c := range benchCells() {
		data := cell.Encode(c, nonce)
		encode := testing.AllocsPerRun(100, func() { cell.Encode(c, nonce) })
		decode := testing.AllocsPerRun(100, func() { _, _ = cell.Decode(data) })
		assert.LessOrEqual(t, encode, 1.0, "encode %s", name)
		assert.LessOrEqual(t, decode, limits[name], "decode %s", name)
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, c := range benchCells() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cell.Encode(c, nonce)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, c := range benchCells() {
		data := cell.Encode(c, nonce)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = cell.Decode(data)
			}
		})
	}
}
