package main

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/otelkv/internal/instrument"
)

// TestAlerts: what the runbook says to watch is there: metrics with their attributes, the values of
// those, and counters.
func TestAlerts(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operations.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "### Alerts worth having\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n#")
	quoted := regexp.MustCompile("`([^`]+)`")
	counter := regexp.MustCompile(`^[A-Z]\w+$`)
	rows := 0
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || strings.HasPrefix(line, "| watch") {
			continue
		}
		rows++
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			if counter.MatchString(m[1]) {
				_, there := reflect.TypeFor[strictkv.Stats]().FieldByName(m[1])
				assert.True(t, there, "Stats has no %s", m[1])
			} else if m[1] != "an object is damaged" {
				watched(t, m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(strings.Join(cells[1:], " "), -1) {
			if strings.HasPrefix(m[1], "strictkv.") {
				watched(t, m[1])
			}
		}
	}
	assert.Greater(t, rows, 10)
}

// watched looks for a metric, as in name{attribute=value}, or for an attribute, and its value.
func watched(t *testing.T, what string) {
	name, conditions, _ := strings.Cut(strings.TrimSuffix(what, "}"), "{")
	i := slices.IndexFunc(instrument.All, func(i instrument.Instrument) bool {
		return i.Name == name
	})
	attributes := []string{instrument.Namespace, instrument.System}
	if i >= 0 {
		attributes = append(attributes, instrument.All[i].Attributes...)
	} else {
		conditions = name
		for _, i := range instrument.All {
			attributes = append(attributes, i.Attributes...)
		}
	}
	if conditions == "" {
		return
	}
	for _, condition := range strings.Split(conditions, ",") {
		attribute, value, is := strings.Cut(condition, "=")
		assert.Contains(t, attributes, attribute, what)
		if is && attribute != instrument.ErrorType { // those are of package otelkv
			assert.Contains(t, words(attribute), value, what)
		}
	}
}

// words are the values that an attribute may have.
func words(attribute string) (all []string) {
	for i := range uint8(10) {
		for attr, list := range map[string][]fmt.Stringer{
			instrument.Outcome: {
				strictkv.TxOutcome(i), strictkv.AttemptOutcome(i), strictkv.WaitOutcome(i),
			},
			instrument.Protocol: {strictkv.Protocol(i)},
			instrument.Result:   {strictkv.RequestResult(i)},
			instrument.Task:     {strictkv.Task(i)},
		} {
			for _, word := range list {
				if attr == attribute {
					all = append(all, word.String())
				}
			}
		}
	}
	return append(all, "ok") // of work
}
