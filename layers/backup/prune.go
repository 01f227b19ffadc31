package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/layers/snapshot"
)

// Rule says which backups are kept: the last one of each of so many days, weeks and months in which
// there is one, by UTC, weeks from Monday; and the last of all.
type Rule struct{ Daily, Weekly, Monthly int }

// DefaultRule keeps seven days, four weeks and twelve months.
func DefaultRule() Rule { return Rule{Daily: 7, Weekly: 4, Monthly: 12} }

// Kept are those of the backups that the rule keeps, the oldest first, which all must be as well.
func (r Rule) Kept(all []Info) (kept []Info) {
	if r.Daily < 0 || r.Weekly < 0 || r.Monthly < 0 {
		return all
	}
	periods := []struct {
		left int
		of   func(t time.Time) string
		last string
	}{
		{1, func(time.Time) string { return "all" }, ""},
		{r.Daily, func(t time.Time) string { return t.Format(time.DateOnly) }, ""},
		{r.Weekly, func(t time.Time) string {
			year, week := t.ISOWeek()
			return fmt.Sprint(year, " ", week)
		}, ""},
		{r.Monthly, func(t time.Time) string { return t.Format("2006-01") }, ""},
	}
	for _, info := range slices.Backward(all) {
		keep := false
		for i := range periods {
			p := &periods[i]
			if of := p.of(info.Instant.UTC()); p.left > 0 && of != p.last {
				p.left, p.last, keep = p.left-1, of, true
			}
		}
		if keep {
			kept = append(kept, info)
		}
	}
	slices.Reverse(kept)
	return kept
}

// PruneOptions configures a Prune.
type PruneOptions struct {
	Rule Rule
	// DryRun removes nothing, and tells what would be. GC says how long data are kept that no
	// backup has; its Keep and DryRun are the Prune's.
	DryRun bool
	GC     snapshot.GCOptions
}

// Prune removes the backups that a rule does not keep, and then the data that no backup needs, once
// they are a day old. It can be stopped at any time, and called again. It returns what was removed.
// While a backup is under way, data are left: snapshot.ErrBusy; so they are for a day after a
// process that made one has died. Other errors: ErrKey, and the store's.
func (r *Repository) Prune(ctx context.Context, o PruneOptions) (removed []Info, err error) {
	all, err := r.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("prune: %w", err)
	}
	kept := o.Rule.Kept(all)
	places, names := map[string][]string{"": nil, r.place: nil}, map[string]bool{}
	for _, info := range all {
		places[info.Data] = nil
	}
	for _, info := range kept {
		places[info.Data] = append(places[info.Data], info.Snapshot)
		names[info.Name] = true
	}
	for _, info := range all {
		if names[info.Name] {
			continue
		}
		if !o.DryRun {
			if err := r.remove(ctx, info.Name); err != nil {
				return removed, fmt.Errorf("prune: %w", err)
			}
		}
		removed = append(removed, info)
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		o.GC.Keep, o.GC.DryRun = places[place], o.DryRun
		if _, err := snapshot.GC(ctx, r.data(place), o.GC); err != nil {
			return removed, fmt.Errorf("prune: %w", err)
		}
	}
	return removed, nil
}

// remove removes a backup from the list.
func (r *Repository) remove(ctx context.Context, name string) error {
	object, err := r.store.Get(ctx, manifests+name, "")
	if err == nil {
		err = r.store.Delete(ctx, manifests+name, object.Version)
	}
	if errors.Is(err, backend.ErrNotFound) || errors.Is(err, backend.ErrPrecondition) {
		return nil // somebody was quicker
	}
	return err
}
