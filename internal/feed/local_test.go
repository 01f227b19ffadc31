package feed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/internal/seam"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var background = context.Background()

func TestLocalHandsEachNameOnceToEachSubscriber(t *testing.T) {
	l := NewLocal(seam.Real())
	l.Note([]string{"before"})
	a, b := l.Subscribe(), l.Subscribe()
	l.Note([]string{"=b", "=a"})
	l.Note([]string{"=a", "=c"})
	h, err := a.Next(background)
	require.NoError(t, err)
	assert.Equal(t, Hints{Names: []string{"=b", "=a", "=c"}}, h)
	a.Stop()
	l.Note([]string{"=a"})
	assert.Zero(t, a.Now(), "it has been stopped")
	assert.Equal(t, Hints{Names: []string{"=b", "=a", "=c"}}, b.Now())
	l.Note([]string{"=a"})
	assert.Equal(t, Hints{Names: []string{"=a"}}, b.Now(), "written again since")
	b.Stop()
}

func TestLocalWaitsForWhatIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLocal(seam.Real())
		s := l.Subscribe()
		defer s.Stop()
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		_, err := s.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		begun := time.Now()
		go func() {
			time.Sleep(time.Minute)
			l.Note([]string{"=a"})
		}()
		h, err := s.Next(background)
		require.NoError(t, err)
		assert.Equal(t, Hints{Names: []string{"=a"}}, h)
		assert.Equal(t, time.Minute, time.Since(begun))
	})
}

func TestLocalIsBounded(t *testing.T) {
	for what, name := range map[string]func(i int) string{
		"names": func(i int) string { return fmt.Sprint("=", i) },
		"bytes": func(i int) string { return fmt.Sprint("=", strings.Repeat("x", 900), i) },
	} {
		l := NewLocal(seam.Real())
		s := l.Subscribe()
		for i := range 2 * waitingMax {
			l.Note([]string{name(i)})
		}
		h := s.Now()
		assert.True(t, h.Missed, what)
		assert.LessOrEqual(t, len(h.Names), waitingMax, what)
		bytes := 0
		for _, n := range h.Names {
			bytes += len(n)
		}
		assert.LessOrEqual(t, bytes, waitingBytesMax, what)
		l.Note([]string{"=a"})
		assert.Equal(t, Hints{Names: []string{"=a"}}, s.Now(), what)
		s.Stop()
	}
}
