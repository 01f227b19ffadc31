package pebbleurl_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/pebble"
	"github.com/strictkv/strictkv/backend/pebble/pebbleurl"
)

func ExampleScheme() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bucket, err := bucketurl.Open(ctx, "pebble://"+filepath.ToSlash(dir), pebbleurl.Scheme())
	if err != nil {
		log.Fatal(err)
	}
	_, err = bucket.Put(ctx, "greeting", []byte("hello"), backend.IfAbsent())
	fmt.Println(err, bucket.Close())
	// Output: <nil> <nil>
}

// TestShared: one process may open a URL several times.
func TestShared(t *testing.T) {
	dir := filepath.ToSlash(t.TempDir())
	open := func(parameters string) (*bucketurl.Bucket, error) {
		return bucketurl.Open(t.Context(), "pebble://"+dir+parameters, pebbleurl.Scheme())
	}
	one, err := open("")
	require.NoError(t, err)
	two, err := open("?nosync=false")
	require.NoError(t, err)
	_, err = one.Put(t.Context(), "name", []byte("data"), backend.IfAbsent())
	require.NoError(t, err)
	_, err = open("?nosync=true")
	require.ErrorIs(t, err, pebble.ErrInUse)
	require.NoError(t, one.Close())
	require.NoError(t, one.Close(), "a second time")
	o, err := two.Get(t.Context(), "name", "")
	require.NoError(t, err)
	assert.Equal(t, "data", string(o.Data))
	require.NoError(t, two.Close())
	three, err := open("?nosync=true&buffer_mib=32")
	require.NoError(t, err)
	require.NoError(t, three.Close())
}

func TestErrors(t *testing.T) {
	for url, want := range map[string]string{
		"pebble:///tmp/x?nosync=maybe": `parameter "nosync": want true or false`,
		"pebble:///tmp/x?cache=1":      `parameter "cache": pebble has only nosync, buffer_mib`,
		"pebble:///tmp/x?buffer_mib=0": `parameter "buffer_mib": want a number from 1 to 1024`,
		"pebble:///tmp/x?buffer_mib=x": `parameter "buffer_mib": want a number from 1 to 1024`,
		"pebble://host/x":              "want pebble:///directory or pebble://./directory",
	} {
		_, err := bucketurl.Open(t.Context(), url, pebbleurl.Scheme())
		require.ErrorIs(t, err, backend.ErrInvalid)
		assert.ErrorContains(t, err, want)
	}
	_, err := bucketurl.Open(t.Context(), "pebble:///tmp/x")
	require.ErrorContains(t, err, `scheme "pebble": want`)
}

// TestBatches: several keys are committed by one request, also through a URL and in a part of it.
func TestBatches(t *testing.T) {
	dir := filepath.ToSlash(t.TempDir())
	bucket, err := bucketurl.Open(t.Context(), "pebble://"+dir, pebbleurl.Scheme())
	require.NoError(t, err)
	for name, b := range map[string]backend.Backend{
		"bucket": bucket, "part": bucket.Within("part"),
	} {
		t.Run(name, func(t *testing.T) {
			db, err := strictkv.Open(t.Context(), "db", b)
			require.NoError(t, err)
			before := db.Stats()
			require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
				for _, key := range []string{"a", "b", "c"} {
					err := tx.Write(db.Collection([]byte("c")), []byte(key), []byte("value"))
					if err != nil {
						return err
					}
				}
				return nil
			}))
			require.NoError(t, db.Close(t.Context()))
			assert.Equal(t, int64(1), db.Stats().Sub(before).Puts)
		})
	}
	require.NoError(t, bucket.Close())
}
