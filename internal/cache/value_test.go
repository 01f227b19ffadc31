package cache_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cache"
)

func TestValues(t *testing.T) {
	c := cache.New(1 << 20)
	s := c.Space("db")
	_, ok := s.Value("*a.1")
	assert.False(t, ok)
	data := []byte("large")
	s.LearnValue("*a.1", data)
	s.LearnValue("*a.1", []byte("large"))
	got, ok := s.Value("*a.1")
	require.True(t, ok)
	assert.Same(t, &data[0], &got[0], "the bytes are shared, and those known stay")

	s.Learn("*a.1", seen("1", 1, 2))
	size := c.Size()
	got, ok = s.Value("*a.1")
	assert.True(t, ok, "a cell of that name is something else")
	assert.Equal(t, data, got)
	_, ok = c.Space("other").Value("*a.1")
	assert.False(t, ok, "another database")

	s.ForgetValue("*a.1")
	s.ForgetValue("*a.2")
	_, ok = s.Value("*a.1")
	assert.False(t, ok)
	_, ok = s.Lookup("*a.1")
	assert.True(t, ok)
	assert.Less(t, c.Size(), size)

	s.LearnValue("*empty.1", nil)
	got, ok = s.Value("*empty.1")
	assert.True(t, ok)
	assert.Empty(t, got)
}

func TestAValueMayTakeAQuarter(t *testing.T) {
	const limit = 1 << 20
	for size, want := range map[int]bool{limit / 4: false, limit/4 - 8192: true, limit: false} {
		s := cache.New(limit).Space("db")
		s.LearnValue("*a.1", make([]byte, size))
		_, ok := s.Value("*a.1")
		assert.Equal(t, want, ok, "%d bytes", size)
	}
}

// Cells and values drive out each other, the least recently used first.
func TestValuesAndCellsShareTheBound(t *testing.T) {
	const limit = 100_000
	c := cache.New(limit)
	s := c.Space("db")
	s.Learn("=used", seen("1", 1, 2))
	s.Learn("=left", seen("1", 1, 2))
	s.LearnValue("*left.1", make([]byte, 10_000))
	for i := range 50 {
		s.LearnValue(fmt.Sprintf("*a.%d", i), make([]byte, 10_000))
		require.LessOrEqual(t, c.Size(), int64(limit))
		_, ok := s.Lookup("=used")
		require.True(t, ok)
	}
	_, ok := s.Lookup("=left")
	assert.False(t, ok, "a value has driven out the cell")
	_, ok = s.Value("*left.1")
	assert.False(t, ok)
	for i := range 1000 {
		s.Learn(fmt.Sprintf("=%d", i), seen("1", i, i))
	}
	_, ok = s.Value("*a.49")
	assert.False(t, ok, "cells have driven out the value")
}

// TestSharedByManyHandles uses one cache in several goroutines, each pair of which has a
// database: what one learns there the other sees, and never what is another database's.
func TestSharedByManyHandles(t *testing.T) {
	const users, databases, names, rounds = 8, 4, 100, 2000
	c := cache.New(100_000)
	var wg sync.WaitGroup
	for u := range users {
		db := byte(u % databases)
		s := c.Space(fmt.Sprint("db", db))
		wg.Go(func() {
			for i := range rounds {
				name := fmt.Sprint("=", (i+u)%names)
				e := large(fmt.Sprint(i), i, 1000)
				e.Cell.Value.Data[0] = db
				e.Wrote = i%2 == 0
				s.Learn(name, e)
				if e, ok := s.Lookup(name); ok {
					assert.Equal(t, db, e.Cell.Value.Data[0], "the cell of another database")
				}
				s.LearnValue(name, bytes.Repeat([]byte{db}, 2000))
				if v, ok := s.Value(name); ok {
					assert.Equal(t, db, v[0], "the value of another database")
				}
				if i%10 == 0 {
					s.ForgetValue(name)
				}
				if c.Size() > 100_000 {
					assert.Fail(t, "too much")
				}
				c.Tick()
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, users*rounds+1, c.Tick())
	assert.Positive(t, c.Size())
}
