package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

// output is where results go: buffered, unless a person waits for them.
type output struct {
	*bufio.Writer
	terminal bool
}

func newOutput(f *os.File) *output {
	return &output{bufio.NewWriter(f), isTerminal(f)}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Write flushes lines that a person waits for.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err == nil && o.terminal {
		err = o.Flush()
	}
	return n, err
}

// print prints a value as JSON, or else the text.
func (a *app) print(v any, format string, args ...any) error {
	if a.json {
		text, err := marshal(v)
		if err != nil {
			return err
		}
		format, args = "%s\n", []any{text}
	}
	_, err := fmt.Fprintf(a.out, format, args...)
	return err
}

// marshal encodes a value as JSON in which nothing is left that a terminal would act on.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	text, out := bytes.TrimRight(buf.Bytes(), "\n"), []byte(nil)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r < utf8.RuneSelf && r != 0x7f || unicode.IsPrint(r):
			out = append(out, text[:n]...)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
		text = text[n:]
	}
	return out, nil
}

// table prints rows in columns.
func (a *app) table(rows [][]string) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// bytesOf are the fields of bytes in JSON: the name's if they are text, else name_base64.
func bytesOf(fields map[string]any, name string, b []byte) {
	if utf8.Valid(b) {
		fields[name] = string(b)
	} else {
		fields[name+"_base64"] = b
	}
}

// confirm asks whether to go on, unless the call has said so.
func (a *app) confirm(question string) error {
	if a.yes {
		return nil
	}
	if !isTerminal(a.in) {
		return fmt.Errorf("%w: nobody is there to be asked: use --yes", errUsage)
	}
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}
