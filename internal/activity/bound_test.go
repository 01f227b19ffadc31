package activity

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv"
)

// TestBound: memory does not depend on how many keys are asked for.
func TestBound(t *testing.T) {
	var m Monitor
	for i := range 3 * tracked {
		m.request(strictkv.RequestEnd{RequestBegin: strictkv.RequestBegin{
			Database: "db", Object: fmt.Sprint("db/+c/=", i), Kind: strictkv.ObjectCell,
		}})
	}
	assert.Len(t, m.keys, tracked)
}
