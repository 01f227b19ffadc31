package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/bucketurl/bucketurltest"
	"github.com/strictkv/strictkv/backend/pebble/pebbleurl"
)

var update = flag.Bool("update", false, "write what is printed into what it is compared to")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"strictkv": main, "victim": victim})
}

// TestTranscripts runs each script on each store: what is to be printed does not depend on it.
func TestTranscripts(t *testing.T) {
	t.Run("folder", func(t *testing.T) {
		transcripts(t, bucketurl.File(filepath.Join(t.TempDir(), "bucket")), true)
	})
	t.Run("pebble", func(t *testing.T) {
		transcripts(t, "pebble://"+filepath.ToSlash(t.TempDir()), true)
	})
	for _, s := range bucketurltest.Stores {
		t.Run(s.Name, func(t *testing.T) { transcripts(t, s.Bucket(t), s.Name == "azuretest") })
	}
}

// transcripts runs the scripts, each in a database of its own. Full ones take longer.
func transcripts(t *testing.T, bucket string, full bool) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), UpdateScripts: *update,
		RequireExplicitExec: true,
		Condition: func(name string) (bool, error) {
			switch name {
			case "full":
				return full, nil
			case "folder":
				return strings.HasPrefix(bucket, "file:"), nil
			case "moves": // what is foreign: the store honours the condition of a DELETE
				return !strings.Contains(bucket, "conditional_delete=false"), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "strip": strip, "bytes": bytesOf, "object": object,
			"rows": rows, "empty": empty,
		},
		Setup: func(e *testscript.Env) error {
			for _, v := range os.Environ() {
				for _, prefix := range []string{"AWS_", "AZURE_", "STORAGE_EMULATOR_HOST="} {
					if strings.HasPrefix(v, prefix) {
						e.Vars = append(e.Vars, v)
					}
				}
			}
			e.Setenv("AWS_CONFIG_FILE", os.DevNull)
			e.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
			e.Setenv("STRICTKV_BUCKET", bucket)
			if strings.HasPrefix(bucket, "pebble:") { // which two scripts can't have at once
				e.Setenv("STRICTKV_BUCKET", bucket+"/"+filepath.Base(e.WorkDir))
			}
			e.Setenv("STRICTKV_DB", filepath.Base(e.WorkDir))
			return nil
		},
	})
}

// code is a command of scripts: it runs another, which must exit with the code.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code CODE COMMAND [ARGUMENT...]")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// varying is what differs from run to run, and from store to store.
var varying = regexp.MustCompile(`,"version":"[0-9a-f]{32}"|"bytes":\d+|\d+ bytes`)

// strip is a command of scripts: it writes a file without what varies in another.
func strip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: strip FROM TO")
	}
	text := varying.ReplaceAllString(ts.ReadFile(args[0]), "")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// bytesOf is a command of scripts: it writes a file of so many bytes, all of which are different.
func bytesOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bytes NUMBER FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i ^ i>>8)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}

// object is a command of scripts: it puts an object that is none of the database's among its own.
func object(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: object NAME DATA")
	}
	ctx := context.Background()
	b, err := bucketurl.Open(ctx, ts.Getenv("STRICTKV_BUCKET"), pebbleurl.Scheme())
	ts.Check(err)
	defer b.Close()
	_, err = b.Put(ctx, ts.Getenv("STRICTKV_DB")+"/"+args[0], []byte(args[1]), backend.IfAbsent())
	ts.Check(err)
}

// rows is a command of scripts: it writes a file with so many rows.
func rows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: rows NUMBER FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	text := []byte("key,value\n")
	for i := range n {
		text = fmt.Appendf(text, "key%06d,value%s\n", i, strings.Repeat(" value", 11))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o600))
}

// empty is a command of scripts: nothing is left of what probes and benchmarks have written.
func empty(ts *testscript.TestScript, neg bool, args []string) {
	ctx := context.Background()
	b, err := bucketurl.Open(ctx, ts.Getenv("STRICTKV_BUCKET"), pebbleurl.Scheme())
	ts.Check(err)
	defer b.Close()
	page, err := b.List(ctx, backend.ListOptions{Prefix: "strictkv-"})
	ts.Check(err)
	if neg || len(args) > 0 || len(page.Objects) > 0 {
		ts.Fatalf("left: %v", page.Objects)
	}
}
