package price_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/price"
)

func TestCost(t *testing.T) {
	l := price.List{Put: 0.005, List: 0.007, Get: 0.0004}
	for _, c := range []struct {
		r    price.Requests
		want float64
	}{
		{price.Requests{}, 0},
		{price.Requests{Puts: 1000}, 0.005},
		{price.Requests{Lists: 1000}, 0.007},
		{price.Requests{Gets: 1000}, 0.0004},
		{price.Requests{Gets: 500, Puts: 2000, Lists: 100}, 0.0002 + 0.01 + 0.0007},
	} {
		assert.InDelta(t, c.want, l.Cost(c.r), 1e-12, "%+v", c.r)
	}
	// One read and one write to each transaction: as docs/costs.md says.
	assert.InDelta(t, 5.4, l.PerMillion(price.Requests{Gets: 50, Puts: 50}, 50), 1e-9)
	assert.Zero(t, l.PerMillion(price.Requests{Gets: 1}, 0))
}

func TestEachProfileHasPrices(t *testing.T) {
	names := map[string]bool{}
	for _, l := range price.Lists {
		names[l.Name] = true
	}
	for name := range bucket.Profiles {
		assert.True(t, names[name], name)
	}
}
