package queue_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/queue"
)

// TestRand: equal bytes give equal ids; and when there are no more, a queue says so and changes
// nothing.
func TestRand(t *testing.T) {
	_, db := open(t, memory.New(), queue.Options{})
	c := db.Collection([]byte("queue"))
	_, err := queue.New(db, c, queue.Options{Rand: bytes.NewReader(nil)})
	require.ErrorIs(t, err, io.EOF)
	bits := append(make([]byte, 16), "sixteen bytes..."...)
	q, err := queue.New(db, c, queue.Options{Rand: bytes.NewReader(bits)})
	require.NoError(t, err)
	id, err := q.Enqueue(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, "ONUXQ5DFMVXCAYTZORSXGLROFY", id)
	_, err = q.Enqueue(t.Context(), nil)
	require.ErrorIs(t, err, io.EOF)
	_, err = q.Claim(t.Context())
	require.ErrorIs(t, err, io.EOF)
	n, err := q.Len(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
}
