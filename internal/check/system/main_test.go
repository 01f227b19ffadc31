package system_test

import (
	"context"
	"os"
	"testing"

	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

// TestMain lets the test's binary be a stand-in for Cloud Storage as well.
func TestMain(m *testing.M) {
	gcstest.Main()
	os.Exit(m.Run())
}

var ctx = context.Background()
