package strictkv_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	b := memory.New()
	db, err := strictkv.Open(ctx, "example", b)
	require.NoError(t, err)
	coll := db.Collection([]byte("my-collection"))
	key := []byte("key")
	for i := 0; i < 5; i++ {
		err = db.Tx(ctx, func(tx *strictkv.Tx) error {
			b, err := tx.Read(coll, key)
			if err != nil && !errors.Is(err, backend.ErrNotFound) {
				return err
			}
			if string(b) == "Hello" {
				return tx.Write(coll, key, []byte("world!"))
			}
			return tx.Write(coll, key, []byte("Hello"))
		})
		require.NoError(t, err)
	}
	v, err := coll.Read(ctx, key)
	require.NoError(t, err)
	require.Equal(t, "Hello", string(v))
	// counters over several handles
	var wg sync.WaitGroup
	for h := 0; h < 4; h++ {
		d, err := strictkv.Open(ctx, "example", b)
		require.NoError(t, err)
		c := d.Collection([]byte("n"))
		for g := 0; g < 4; g++ {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := 0; i < 50; i++ {
					require.NoError(t, d.Tx(ctx, func(tx *strictkv.Tx) error {
						for _, k := range []string{"a", "b", "c"}[:1+i%3] {
							v, err := tx.Read(c, []byte(k))
							if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
								return err
							}
							n := 0
							fmt.Sscan(string(v), &n)
							if err := tx.Write(c, []byte(k), []byte(fmt.Sprint(n+1))); err != nil {
								return err
							}
						}
						return nil
					}))
				}
			}()
		}
	}
	wg.Wait()
	c := db.Collection([]byte("n"))
	for _, k := range []string{"a", "b", "c"} {
		v, err := c.Read(ctx, []byte(k))
		t.Log(k, string(v), err)
	}
	require.NoError(t, db.Close(ctx))
}
