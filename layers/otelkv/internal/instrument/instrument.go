// Package instrument names what is measured: for package otelkv, which measures it, and for the
// dashboard, which shows it.
package instrument

import "strings"

// Kind is what an instrument is.
type Kind uint8

// The kinds.
const (
	Counter Kind = iota
	Histogram
	Gauge
)

// Instrument is one metric.
type Instrument struct {
	Name, Unit, Description string
	Kind                    Kind
	// Attributes are the keys that its points have, beside System and Namespace.
	Attributes []string
}

// The attributes. Those that begin with db or error are of the semantic conventions.
const (
	System    = "db.system.name"
	Namespace = "db.namespace"
	Operation = "db.operation.name"
	ErrorType = "error.type"
	TxName    = "strictkv.tx.name"
	Outcome   = "strictkv.outcome"
	Protocol  = "strictkv.protocol"
	Cause     = "strictkv.cause"
	For       = "strictkv.wait.for"
	Object    = "strictkv.object.kind"
	Result    = "strictkv.result"
	Direction = "strictkv.io.direction"
	Task      = "strictkv.task"
)

// The instruments.
var (
	TxDuration = Instrument{"db.client.operation.duration", "s",
		"Duration of transactions, and of reads outside of them", Histogram,
		[]string{Operation, TxName, Outcome, ErrorType}}
	TxActive = Instrument{"strictkv.tx.active", "{transaction}",
		"Transactions under way", Gauge, nil}
	TxRuns = Instrument{"strictkv.tx.runs", "{run}",
		"Runs of the functions of transactions", Counter, nil}
	TxRounds = Instrument{"strictkv.tx.rounds", "{round}",
		"Round trips that transactions have taken, one after another", Counter, nil}
	TxRequests = Instrument{"strictkv.tx.requests", "{request}",
		"Requests that were made for transactions, by their end", Counter, nil}
	TxGrouped = Instrument{"strictkv.tx.grouped", "{transaction}",
		"Transactions that have committed together with others of their handle", Counter, nil}
	TxAttempts = Instrument{"strictkv.tx.attempts", "{attempt}",
		"Attempts to commit", Counter, []string{Protocol, Outcome}}
	TxRetries = Instrument{"strictkv.tx.retries", "{retry}",
		"Runs of a function that were void", Counter, []string{Cause}}
	WaitDuration = Instrument{"strictkv.wait.duration", "s",
		"Duration of waiting for other transactions", Histogram, []string{For, Outcome}}
	RequestDuration = Instrument{"strictkv.request.duration", "s",
		"Duration of requests to the store", Histogram, []string{Operation, Object, Result}}
	RequestActive = Instrument{"strictkv.request.active", "{request}",
		"Requests under way", Gauge, nil}
	RequestIO = Instrument{"strictkv.request.io", "By",
		"Bytes of objects that were read and written", Counter, []string{Direction, Object}}
	RequestResent = Instrument{"strictkv.request.resent", "{request}",
		"Requests that were sent again after a passing failure", Counter, []string{Result}}
	WorkDuration = Instrument{"strictkv.work.duration", "s",
		"Duration of work beside transactions, such as sweeps and resolving", Histogram,
		[]string{Task, Outcome}}
	WorkObjects = Instrument{"strictkv.work.objects", "{object}",
		"Objects that work beside transactions has gone through", Counter, []string{Task}}
)

// All are all of them.
var All = []Instrument{
	TxDuration, TxActive, TxRuns, TxRounds, TxRequests, TxGrouped, TxAttempts, TxRetries,
	WaitDuration, RequestDuration, RequestActive, RequestIO, RequestResent, WorkDuration,
	WorkObjects,
}

// Buckets are the bounds of histograms of durations, in seconds: those that the semantic
// conventions advise, and as many more where stores are.
var Buckets = []float64{
	.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60,
}

// Prometheus is the name of the metric where a collector has made it one of Prometheus. Of a
// histogram, _bucket, _sum and _count follow.
func (i Instrument) Prometheus() string {
	name := Label(i.Name)
	switch i.Unit {
	case "s":
		name += "_seconds"
	case "By":
		name += "_bytes"
	}
	if i.Kind == Counter {
		name += "_total"
	}
	return name
}

// Label is the name of an attribute there.
func Label(attribute string) string { return strings.ReplaceAll(attribute, ".", "_") }
