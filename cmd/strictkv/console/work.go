package console

import (
	"fmt"
	"net/http"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/keytext"
)

const problemsMax = 1000 // problems that are shown

// run carries out a check, or a sweep that changes nothing. It answers with lines of JSON: how
// many objects it has gone through, now and then, and its report.
func (c *console) run(w http.ResponseWriter, r *http.Request) {
	q, err := read(r)
	var in *strictkv.Collection
	if err == nil {
		in, _, err = c.place(q.Collection)
	}
	if err == nil && q.Task != "check" && q.Task != "sweep" {
		err = fmt.Errorf("%w: task %q", errRequest, q.Task)
	}
	if err == nil && !c.work.TryLock() {
		err = errBusy
	}
	if err != nil {
		fail(w, err)
		return
	}
	defer c.work.Unlock()
	stream := http.NewResponseController(w)
	_ = stream.SetWriteDeadline(time.Time{}) // it takes as long as it takes; who leaves ends it
	w.Header().Set("Content-Type", "application/x-ndjson")
	tell := func(line map[string]any) {
		text, _ := keytext.JSON(line)
		_, _ = w.Write(append(text, '\n'))
		_ = stream.Flush()
	}
	last := map[string]any{}
	if q.Task == "check" {
		report, failed := c.db.Check(r.Context(), strictkv.CheckOptions{
			Collection: in,
			Progress:   func(r strictkv.CheckReport) { tell(map[string]any{"objects": r.Objects}) },
		})
		err, last["problems"] = failed, len(report.Problems)
		report.Problems = report.Problems[:min(len(report.Problems), problemsMax)]
		last["report"] = keytext.Fields(report)
	} else {
		report, failed := c.db.Sweep(r.Context(), strictkv.SweepOptions{
			Collection: in, DryRun: true,
			Progress: func(r strictkv.SweepReport) { tell(map[string]any{"objects": r.Objects}) },
		})
		err, last["report"] = failed, keytext.Fields(report)
	}
	if err != nil {
		last["error"] = err.Error()
	}
	tell(last)
}
