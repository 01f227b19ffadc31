package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/cmd/strictkv/bench"
	"github.com/strictkv/strictkv/internal/keytext"
	"github.com/strictkv/strictkv/internal/probe"
)

// List prices for a request, in dollars: of the standard classes in large regions of the United
// States, of all three clouds, in November 2026.
const (
	writePrice = 0.005 / 1000
	readPrice  = 0.0004 / 1000
)

// cost says what so many writes and as many reads cost.
func (a *app) cost(requests int) string {
	text := fmt.Sprintf("at most %d writes and as many reads", requests)
	for _, cloud := range []string{"gs://", "s3://", "azblob://"} {
		if strings.HasPrefix(a.bucket, cloud) {
			dollars := float64(requests) * (writePrice + readPrice)
			return fmt.Sprintf("%s: %.2f dollars at list prices", text, dollars)
		}
	}
	return text
}

// announce says what a trial is about to do, and asks whether it may.
func (a *app) announce(what string, requests int, lasting time.Duration) error {
	if lasting <= 0 {
		return fmt.Errorf("%w: --time %v: want more than 0s", errUsage, lasting)
	}
	text := fmt.Sprintf("%s takes %v and some more, and sends %s.", what, lasting, a.cost(requests))
	if a.json {
		notice, err := keytext.JSON(map[string]string{"notice": text})
		if err != nil {
			return err
		}
		text = string(notice)
	}
	fmt.Fprintln(a.err, text)
	return a.confirm("Go on?")
}

func (a *app) probe() *cobra.Command {
	var full bool
	var lasting time.Duration
	c := a.command(cobra.Command{
		Use: "probe", Short: "Find out whether a store does what a database needs",
		Args: cobra.NoArgs,
		Long: `Probe asks of the store what opening a database asks, by less than thirty
requests. With --full it also runs the conformance suite of the adapters, 16
writers who race for one key, and transfers between accounts by 16 writers for
a minute, of which a checker judges whether they were strictly serializable.
Its objects are in a part of the bucket of its own, and removed in the end. The
report is worth attaching to an issue. Before a full one it says what it costs,
and asks. It exits with 4 if the store fails.`,
		Example: `  strictkv probe
  strictkv probe --full --yes --json >report.jsonl`,
	}, func(ctx context.Context, _ []string) error {
		if full {
			err := a.announce("A full probe", probe.RequestsMax, lasting)
			if err != nil {
				return err
			}
		}
		return a.inBucket(ctx, func(b *bucketurl.Bucket) error {
			return a.inBucket(ctx, func(second *bucketurl.Bucket) error {
				failed := 0
				p := probe.Probe{
					Bucket: b, Second: second, Lasting: lasting, Prefix: prefixOf(a.bucket),
					Told: func(f probe.Finding) {
						if !f.Passed {
							failed++
						}
						a.found(f)
					},
				}
				err := p.Run(ctx, full)
				if err == nil && failed > 0 {
					err = fmt.Errorf("%d %w", failed, errProblems)
				}
				return err
			})
		})
	})
	c.Flags().BoolVar(&full, "full", false, "also the suite, races, and judged transactions")
	c.Flags().DurationVar(&lasting, "time", time.Minute, "how `long` transfers go on")
	c.Flags().BoolVarP(&a.yes, "yes", "y", false, "don't ask")
	return c
}

// prefixOf is the prefix in a URL of a bucket, which names of objects begin with.
func prefixOf(bucket string) string {
	u, err := url.Parse(bucket)
	if err != nil || u.Host == "" {
		return ""
	}
	return strings.Trim(u.Path, "/")
}

// found prints a finding as soon as there is one: a full probe takes minutes.
func (a *app) found(f probe.Finding) {
	verdict := map[bool]string{true: "pass", false: "FAIL"}[f.Passed]
	if f.Skipped {
		verdict = "none"
	}
	line := verdict + "  " + f.Question
	if f.Detail != "" {
		line += ": " + keytext.Safe(f.Detail)
	}
	if err := a.print(keytext.Fields(f), "%s\n", line); err == nil {
		_ = a.out.Flush() // whoever has left is noticed in the end
	}
}

func (a *app) bench() *cobra.Command {
	b := bench.Bench{}
	c := a.command(cobra.Command{
		Use: "bench", Short: "Measure this bucket's round trips, and a mixed load",
		Args: cobra.NoArgs,
		Long: `Bench measures single operations, one after another, and then a load of reads
and transactions by several clients at once, in a database of its own that it
removes. It says what it costs, and asks.`,
		Example: "  strictkv bench --clients 50 --time 30s --yes",
	}, func(ctx context.Context, _ []string) error {
		if b.Clients < 1 {
			return fmt.Errorf("%w: --clients %d: want 1 at least", errUsage, b.Clients)
		}
		if err := a.announce("The benchmark", bench.RequestsMax, b.Lasting); err != nil {
			return err
		}
		lines := [][]string{{"operation", "n", "p50", "p95", "p99", "per s", "get", "put", "list"}}
		b.Name = probe.Name("bench")
		b.Told = func(r bench.Result) {
			line := []string{r.Operation, fmt.Sprint(r.Count)}
			for _, d := range []time.Duration{r.P50, r.P95, r.P99} {
				line = append(line, d.Round(10*time.Microsecond).String())
			}
			for _, n := range []float64{r.PerSecond, r.Gets, r.Puts, r.Lists} {
				line = append(line, fmt.Sprintf("%.1f", n))
			}
			lines = append(lines, line)
			if a.json {
				_ = a.print(keytext.Fields(r), "")
			}
		}
		err := a.inBucket(ctx, func(bucket *bucketurl.Bucket) error {
			b.Backend = bucket
			return b.Run(ctx)
		})
		if a.json {
			return err
		}
		return errors.Join(err, a.table(lines))
	})
	c.Flags().IntVar(&b.Clients, "clients", 16, "`number` of clients at once")
	c.Flags().DurationVar(&b.Lasting, "time", 10*time.Second, "how `long` the mixed load goes on")
	c.Flags().BoolVarP(&a.yes, "yes", "y", false, "don't ask")
	return c
}
