package backup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/layers/backup"
)

// A test binary that finds these in its environment is a process of TestKill.
const (
	workEnv       = "STRICTKV_BACKUP_PROCESS"
	fromEnv       = "STRICTKV_BACKUP_FROM"
	intoEnv       = "STRICTKV_BACKUP_INTO"
	repositoryEnv = "STRICTKV_BACKUP_REPOSITORY"
)

func TestMain(m *testing.M) {
	if os.Getenv(workEnv) == "" {
		os.Exit(m.Run())
	}
	if err := work(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// work is what a process does until it is killed.
func work(ctx context.Context) (err error) {
	repo, err := backup.Open(folder.New(os.Getenv(repositoryEnv), folder.NoSync()),
		backup.Options{Compress: true})
	if err != nil {
		return err
	}
	place := os.Getenv(intoEnv)
	if os.Getenv(workEnv) == "backup" {
		place = os.Getenv(fromEnv)
	}
	db, err := strictkv.Open(ctx, "db", folder.New(place, folder.NoSync()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	if os.Getenv(workEnv) == "backup" {
		_, err = repo.Backup(ctx, db, backup.BackupOptions{})
		return err
	}
	_, err = repo.Restore(ctx, "", db, backup.RestoreOptions{Resume: true})
	return err
}

// TestKill kills processes that back up, and that restore, at random moments: what is listed is
// whole, no key is half restored, and the same call, made again, does it.
func TestKill(t *testing.T) {
	from, into, place := t.TempDir(), t.TempDir(), t.TempDir()
	open := func(dir string) *strictkv.DB {
		db, err := strictkv.Open(t.Context(), "db", folder.New(dir, folder.NoSync()))
		require.NoError(t, err)
		return db
	}
	source := open(from)
	fill(t, source, rand.New(rand.NewPCG(6, 1)), 300)
	want := contents(t, source)
	repo := repository(t, folder.New(place, folder.NoSync()), backup.Options{})
	for _, step := range []string{"backup", "restore"} {
		kills := 0
		for round := range 12 {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), workEnv+"="+step, fromEnv+"="+from, intoEnv+"="+into,
				repositoryEnv+"="+place)
			require.NoError(t, cmd.Start())
			time.AfterFunc(time.Duration(5+rand.IntN(10*(round+1)))*time.Millisecond, func() {
				_ = cmd.Process.Kill()
			})
			if cmd.Wait() != nil {
				kills++
			}
			all, err := repo.List(t.Context())
			require.NoError(t, err)
			for _, info := range all {
				_, err := repo.Verify(t.Context(), info.Name)
				require.NoError(t, err)
			}
		}
		assert.Positive(t, kills, step)
		if step == "backup" {
			_, err := repo.Backup(t.Context(), source, backup.BackupOptions{})
			require.NoError(t, err)
		}
	}
	db := open(into)
	_, err := repo.Restore(t.Context(), "", db, backup.RestoreOptions{Resume: true})
	require.NoError(t, err)
	assert.Equal(t, want, contents(t, db))
	report, err := db.Check(t.Context(), strictkv.CheckOptions{})
	require.NoError(t, err)
	assert.Empty(t, report.Problems)
	require.NoError(t, errors.Join(db.Close(t.Context()), source.Close(t.Context())))
}
