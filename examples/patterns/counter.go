package patterns

import (
	"context"
	"math/rand/v2"
	"strconv"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/tuple"
)

// CounterShards is how many keys a counter has: about as many as add to it in the same second.
const CounterShards = 16

// Add adds to a counter: to one of its keys, at random, so that writers seldom meet.
func Add(ctx context.Context, counters *strictkv.Collection, name string, n int64) error {
	return AddTo(ctx, counters, name, rand.IntN(CounterShards), n)
}

// AddTo adds to one of a counter's keys: a process that adds much may have one for itself.
func AddTo(
	ctx context.Context, counters *strictkv.Collection, name string, shard int, n int64,
) error {
	key, err := tuple.Tuple{name, shard}.Pack()
	if err != nil {
		return err
	}
	return counters.Update(ctx, key, func(old []byte) ([]byte, error) {
		sum := int64(0)
		if old != nil {
			var err error
			if sum, err = strconv.ParseInt(string(old), 10, 64); err != nil {
				return nil, err
			}
		}
		return strconv.AppendInt(nil, sum+n, 10), nil
	})
}

// Total is the sum of a counter's keys, at one instant.
func Total(
	ctx context.Context, db *strictkv.DB, counters *strictkv.Collection, name string,
) (int64, error) {
	shards, err := tuple.Tuple{name}.Range()
	if err != nil {
		return 0, err
	}
	return strictkv.DoView(ctx, db, func(tx *strictkv.Tx) (total int64, err error) {
		for shard, err := range tx.Scan(counters, shards) {
			if err != nil {
				return 0, err
			}
			n, err := strconv.ParseInt(string(shard.Value), 10, 64)
			if err != nil {
				return 0, err
			}
			total += n
		}
		return total, nil
	})
}
