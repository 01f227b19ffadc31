package pebble

import (
	"context"
	"fmt"
	"slices"

	"github.com/strictkv/strictkv/backend"
)

// batchMax is how many bytes of data are written at once: so many are in memory twice meanwhile.
const batchMax = 16 << 20

var _ backend.Batcher = (*Backend)(nil)

// BatchMax implements backend.Batcher: 16 MiB.
func (*Backend) BatchMax() int { return batchMax }

// PutAll implements backend.Batcher. It keeps no data. What it writes is a part of the log or of
// tables, whatever its size.
func (b *Backend) PutAll(
	ctx context.Context, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	name := ""
	if len(writes) > 0 {
		name = writes[0].Name
	}
	at, refused, err = b.putAll(ctx, writes)
	return at, refused, failure("put all", name, err)
}

func (b *Backend) putAll(
	ctx context.Context, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	size, valid := 0, len(writes) > 0
	for i := range writes {
		size += len(writes[i].Data)
		valid = valid && validName(writes[i].Name) && writes[i].If.Valid()
	}
	if err := b.begin(ctx, valid); err != nil {
		return nil, 0, err
	}
	defer b.end()
	if size > batchMax {
		return nil, 0, fmt.Errorf("%w: %d bytes at once, at most %d",
			backend.ErrInvalid, size, batchMax)
	}
	if err := b.ballast.room(); err != nil {
		return nil, 0, err
	}
	all := make([]change, len(writes))
	records := make([]record, len(writes))
	for i, w := range writes {
		records[i] = record{kind: kindInline, data: w.Data}
		all[i] = change{name: w.Name, hash: b.hash(w.Name), record: &records[i]}
	}
	return b.replaceAll(ctx, all, writes)
}

// replaceAll is replace of several objects at one instant.
func (b *Backend) replaceAll(
	ctx context.Context, all []change, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	held := b.lockAll(all)
	for i := range all {
		all[i].old, err = b.holds(all[i].hash, all[i].name, writes[i].If)
		if err != nil {
			b.unlock(held)
			return nil, i, b.answered(ctx, all[i].name, err)
		}
	}
	for i := range all {
		b.recent.forget(all[i].hash, all[i].name)
	}
	w, ended, err := b.effect(all)
	at = make([]backend.Stamp, len(all))
	for i := range all {
		if err == nil {
			b.recent.keep(all[i].hash, all[i].name, all[i].record.state())
		}
		at[i] = backend.Stamp{Version: all[i].record.version.text(), Time: ended}
	}
	b.unlock(held)
	if err == nil {
		err = w.wait()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
	}
	for i := range all {
		if old := all[i].old; old != nil {
			b.discard(old.id)
		}
	}
	return at, 0, nil
}

// lockAll locks the names of objects, in one order for all, and returns the locks.
func (b *Backend) lockAll(all []change) []int {
	held := make([]int, len(all))
	for i := range all {
		held[i] = int(all[i].hash % locks)
	}
	slices.Sort(held)
	held = slices.Compact(held)
	for _, n := range held {
		b.locks[n].Lock()
	}
	return held
}

func (b *Backend) unlock(held []int) {
	for _, n := range held {
		b.locks[n].Unlock()
	}
}
