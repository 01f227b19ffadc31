package bucket_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
	"github.com/strictkv/strictkv/benchmarks/internal/load"
	_ "github.com/strictkv/strictkv/benchmarks/internal/server"
)

func TestOptions(t *testing.T) {
	var o bucket.Options
	f := flag.NewFlagSet("test", flag.ContinueOnError)
	o.Flags(f)
	require.NoError(t, f.Parse([]string{"-profile", "azure", "-throttle"}))
	require.NoError(t, o.Start(t))
	assert.True(t, o.Virtual())
	assert.Equal(t, "azure, throttled", o.String())
	assert.Equal(t, "gs", bucket.Options{URL: "gs://bucket"}.String())
	assert.Equal(t, "azure, gcs, s3", bucket.ProfileNames())
	_, err := bucket.Open(t.Context(), bucket.Options{Profile: "none"})
	assert.ErrorContains(t, err, "none")
}

// TestSimulated: keys are made at once, and read with the latency of the profile.
func TestSimulated(t *testing.T) {
	o := bucket.Options{Constant: 100 * time.Millisecond}
	require.NoError(t, o.Run(t, func(ctx context.Context) error {
		b, err := bucket.Open(ctx, o)
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, b.Preload(ctx, 100, []byte("value")))
		assert.Zero(t, time.Since(began))
		db, err := b.Handle(ctx)
		require.NoError(t, err)
		assert.Equal(t, 100*time.Millisecond, time.Since(began))
		v, err := bucket.Collection(db).Read(ctx, bucket.Key(99))
		require.NoError(t, err)
		assert.Equal(t, "value", string(v))
		assert.Equal(t, 200*time.Millisecond, time.Since(began))
		ms, err := b.PutMs(ctx, 1)
		require.NoError(t, err)
		assert.InDelta(t, 100, ms, 1e-9)
		fraction, err := b.Fraction(ctx, &load.Result{}, 1, 1)
		require.NoError(t, err)
		assert.Zero(t, fraction)
		assert.Len(t, b.Handles(), 1)
		assert.True(t, b.Raw().Backend.Capabilities().SendsOnce, "as the clouds' adapters declare")
		return b.Close(ctx)
	}))
}

// TestReal leaves no object behind.
func TestReal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	ctx := t.Context()
	b, err := bucket.Open(ctx, bucket.Options{URL: "file://" + dir + "?nosync=true"})
	require.NoError(t, err)
	require.NoError(t, b.Preload(ctx, 40, []byte("value")))
	_, err = b.Handle(ctx)
	require.NoError(t, err)
	ms, err := b.PutMs(ctx, 1)
	require.NoError(t, err)
	assert.Positive(t, ms)
	assert.Positive(t, files(t, dir))
	require.NoError(t, b.Close(ctx))
	assert.Zero(t, files(t, dir))
}

func files(t *testing.T, dir string) (n int) {
	require.NoError(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if d.Name() == ".strictkv" {
			return filepath.SkipDir // locks of the folder itself
		}
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	}))
	return n
}
