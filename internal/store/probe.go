package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/txid"
)

// ErrUnsupported: the store does not do what it is asked to, so that it would lose updates.
var ErrUnsupported = errors.New("store is not supported")

// Probe says when Open probes the store: by some requests it finds out whether the store
// does what a database can't do without, and keeps the result in the object meta.
type Probe uint8

// When the store is probed.
const (
	// ProbeNever takes the store's fitness for granted.
	ProbeNever Probe = iota
	// ProbeOnce probes when the database is created, or was not probed before.
	ProbeOnce
	// ProbeAgain probes in any case.
	ProbeAgain
)

// ConditionalDelete reports whether the store is known to delete an object only if it is at
// the version given. If it is not, tombstones must stay: a delete that was meant for one
// could remove a value.
func (s *Store) ConditionalDelete() bool { return s.deletes }

// What the objects of a trial hold. Equal bytes may have equal versions.
const (
	firstData     = "first"
	secondData    = "second"
	forbiddenData = "forbidden"
)

// trial is one probe of the store: it sends requests that must succeed, and others that
// must be refused, each to an object of its own, and then looks at the objects. It judges
// by what it finds there, since a request may arrive twice and its answers may be lost. A
// store that is not caught at a wrong write is not accused of any: what does not fit
// together ends in backend.ErrUnavailable.
type trial struct {
	*Store
	// created and replaced are written to by a Put that must be refused, and kept
	// deleted by such a Delete; nothing is to become of absent. These are their names'
	// order.
	created, replaced, kept, absent subject
	prefix                          string // of all these names

	mu        seam.Mutex // guards all below
	unordered bool
}

// subject is an object of a trial.
type subject struct {
	name    string
	version backend.Version // empty: no object
	// want is what it must hold, and found what it does; empty: no object.
	want, found string
	// succeeded: so the store has answered a Put that it must refuse.
	succeeded bool
}

func newTrial(s *Store) *trial {
	id := txid.New(s.rt.Entropy).String()
	t, names := &trial{Store: s, prefix: keyspace.Clock(id)}, keyspace.Probes(id)
	for i, x := range t.subjects() {
		x.name = names[i]
	}
	return t
}

func (t *trial) subjects() []*subject {
	return []*subject{&t.created, &t.replaced, &t.kept, &t.absent}
}

// run makes the trial. It tells whether the store honours the condition of a Delete. An
// error matches ErrUnsupported if the store would lose updates.
func (t *trial) run(ctx context.Context) (deletes bool, err error) {
	err = t.atOnce(
		func() error { return t.write(ctx, &t.created, firstData) },
		func() error { return t.write(ctx, &t.replaced, firstData) },
		func() error { return t.write(ctx, &t.kept, firstData) },
	)
	if err != nil {
		return false, fmt.Errorf("probe: %w", err)
	}
	replaced, kept := t.replaced.version, t.kept.version
	err = t.atOnce(
		func() error { return t.write(ctx, &t.replaced, secondData) },
		func() error { return t.write(ctx, &t.kept, secondData) },
		func() error { return t.forbidden(ctx, &t.created, backend.IfAbsent()) },
		func() error { return t.forbidden(ctx, &t.absent, backend.IfVersion(kept)) },
		func() error { return t.list(ctx, "", &t.created, &t.replaced, &t.kept) },
		func() error { return t.list(ctx, t.created.name, &t.replaced, &t.kept) },
	)
	if err != nil {
		return false, fmt.Errorf("probe: %w", err)
	}
	err = t.atOnce(
		func() error { return t.forbidden(ctx, &t.replaced, backend.IfVersion(replaced)) },
		func() (err error) { deletes, err = t.refusesDelete(ctx, kept); return err },
	)
	if err == nil {
		err = t.look(ctx)
	}
	if err == nil {
		err = t.judge()
	}
	if err != nil {
		return false, fmt.Errorf("probe: %w", err)
	}
	return deletes && t.kept.version != "", nil
}

func (t *trial) atOnce(requests ...func() error) error {
	return seam.Each(t.rt, len(requests), func(i int) error { return requests[i]() })
}

// write writes the object if it is as it was, which it is.
func (t *trial) write(ctx context.Context, x *subject, data string) error {
	return t.retry(ctx, func(ctx context.Context) error {
		at, err := t.put(ctx, x.name, []byte(data), expect(x.version))
		v := at.Version
		if classify(err) == Refused { // an earlier copy has landed
			var o backend.Object
			if o, err = t.get(ctx, x.name, ""); err == nil && string(o.Data) != data {
				err = odd("refused to write %q although nobody else has", x.name)
			}
			v = o.Version
		}
		if err == nil {
			x.version, x.want = v, data
		}
		return err
	})
}

