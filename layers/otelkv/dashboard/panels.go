package main

import (
	"fmt"
	"strings"

	"github.com/strictkv/strictkv/layers/otelkv/internal/instrument"
)

// row is a row of panels.
type row struct {
	title  string
	panels []panel
}

// panel is one chart: of each query a line for each value of the legend's labels.
type panel struct {
	title, about, unit string
	stacked            bool
	queries            []query
}

type query struct{ expr, legend string }

// selector selects what the variables of the dashboard are set to.
var selector = fmt.Sprintf(`%s=~"$database"`, instrument.Label(instrument.Namespace))

// metric is the name of a series, with what selects it. More are further conditions.
func metric(i instrument.Instrument, suffix string, more ...string) string {
	conditions := strings.Join(append([]string{selector}, more...), ",")
	return i.Prometheus() + suffix + "{" + conditions + "}"
}

// is is a condition.
func is(attribute, value string) string {
	return fmt.Sprintf(`%s="%s"`, instrument.Label(attribute), value)
}

// rate is the sum of what a counter grows by in a second, by attributes.
func rate(i instrument.Instrument, by ...string) query {
	suffix := ""
	if i.Kind == instrument.Histogram {
		suffix = "_count"
	}
	labels, legend := labelsOf(by)
	return query{
		fmt.Sprintf("sum%s(rate(%s[$__rate_interval]))", labels, metric(i, suffix)), legend,
	}
}

// quantile is that of a histogram, by attributes.
func quantile(q float64, i instrument.Instrument, by ...string) query {
	labels, legend := labelsOf(append([]string{"le"}, by...))
	return query{
		fmt.Sprintf("histogram_quantile(%v, sum%s(rate(%s[$__rate_interval])))",
			q, labels, metric(i, "_bucket")),
		strings.TrimSpace(fmt.Sprintf("p%v %s", 100*q, legend)),
	}
}

// now is the sum of a gauge.
func now(i instrument.Instrument, legend string) query {
	return query{fmt.Sprintf("sum(%s)", metric(i, "")), legend}
}

// per is how much of a counter there is for each of another.
func per(what, of instrument.Instrument, legend string) query {
	return query{fmt.Sprintf("%s / %s", rate(what).expr, rate(of).expr), legend}
}

// labelsOf are the labels of attributes to sum by, and a legend of them.
func labelsOf(attributes []string) (by, legend string) {
	if len(attributes) == 0 {
		return "", ""
	}
	labels, shown := make([]string, len(attributes)), []string{}
	for i, a := range attributes {
		labels[i] = instrument.Label(a)
		if a != "le" {
			shown = append(shown, "{{"+labels[i]+"}}")
		}
	}
	return " by (" + strings.Join(labels, ", ") + ") ", strings.Join(shown, " ")
}

// rows are the dashboard.
func rows() []row {
	tx, request := instrument.TxDuration, instrument.RequestDuration
	inDoubt := query{fmt.Sprintf("sum(increase(%s[$__rate_interval]))",
		metric(tx, "_count", is(instrument.Outcome, "in_doubt"))), "in doubt"}
	failed := instrument.Label(instrument.ErrorType)
	errors := query{fmt.Sprintf("sum by (%s) (rate(%s[$__rate_interval]))",
		failed, metric(tx, "_count", failed+`!=""`)), "{{" + failed + "}}"}
	return []row{
		{"Transactions", []panel{
			{"Transactions", "By how they ended.", "ops", true,
				[]query{rate(tx, instrument.Outcome)}},
			{"Duration", "Of all transactions and single reads.", "s", false,
				[]query{quantile(.5, tx), quantile(.95, tx), quantile(.99, tx)}},
			{"Duration by name", "Names are given by strictkv.Named.", "s", false,
				[]query{quantile(.99, tx, instrument.Operation, instrument.TxName)}},
			{"Errors", "By type. Errors of the program's own functions are _OTHER.", "ops", true,
				[]query{errors}},
			{"Round trips", "Of a transaction, on average; and requests.", "none", false,
				[]query{per(instrument.TxRounds, tx, "round trips"),
					per(instrument.TxRequests, tx, "requests")}},
			{"Under way", "", "none", false, []query{
				now(instrument.TxActive, "transactions"), now(instrument.RequestActive, "requests"),
			}},
		}},
		{"Conflicts", []panel{
			{"Retries", "Runs of functions that were void, by cause.", "ops", true,
				[]query{rate(instrument.TxRetries, instrument.Cause)}},
			{"Attempts to commit", "By protocol and how they ended.", "ops", true,
				[]query{rate(instrument.TxAttempts, instrument.Protocol, instrument.Outcome)}},
			{"Runs of a function", "For each transaction, on average.", "none", false,
				[]query{per(instrument.TxRuns, tx, "runs")}},
			{"Waiting for others", "", "s", false,
				[]query{quantile(.95, instrument.WaitDuration, instrument.For)}},
			{"How waiting ended", "", "ops", true,
				[]query{rate(instrument.WaitDuration, instrument.For, instrument.Outcome)}},
			{"Committed together, in doubt", "", "ops", false,
				[]query{{rate(instrument.TxGrouped).expr, "committed together"}, inDoubt}},
		}},
		{"Store", []panel{
			{"Requests", "What a store bills.", "reqps", true,
				[]query{rate(request, instrument.Operation, instrument.Object)}},
			{"Duration of requests", "", "s", false,
				[]query{quantile(.5, request, instrument.Operation),
					quantile(.99, request, instrument.Operation)}},
			{"Results", "Refused is a lost race, not a failure.", "reqps", true,
				[]query{rate(request, instrument.Result)}},
			{"Sent again", "After a passing failure: throttled stands for too many requests.",
				"reqps", true, []query{rate(instrument.RequestResent, instrument.Result)}},
			{"Bytes", "", "Bps", true,
				[]query{rate(instrument.RequestIO, instrument.Direction, instrument.Object)}},
		}},
		{"Beside transactions", []panel{
			{"Work", "Sweeps, loads, resolving in the background.", "ops", true,
				[]query{rate(instrument.WorkDuration, instrument.Task, instrument.Outcome)}},
			{"Duration of work", "", "s", false,
				[]query{quantile(.95, instrument.WorkDuration, instrument.Task)}},
			{"Objects", "Gone through.", "ops", true,
				[]query{rate(instrument.WorkObjects, instrument.Task)}},
		}},
	}
}
