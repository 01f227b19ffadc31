// Dashboard writes the Grafana dashboard of package otelkv, made from the names of its metrics, to
// the file that it is given.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/strictkv/strictkv/layers/otelkv/internal/instrument"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboard FILE")
		os.Exit(2)
	}
	text, err := render()
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o644) //nolint:gosec // it is for everybody to read
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The grid of a dashboard has 24 columns.
const (
	columns     = 24
	panelWidth  = 8
	panelHeight = 8
)

type object = map[string]any

// render is the dashboard in Grafana's format.
func render() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(object{
		"title": "StrictKV", "uid": "strictkv", "tags": []string{"strictkv"},
		"schemaVersion": 39, "version": 1, "editable": true, "refresh": "30s",
		"time":     object{"from": "now-1h", "to": "now"},
		"timezone": "browser", "graphTooltip": 1,
		"annotations": object{"list": []any{}},
		"templating": object{"list": []any{
			object{"name": "datasource", "type": "datasource", "query": "prometheus",
				"label": "Data source"},
			object{"name": "database", "type": "query", "label": "Database",
				"datasource": source(), "includeAll": true, "multi": true,
				"refresh": 2, "sort": 1, "allValue": ".*",
				"query": fmt.Sprintf("label_values(%s, %s)", instrument.TxActive.Prometheus(),
					instrument.Label(instrument.Namespace))},
		}},
		"panels": panels(),
	})
	return b.Bytes(), err
}

func source() object { return object{"type": "prometheus", "uid": "${datasource}"} }

// panels lays the rows out.
func panels() (all []any) {
	id, y := 0, 0
	for _, r := range rows() {
		id++
		all = append(all, object{
			"id": id, "type": "row", "title": r.title, "collapsed": false, "panels": []any{},
			"gridPos": object{"x": 0, "y": y, "w": columns, "h": 1},
		})
		y++
		for i, p := range r.panels {
			id++
			x := i * panelWidth % columns
			if i > 0 && x == 0 {
				y += panelHeight
			}
			all = append(all, chart(p, id, x, y))
		}
		y += panelHeight
	}
	return all
}

func chart(p panel, id, x, y int) object {
	var targets []any
	for i, q := range p.queries {
		targets = append(targets, object{
			"refId": string(rune('A' + i)), "expr": q.expr, "legendFormat": q.legend,
			"datasource": source(),
		})
	}
	stacking, fill := "none", 0
	if p.stacked {
		stacking, fill = "normal", 30
	}
	return object{
		"id": id, "type": "timeseries", "title": p.title, "description": p.about,
		"datasource": source(), "targets": targets,
		"gridPos": object{"x": x, "y": y, "w": panelWidth, "h": panelHeight},
		"fieldConfig": object{"defaults": object{
			"unit": p.unit, "min": 0,
			"custom": object{"fillOpacity": fill, "stacking": object{"mode": stacking}},
		}, "overrides": []any{}},
		"options": object{"legend": object{"displayMode": "list", "placement": "bottom"},
			"tooltip": object{"mode": "multi"}},
	}
}
