package cache_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/cache"
)

// there is the store's time, which is an hour ahead.
func there(seconds int) time.Time { return at(seconds).Add(time.Hour) }

func TestTheStoresClock(t *testing.T) {
	for _, x := range []struct {
		name string
		do   func(c *cache.Clock)
		last time.Time
		from time.Time // what is known since is trusted
	}{
		{"nothing was told", func(c *cache.Clock) { c.Saw(time.Time{}, at(1), at(2)) },
			time.Time{}, time.Time{}},
		{"it is ahead, as ever", func(c *cache.Clock) {
			c.Saw(there(1), at(0), at(2))
			c.Saw(there(100), at(99), at(101))
		}, there(100), time.Time{}},
		{"an answer that was long on its way", func(c *cache.Clock) {
			c.Saw(there(1), at(0), at(60))
			c.Saw(there(62), at(61), at(63))
		}, there(62), time.Time{}},
		{"a later answer tells of an earlier time", func(c *cache.Clock) {
			c.Saw(there(100), at(99), at(101))
			c.Saw(there(50), at(49), at(102))
		}, there(100), time.Time{}},
		{"it has gone on while this process stood still", func(c *cache.Clock) {
			c.Saw(there(1), at(0), at(2))
			c.Saw(there(10_000), at(3), at(4))
		}, there(10_000), at(4)},
		{"it was set back", func(c *cache.Clock) {
			c.Saw(there(10_000), at(0), at(2))
			c.Saw(there(3), at(2), at(4))
		}, there(10_000), time.Time{}},
		{"an object was written then", func(c *cache.Clock) {
			c.AtLeast(there(5))
			c.AtLeast(there(4))
			c.AtLeast(time.Time{})
		}, there(5), time.Time{}},
	} {
		c := cache.New(0).Space("db").Clock
		x.do(c)
		assert.Equal(t, x.last, c.Last(), x.name)
		assert.Equal(t, x.from, c.Trusted(at(5)), x.name)
	}
}

// The monotonic clock stands still while a machine sleeps, the wall clock does not.
func TestTheProcessesOwnClocks(t *testing.T) {
	c := cache.New(0).Space("db").Clock
	now := time.Now()
	assert.Zero(t, c.Trusted(now))
	assert.Zero(t, c.Trusted(now.Add(time.Hour)), "both have gone on")
	slept := now.Add(3 * time.Hour).Round(0) // without a monotonic reading both are the same
	assert.Zero(t, c.Trusted(slept))
}

func TestAClockForEachDatabase(t *testing.T) {
	c := cache.New(0)
	c.Space("one").AtLeast(there(1))
	assert.Equal(t, there(1), c.Space("one").Last(), "its handles share it")
	assert.Zero(t, c.Space("two").Last())
}

func TestReadingIsNeverAheadOfTheStore(t *testing.T) {
	var c cache.Clock
	there := func(seconds int) time.Time { return at(seconds).Add(-20 * time.Minute) }
	assert.Equal(t, time.Unix(0, 0), c.Reading(at(0)), "before any answer nothing is due")
	c.Saw(there(1), at(0), at(3))
	assert.Equal(t, there(1), c.Reading(at(3)), "what the answer has told")
	assert.Equal(t, there(8), c.Reading(at(10)), "and what has passed since")
	c.Saw(time.Time{}, at(11), at(12))
	assert.Equal(t, there(10), c.Reading(at(12)), "an answer without a time says nothing")
	c.Saw(there(13), at(13), at(20))
	assert.Equal(t, there(13), c.Reading(at(20)), "a late answer does not set it back")
	c.Saw(there(21), at(21), at(22))
	assert.Equal(t, there(21), c.Reading(at(22)))
	assert.Equal(t, there(21), c.Reading(at(2)), "nor does the process's clock")
}

func TestReadingOfASilentStore(t *testing.T) {
	var c cache.Clock
	c.Saw(time.Time{}, at(0), at(1))
	assert.Equal(t, at(5), c.Reading(at(5)), "it is the process's")
	c.AtLeast(at(7))
	assert.Equal(t, at(7), c.Reading(at(6)), "if that is not known to be slow")
	c.Saw(at(900), at(5), at(6))
	assert.Equal(t, at(901), c.Reading(at(7)), "until an answer tells")
}
