package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// List prices of Cloud Storage (Standard, one region), in dollars for a request.
const (
	writePrice = 0.005 / 1000  // class A
	readPrice  = 0.0004 / 1000 // class B
)

const daysPerMonth = 30

// month is what the bill is for: operations per day.
type month struct {
	starts, updates, reads int
}

// bill prints what operations have cost, and what a month of them would.
func bill(out io.Writer, use usage, m month) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tcount\treads\twrites\t$ each\tper day\t$ per month\t")
	total := 0.0
	for _, row := range []struct {
		name   string
		work   work
		perDay int
	}{
		{"start", use.starts, m.starts},
		{"update", use.updates, m.updates},
		{"read", use.reads, m.reads},
	} {
		each := row.work.price() / float64(row.work.count)
		month := each * float64(row.perDay*daysPerMonth)
		total += month
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.8f\t%d\t%.2f\t\n", row.name, row.work.count,
			row.work.stats.Gets, row.work.stats.Puts, each, row.perDay, month)
	}
	fmt.Fprintf(w, "all\t\t\t\t\t\t%.2f\t\n", total)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "\nStorage and traffic come on top. Idle instances send nothing.")
	return err
}

// price is what the requests cost, in dollars. Each is counted, refused ones too.
func (w work) price() float64 {
	return float64(w.stats.Gets)*readPrice + float64(w.stats.Puts)*writePrice
}
