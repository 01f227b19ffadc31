package recordlog

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/internal/seam"
)

// A test binary that finds this in its environment writes records to that directory until it is
// killed, and prints how many it has flushed.
const dirEnv = "STRICTKV_RECORDLOG_DIR"

const processSize = 64 << 20

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirEnv); dir != "" {
		if err := writeRecords(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

func writeRecords(dir string) error {
	d, err := OpenDir(dir)
	if err != nil {
		return err
	}
	l, err := Open(d, Options{Runtime: seam.Real(), Size: processSize})
	if err != nil {
		return err
	}
	for i := int(l.Stats().Records); ; i++ {
		l.Put(key(i), strconv.Itoa(i), value(key(i), "", 100+i*37%5000))
		if i%10 == 0 {
			l.Flush()
			fmt.Println(i)
		}
	}
}

// TestKilled kills a process that writes, again and again: what it had flushed is there, and what
// it had not is there whole or not at all.
func TestKilled(t *testing.T) {
	dir, flushed := t.TempDir(), 0
	for range 5 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), dirEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
			require.NoError(t, err)
			if n > flushed+300 {
				flushed = n
				break
			}
		}
		_, err = OpenDir(dir)
		require.ErrorIs(t, err, ErrInUse)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())

		d, err := OpenDir(dir)
		require.NoError(t, err)
		l := open(t, d, Options{Size: processSize})
		s := l.Stats()
		require.Greater(t, s.Records, int64(flushed))
		for i := range int(s.Records) {
			version, data, _, ok := l.Get(key(i))
			require.True(t, ok, i)
			require.Equal(t, strconv.Itoa(i), version)
			require.Equal(t, value(key(i), "", 100+i*37%5000), data)
		}
		assert.Zero(t, l.Stats().Damaged)
		flushed = int(s.Records) // the next begins there
		t.Logf("%+v", l.Stats())
		require.NoError(t, l.Close())
	}
}
