// Package server lets benchmarks work on real stores, and starts stand-ins for the clouds' on
// this machine. Who imports it compiles the SDKs of all clouds.
package server

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/azure/azuretest"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/bucketurl/bucketurltest"
	"github.com/strictkv/strictkv/backend/pebble/pebbleurl"
	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
)

// fakeGCS is started here, not by package bucketurltest: on files, since its memory is slow
// beyond a thousand objects, without the proxy that corrects it, which is slow as well, and
// with a front that lists for it. What it gets wrong, conditions of reads and of deletes,
// costs speed only: an answer that should have been "not modified" brings the data.
const fakeGCS = "fake-gcs-server"

// azurite is taken without its proxy, too, which lists the whole container for each page; it is
// slow itself from 20 000 blobs on, but for docs/benchmarks.md's patch. Names
// with a backslash, and those that UTF-16 sorts otherwise than bytes do, are wrong there.
const azurite = "Azurite"

func init() { bucket.Real = stores{} }

// stores are what a bucket of package bucket can be on.
type stores struct{}

func (stores) Names() string { return Names() }

func (stores) Start(t *testing.T, name string) (string, error) { return Start(t, name) }

func (stores) Open(ctx context.Context, url string) (backend.Backend, func() error, error) {
	b, err := bucketurl.Open(ctx, url, pebbleurl.Scheme())
	if err != nil {
		return nil, nil, err
	}
	return b, b.Close, nil
}

// Names are those that Start knows, separated by commas.
func Names() string {
	var names []string
	for _, s := range bucketurltest.Stores {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// Start starts a store, makes a bucket, and returns its URL. It stops when t ends; until then
// the environment has what package bucketurl needs. A server that is no part of this module
// must be named by the environment: STRICTKV_AZURITE, STRICTKV_VERSITYGW, STRICTKV_MOTO; see
// docs/testing.md.
func Start(t *testing.T, name string) (string, error) {
	switch name {
	case fakeGCS:
		return startFakeGCS(t)
	case azurite:
		return startAzurite(t), nil
	}
	for _, s := range bucketurltest.Stores {
		if s.Name == name {
			return s.Bucket(t), nil
		}
	}
	return "", fmt.Errorf("start server: no %q, but %s", name, Names())
}

func startAzurite(t *testing.T) string {
	direct := azuretest.Start(t).DirectURL()
	c := azuretest.Container(t, direct)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", azuretest.ConnectionString(direct))
	return "azblob://" + path.Base(c.URL()) + "/part"
}

func startFakeGCS(t *testing.T) (string, error) {
	fake, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, PublicHost: "127.0.0.1", StorageRoot: t.TempDir(),
	})
	if err != nil {
		return "", fmt.Errorf("start %s: %w", fakeGCS, err)
	}
	t.Cleanup(fake.Stop)
	fake.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: fakeBucket})
	s := httptest.NewServer(newFront(fake.HTTPHandler()))
	t.Cleanup(s.Close)
	t.Setenv("STORAGE_EMULATOR_HOST", s.URL)
	return "gs://" + fakeBucket, nil
}
