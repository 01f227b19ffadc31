package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/internal/plain"
)

// programEnv makes the test's binary the program.
const programEnv = "STRICTKV_SWEEP_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// littered makes a database with three deleted keys, one of them in a nested collection.
func littered(t *testing.T) (dir string) {
	dir = filepath.Join(t.TempDir(), "data")
	db, err := strictkv.Open(t.Context(), "example", folder.New(dir, folder.NoSync()))
	require.NoError(t, err)
	users := db.Collection([]byte("users"))
	for _, c := range []*strictkv.Collection{
		db.Collection([]byte("other")), users, users.Collection([]byte("old")),
	} {
		require.NoError(t, c.Write(t.Context(), []byte("alice"), []byte("x")))
		require.NoError(t, c.Write(t.Context(), []byte("bob"), []byte("x")))
		require.NoError(t, c.Delete(t.Context(), []byte("bob")))
	}
	require.NoError(t, db.Close(t.Context()))
	return dir
}

func sweeps(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	require.NoError(t, run(t.Context(), args, &o, &e))
	require.NoError(t, plain.Check(o.String()))
	require.NoError(t, plain.Check(e.String()))
	return o.String(), e.String()
}

func TestSweep(t *testing.T) {
	dir := littered(t)
	for _, x := range []struct {
		args []string
		want string
	}{
		{nil, "7 objects of"},
		{nil, "       3 tombstones and intents are too young\n"},
		{[]string{"-horizon", "-1s", "-dry-run"}, "       3 tombstones would be removed\n"},
		{[]string{"-horizon", "-1s", "-collection", "users/old"}, "       1 tombstones removed\n"},
		{[]string{"-horizon", "-1s", "-collection", "users"}, "       1 tombstones removed\n"},
		{[]string{"-horizon", "-1s", "-database", "another"}, "       0 tombstones removed\n"},
		{[]string{"-horizon", "-1s"}, "       1 tombstones removed\n"},
		{[]string{"-horizon", "-1s", "-concurrency", "1"}, "4 objects of"},
	} {
		out, errs := sweeps(t, append(x.args, "-dir", dir)...)
		assert.Contains(t, out, x.want, x.args)
		assert.Contains(t, errs, "objects listed", x.args)
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, nil, &out), flag.ErrHelp)
	require.NoError(t, plain.Check(out.String()))
}

func TestSweepFails(t *testing.T) {
	dir := littered(t)
	for _, args := range [][]string{
		{"-database", "///"}, {"-bucket", "nowhere://x"}, {"-horizon", "soon"}, {"now"},
		{"-collection", "users/"}, {"-no-such-flag"},
	} {
		args = append([]string{"-dir", dir}, args...)
		err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{})
		assert.Error(t, err, args)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := run(ctx, []string{"-dir", dir}, &bytes.Buffer{}, &bytes.Buffer{})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestExitStatus(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir := littered(t)
	run := func() (int, string) {
		program := exec.CommandContext(t.Context(), self, "-dir", dir, "-horizon", "-1s")
		program.Env = append(os.Environ(), programEnv+"=1")
		out, _ := program.CombinedOutput()
		return program.ProcessState.ExitCode(), string(out)
	}
	status, out := run()
	assert.Zero(t, status, out)

	// What claims to be a cell with an intent, by its size, but is damaged.
	store, name := folder.New(dir), "example/+users/=alice"
	o, err := store.Get(t.Context(), name, "")
	require.NoError(t, err)
	short := o.Data[:len(o.Data)-2]
	_, err = store.Put(t.Context(), name, short, backend.IfVersion(o.Version))
	require.NoError(t, err)
	status, out = run()
	assert.Equal(t, 1, status)
	assert.Contains(t, out, "sweep: ")
	assert.Contains(t, out, "1 objects failed")
}
