package history_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/history"
)

// script reads a history, a transaction a line:
//
//	a 10-20 c r(x)=1 w(x)=2
//
// is transaction a, invoked at 10, returned at 20, committed (v failed but validated,
// f failed, u unknown, whose return is left out: "10-"), and its operations:
// r(x)=- found nothing, w(x)=1, i(x)=1 inserted, e(x) found something, d(x) deleted,
// s(a,z)=x:1,y:2 scanned.
func script(t testing.TB, text string) []history.Transaction {
	t.Helper()
	var h []history.Transaction
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		require.GreaterOrEqual(t, len(f), 3, line)
		from, to, _ := strings.Cut(f[1], "-")
		tx := history.Transaction{ID: f[0], Client: "client " + f[0], Invoked: number(t, from)}
		switch f[2] {
		case "c":
			tx.Status = history.Committed
		case "u":
			tx.Status = history.Unknown
		case "f", "v":
			tx.Status, tx.Validated = history.Failed, f[2] == "v"
		default:
			require.Fail(t, "unknown status", line)
		}
		if tx.Status != history.Unknown {
			tx.Returned = number(t, to)
		}
		for _, op := range f[3:] {
			tx.Ops = append(tx.Ops, operation(t, op))
		}
		h = append(h, tx)
	}
	return h
}

func number(t testing.TB, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err)
	return n
}

func operation(t testing.TB, s string) history.Op {
	kind, rest, _ := strings.Cut(s, "(")
	key, value, ok := strings.Cut(rest, ")")
	require.True(t, ok, s)
	value = strings.TrimPrefix(value, "=")
	switch kind {
	case "r":
		if value == "-" {
			return history.ReadAbsent(key)
		}
		return history.Read(key, value)
	case "w":
		return history.Write(key, value)
	case "i":
		return history.Insert(key, value)
	case "d":
		return history.Delete(key)
	case "e":
		return history.Exists(key)
	case "s":
		return scan(key, value)
	}
	require.Fail(t, "unknown operation", s)
	return history.Op{}
}

func scan(interval, items string) history.Op {
	from, to, _ := strings.Cut(interval, ",")
	s := history.Scan{From: from, To: to}
	for item := range strings.SplitSeq(items, ",") {
		if key, value, ok := strings.Cut(item, ":"); ok {
			s.Items = append(s.Items, history.Item{Key: key, Value: value})
		}
	}
	return history.ScanOf(s)
}

// judge checks a history that is well formed.
func judge(t testing.TB, h []history.Transaction, o history.Options) *history.Report {
	t.Helper()
	r, err := history.Check(h, o)
	require.NoError(t, err)
	return r
}

func names(r *history.Report) []history.Name {
	var all []history.Name
	for _, a := range r.Anomalies {
		all = append(all, a.Name)
	}
	return all
}
