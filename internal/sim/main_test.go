package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/internal/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTapeOnTheCommandLine(t *testing.T) {
	for _, tape := range [][]byte{{}, {0}, {1, 2, 3, 0, 0, 0, 255}} {
		got, err := sim.DecodeTape(sim.EncodeTape(tape))
		require.NoError(t, err)
		assert.Equal(t, tape, got)
	}
	_, err := sim.DecodeTape("?")
	assert.Error(t, err)
}
