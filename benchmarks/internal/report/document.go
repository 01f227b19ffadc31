package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Insert puts text into a document, between the lines "<!-- name -->" and "<!-- end name -->",
// in place of what is there. A document that is not there, or lacks the lines, stays as it is.
func Insert(path, name, text string) error {
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- %s -->\n", name), fmt.Sprintf("<!-- end %s -->\n", name)
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return nil
	}
	text = strings.TrimRight(text, "\n") + "\n"
	return os.WriteFile(path, []byte(before+begin+text+end+after), 0o644)
}

// document is the one that shows results, seen from the folder of the plots.
const document = "../benchmarks.md"

// InsertTable puts rows into the document above a folder, as Insert does.
func InsertTable[T any](dir, name string, rows []T) error {
	var b strings.Builder
	if err := Markdown(&b, rows); err != nil {
		return err
	}
	return insert(dir, name, b.String())
}

// InsertMachine puts what Machine says into the document above a folder, under the name
// "machine".
func InsertMachine(dir string) error { return insert(dir, "machine", Machine(time.Now())) }

func insert(dir, name, text string) error {
	return Insert(filepath.Join(dir, document), name, text)
}

// Machine says where and when figures were made, in one line.
func Machine(now time.Time) string {
	processor := ""
	info, _ := os.ReadFile("/proc/cpuinfo") // elsewhere there is no name to be had
	for line := range strings.SplitSeq(string(info), "\n") {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "model name" {
			processor = " of " + strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %s/%s, %d cores%s, %s.", now.Format("2 January 2006"), runtime.GOOS,
		runtime.GOARCH, runtime.NumCPU(), processor, runtime.Version())
}
