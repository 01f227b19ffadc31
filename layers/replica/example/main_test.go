package main

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process that the example starts is this test binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-node" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Three processes, one killed again and again, have equal copies in the end.
func TestExample(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), config{
		records: 300, nodes: 3, updates: 20, node: -1, seed: 1, feed: true, noSync: true,
		every: 100 * time.Millisecond, fullEvery: time.Second, killEvery: 50 * time.Millisecond,
	}, &out))
	assert.Contains(t, out.String(), "node 2 equals the database")
}
