package patterns

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv"
)

// Page returns up to n items behind a key, and the key for the next page: nil if there is none. It
// fails with strictkv.ErrInvalid if n is less than 1.
func Page(
	ctx context.Context, c *strictkv.Collection, after []byte, n int,
) (items []strictkv.Item, next []byte, err error) {
	if n < 1 {
		return nil, nil, fmt.Errorf("page of %d items: %w", n, strictkv.ErrInvalid)
	}
	r := strictkv.Range{Limit: n + 1} // one more tells whether there is another page
	if after != nil {
		r = r.After(after)
	}
	for item, err := range c.Items(ctx, r) {
		if err != nil {
			return nil, nil, err
		}
		items = append(items, item)
	}
	if len(items) > n {
		items = items[:n]
		next = items[n-1].Key
	}
	return items, next, nil
}