// odd is for what no store should do, but which proves no lost update.
func odd(format string, args ...any) error {
	return fmt.Errorf("%w: the store "+format, append([]any{backend.ErrUnavailable}, args...)...)
}

// forbidden sends a write whose condition does not hold.
func (t *trial) forbidden(ctx context.Context, x *subject, c backend.Condition) error {
	return t.retry(ctx, func(ctx context.Context) error {
		_, err := t.put(ctx, x.name, []byte(forbiddenData), c)
		switch classify(err) {
		case Applied:
			x.succeeded = true
		case Refused:
			return nil
		}
		return err
	})
}

// askLongName asks for the cell of a longest key. A store that keeps objects as files of their
// names refuses that; shorter keys fit, so the logger is warned, and nothing else happens.
func (t *trial) askLongName(ctx context.Context) {
	_, err := t.get(ctx, "="+strings.Repeat("x", keyspace.KeyMax), "")
	if errors.Is(err, backend.ErrInvalid) {
		t.log.Warn("the store refuses long names: keys of more than 123 bytes may not fit",
			"err", err)
	}
}

// refusesDelete sends a Delete whose condition does not hold, unless the backend says that
// it makes no difference. Only a refusal counts; who may not delete at all learns nothing.
func (t *trial) refusesDelete(ctx context.Context, old backend.Version) (bool, error) {
	if !t.backend.Capabilities().ConditionalDelete {
		return false, nil
	}
	res, err := t.Remove(ctx, t.kept.name, old)
	if res == Refused || res == Applied || final(err) {
		err = nil
	}
	return res == Refused, err
}

// list looks whether a listing shows the objects behind a name, in byte order.
func (t *trial) list(ctx context.Context, after string, want ...*subject) error {
	o := backend.ListOptions{Prefix: t.FullName(t.prefix)}
	if after != "" {
		o.After = t.FullName(after)
	}
	shown := map[string]bool{}
	for more := true; more; {
		page, err := t.page(ctx, o)
		if err != nil {
			return err
		}
		for _, info := range page.Objects {
			if info.Name <= o.After || !strings.HasPrefix(info.Name, o.Prefix) {
				t.disorder()
				return nil
			}
			o.After, shown[info.Name] = info.Name, true
		}
		if more = page.More; more && len(page.Objects) == 0 {
			return odd("lists an empty page before the last")
		}
	}
	for _, x := range want {
		if !shown[t.FullName(x.name)] {
			t.disorder()
		}
	}
	return nil
}

func (t *trial) disorder() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unordered = true
}

// look reads what has become of the objects.
func (t *trial) look(ctx context.Context) error {
	all := t.subjects()
	return seam.Each(t.rt, len(all), func(i int) error {
		return t.retry(ctx, func(ctx context.Context) error {
			o, err := t.get(ctx, all[i].name, "")
			if err == nil || errors.Is(err, backend.ErrNotFound) {
				all[i].version, all[i].found = o.Version, string(o.Data)
				return nil
			}
			return err
		})
	})
}

// judge compares what has become of the objects with what should have.
func (t *trial) judge() error {
	var lacks []string
	var strange error
	for _, x := range []struct {
		*subject
		lack string
	}{
		{&t.created, "If-None-Match of a PUT"},
		{&t.replaced, "If-Match of a PUT"},
		{&t.absent, "If-Match of a PUT where there is no object"},
	} {
		switch {
		case x.found == forbiddenData:
			lacks = append(lacks, x.lack)
		case x.found != x.want || x.succeeded:
			strange = odd("answered otherwise than it did to %q", x.name)
		}
	}
	if t.kept.version != "" && t.kept.found != t.kept.want {
		strange = odd("changed %q unasked", t.kept.name)
	}
	if lacks == nil && strange != nil {
		return strange
	}
	if t.unordered {
		lacks = append(lacks, "listing all names in byte order")
	}
	if lacks != nil {
		return fmt.Errorf("%w: it lacks %s", ErrUnsupported, strings.Join(lacks, ", "))
	}
	return nil
}

// clean removes the objects. What can't be removed is left to a sweep.
func (t *trial) clean(ctx context.Context) {
	all := t.subjects()
	_ = seam.Each(t.rt, len(all), func(i int) error {
		if all[i].version != "" {
			_, _ = t.Remove(ctx, all[i].name, all[i].version)
		}
		return nil
	})
}
