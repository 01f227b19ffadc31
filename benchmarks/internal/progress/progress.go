// Package progress shows on a terminal how far a measurement is. Into anything else it writes
// nothing: bars need a cursor.
package progress

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	barWidth = 28 // columns of the bar itself
	whatMax  = 40 // columns of what stands before it
)

// Bar shows which share of something has been done.
type Bar struct{ bar *progressbar.ProgressBar }

// New makes a bar that says what it is about, in at most 40 columns, on a terminal of 80; it
// is full at all, in any unit. If out is no terminal, it shows nothing.
func New(out io.Writer, what string, all int64) *Bar {
	file, ok := out.(*os.File)
	return bar(out, what, all, ok && term.IsTerminal(int(file.Fd())))
}

func bar(out io.Writer, what string, all int64, visible bool) *Bar {
	if runes := []rune(what); len(runes) > whatMax {
		what = string(runes[:whatMax])
	}
	return &Bar{progressbar.NewOptions64(all,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetVisibility(visible),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionSetElapsedTime(false), // virtual time is nobody's to wait
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionClearOnFinish(),
	)}
}

// Set shows that so much has been done.
func (b *Bar) Set(done int64) { _ = b.bar.Set64(done) }

// Close removes the bar from the terminal.
func (b *Bar) Close() { _ = b.bar.Finish() }
