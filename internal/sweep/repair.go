package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of a repair.
const (
	// copyMax is the size in bytes of the largest object that is copied.
	copyMax = 64 << 20
	// restMin is the age from which on a damaged object is replaced: attempts that had an
	// intent in it are over, and who knows what became of them has finished them.
	restMin = time.Hour
	// idBytes is how much of the digest of a copy is in its name.
	idBytes = 16
)

// errLeft: an object can't be moved; the rest of the text says why.
var errLeft = errors.New("left")

// repair moves aside what the examination has found.
//
// A foreign object is copied, and removed at the version that was copied. An object in the
// place of a cell is copied, too, and replaced by a tombstone: to everybody else it is a cell
// that has been written since. What does that mean for an attempt whose intent stands in
// another cell, with the damaged one among its members? That is off now: who asks takes the
// attempt for dead. It would be half a transaction if somebody folded another of its intents
// as committed. So first all such intents are settled, by the marks in other cells if there
// are any; one that only the damaged object could settle keeps it where it is.
func (c *Checker) repair(ctx context.Context, total *CheckReport) error {
	var cells []*Problem
	for i := range total.Problems {
		p := &total.Problems[i]
		switch p.remedy {
		case takeAway:
			if err := c.remedy(ctx, p, total); err != nil {
				return err
			}
		case replace:
			cells = append(cells, p)
		}
	}
	if len(cells) > 0 {
		if err := c.replaceAll(ctx, cells, total); err != nil {
			return err
		}
	}
	if c.o.Progress != nil {
		c.o.Progress(*total)
	}
	return nil
}

// replaceAll replaces those of the cells that nothing holds.
func (c *Checker) replaceAll(ctx context.Context, cells []*Problem, total *CheckReport) error {
	now := c.rt.Now()
	if !c.o.DryRun && !c.o.Alone {
		var err error
		if now, err = c.st.StoreTime(ctx); err != nil {
			return err
		}
	}
	h := holders{Checker: c, damaged: map[string]bool{}, held: map[string]string{}}
	for _, p := range cells {
		h.damaged[p.info.Name] = true
	}
	if err := h.settle(ctx); err != nil {
		return err
	}
	for _, p := range cells {
		switch why := h.held[p.info.Name]; {
		case !c.o.Alone && why != "":
			p.Left = why
		case !c.o.Alone && now.Sub(p.info.Modified) < restMin:
			p.Left = fmt.Sprintf("it was written less than %v ago", restMin)
		default:
			if err := c.remedy(ctx, p, total); err != nil {
				return err
			}
		}
	}
	return nil
}

// remedy moves one object. What keeps it from doing so goes into the problem; the error ends
// the repair.
func (c *Checker) remedy(ctx context.Context, p *Problem, total *CheckReport) error {
	to, err := c.move(ctx, p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		p.Left = err.Error()
	default:
		p.MovedTo = c.st.FullName(to)
		total.Moved++
	}
	return nil
}

// move copies an object, and takes it away.
func (c *Checker) move(ctx context.Context, p *Problem) (to string, err error) {
	away := p.remedy == takeAway || p.info.Damaged // the store can't replace what is damaged
	if away && !c.st.ConditionalDelete() {
		return "", fmt.Errorf("%w: the store does not honour the condition of a DELETE: copy it, "+
			"and remove it by hand", errLeft)
	}
	if p.remedy == replace {
		if err := c.keepValues(ctx, p.info.Name); err != nil {
			return "", err
		}
	}
	to, at, err := c.keep(ctx, p.info)
	if err != nil || c.o.DryRun {
		return to, err
	}
	var res store.Result
	if away {
		res, err = c.st.Remove(ctx, p.info.Name, at)
	} else {
		res, err = c.st.Bury(ctx, p.info.Name, at)
	}
	switch res {
	case store.Applied:
		if away && p.remedy == replace {
			_, _ = c.st.Bury(ctx, p.info.Name, "") // unless somebody writes the key just now
		}
		return to, nil
	case store.Refused:
		return "", fmt.Errorf("%w: it has changed meanwhile", errLeft)
	}
	return "", err
}

// keep copies an object, and returns the name of the copy, and the version that was copied.
func (c *Checker) keep(
	ctx context.Context, info backend.Info,
) (to string, at backend.Version, err error) {
	switch {
	case info.Version == "":
		return "", "", fmt.Errorf("%w: the store can't tell its state, or a newer program has "+
			"written it: only a person may remove it", errLeft)
	case info.Size > copyMax:
		return "", "", fmt.Errorf("%w: it has %d bytes; at most %d are copied",
			errLeft, info.Size, copyMax)
	}
	o, err := c.st.Raw(ctx, info.Name)
	if err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(append([]byte(info.Name+"\x00"), o.Data...))
	to = keyspace.Lost(c.o.Database, info.Name, hex.EncodeToString(sum[:idBytes]))
	if !c.o.DryRun {
		err = c.st.Keep(ctx, to, o.Data)
	}
	return to, o.Version, err
}

// keepValues copies the external values of a key whose cell is to be replaced: a sweep will
// take them for garbage.
func (c *Checker) keepValues(ctx context.Context, cellName string) error {
	for info, err := range c.st.List(ctx, keyspace.Values(cellName)) {
		if err != nil {
			return err
		}
		if of, _, err := keyspace.ParseValue(info.Name); err != nil || of != cellName {
			continue
		}
		if _, _, err := c.keep(ctx, info); err != nil && !errors.Is(err, store.ErrMissing) {
			return fmt.Errorf("external value: %w", err)
		}
	}
	return nil
}
