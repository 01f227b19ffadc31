package strictkv

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/memory"
)

var background = context.Background()

func TestSubscribersAreToldWhatTransactionsWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(background, "db", memory.New())
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close(background)) }()
		c := db.Collection([]byte("c"))
		require.NoError(t, c.Write(background, []byte("before"), nil))
		s := db.subscribe()
		defer s.Stop()
		for _, x := range []struct {
			what string
			do   func() error
			want []string
		}{
			{"direct", func() error { return c.Write(background, []byte("a"), nil) },
				[]string{"+c/=a"}},
			{"parallel", func() error {
				return db.Tx(background, func(tx *Tx) error {
					return errors.Join(tx.Write(c, []byte("b"), nil), tx.Write(c, []byte("a"), nil))
				})
			}, []string{"+c/=a", "+c/=b"}},
			{"validated", func() error {
				return db.Tx(background, func(tx *Tx) error {
					_, err := tx.Read(c, []byte("a"))
					return errors.Join(err, tx.Delete(c, []byte("b")))
				})
			}, []string{"+c/=b"}},
			{"read only", func() error {
				_, err := c.Read(background, []byte("a"))
				return err
			}, nil},
			{"failed", func() error {
				err := db.Tx(background, func(tx *Tx) error {
					return errors.Join(tx.Write(c, []byte("b"), nil), assert.AnError)
				})
				assert.ErrorIs(t, err, assert.AnError)
				return nil
			}, nil},
		} {
			require.NoError(t, x.do(), x.what)
			assert.Equal(t, x.want, s.Now().Names, x.what)
		}
	})
}
