package system_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

// small makes every value of more than 10 bytes an external one.
const small = 10

// large is a value that becomes external, different for each n.
func large(n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%03d-", n), 10) }

// hooked lets a test step in before a call to the store.
type hooked struct {
	backend.Backend
	mu     sync.Mutex
	before func(call, name string) // called once at most by each use
}

func (h *hooked) step(call, name string) {
	h.mu.Lock()
	f := h.before
	h.mu.Unlock()
	if f != nil {
		f(call, name)
	}
}

func (h *hooked) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	h.step("get", name)
	return h.Backend.Get(ctx, name, known)
}

func (h *hooked) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	h.step("put", name)
	return h.Backend.Put(ctx, name, data, c)
}

// vault is a bucket of external values in memory.
type vault struct {
	t    *testing.T
	ctx  context.Context
	mem  *memory.Backend
	hook *hooked
	db   *strictkv.DB
	coll *strictkv.Collection
}

func newVault(t *testing.T, opts ...strictkv.Option) *vault {
	t.Helper()
	v := &vault{t: t, ctx: context.Background(), mem: memory.New()}
	v.hook = &hooked{Backend: v.mem}
	v.open(v.hook, opts...)
	return v
}

// open makes another handle the one that is used.
func (v *vault) open(b backend.Backend, opts ...strictkv.Option) {
	v.t.Helper()
	db, err := strictkv.Open(v.ctx, "db", b,
		append([]strictkv.Option{strictkv.WithInlineMax(small)}, opts...)...)
	require.NoError(v.t, err)
	v.t.Cleanup(func() { require.NoError(v.t, db.Close(v.ctx)) })
	v.db, v.coll = db, db.Collection([]byte("c"))
}

func (v *vault) write(key string, value []byte) {
	v.t.Helper()
	require.NoError(v.t, v.coll.Write(v.ctx, []byte(key), value))
}

// objects are the names in the bucket, without the database's, by kind, once all
// background work is done.
func (v *vault) objects() (cells, values []string) {
	v.t.Helper()
	require.NoError(v.t, v.db.Close(v.ctx))
	page, err := v.mem.List(v.ctx, backend.ListOptions{})
	require.NoError(v.t, err)
	for _, info := range page.Objects {
		switch name := strings.TrimPrefix(info.Name, "db/+c/"); name[0] {
		case '=':
			cells = append(cells, name[1:])
		case '*':
			values = append(values, info.Name)
		default:
			require.Equal(v.t, "db/meta", name)
		}
	}
	return cells, values
}

// value is the name of the only external value.
func (v *vault) value() string {
	v.t.Helper()
	page, err := v.mem.List(v.ctx, backend.ListOptions{Prefix: "db/+c/*"})
	require.NoError(v.t, err)
	require.Len(v.t, page.Objects, 1)
	return page.Objects[0].Name
}

func TestValueSizes(t *testing.T) {
	for _, size := range []int{0, small, small + 1, 1 << 20, 5 << 20} {
		v := newVault(t)
		want := bytes.Repeat([]byte{7}, size)
		v.write("k", want)
		own, err := v.coll.Read(v.ctx, []byte("k"))
		require.NoError(t, err)
		v.open(v.mem)
		got, err := v.coll.Read(v.ctx, []byte("k"))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, own) && bytes.Equal(want, got), size)
		_, values := v.objects()
		assert.Equal(t, size > small, len(values) == 1, "size %d: %v", size, values)
	}
}

// leaving is what may leave values behind, when a and b have one each; values are how many
// there are afterwards.
type leaving struct {
	do     func(v *vault) error
	values int
}

var errBoom = errors.New("boom")

// The transactions that commit, and those that don't.
var (
	committing = map[string]leaving{
		"written once": {func(v *vault) error { return nil }, 2},
		"overwritten": {func(v *vault) error {
			return v.coll.Write(v.ctx, []byte("a"), large(3))
		}, 2},
		"overwritten by a small one": {func(v *vault) error {
			return v.coll.Write(v.ctx, []byte("a"), nil)
		}, 1},
		"deleted": {func(v *vault) error { return v.coll.Delete(v.ctx, []byte("a")) }, 1},
		"overwritten together": {func(v *vault) error {
			return v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				return errors.Join(tx.Write(v.coll, []byte("a"), large(4)),
					tx.Delete(v.coll, []byte("b")))
			})
		}, 1},
		"chained": {func(v *vault) error {
			for n := range 5 {
				if err := v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
					return errors.Join(tx.Write(v.coll, []byte("a"), large(n)),
						tx.Write(v.coll, []byte("b"), large(n)))
				}); err != nil {
					return err
				}
			}
			return nil
		}, 2},
		"validated": {func(v *vault) error {
			return v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				_, err := tx.Read(v.coll, []byte("b"))
				return errors.Join(err, tx.Write(v.coll, []byte("a"), large(5)))
			})
		}, 2},
		"locked": {func(v *vault) error {
			return v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				return errors.Join(tx.Lock(v.coll, []byte("b")),
					tx.Write(v.coll, []byte("a"), large(5)))
			})
		}, 2},
		"staged twice": {func(v *vault) error {
			return v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				return errors.Join(tx.Write(v.coll, []byte("c"), large(6)),
					tx.Write(v.coll, []byte("c"), large(7)))
			})
		}, 3},
		"staged, then deleted": {func(v *vault) error {
			return v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				return errors.Join(tx.Write(v.coll, []byte("a"), large(6)),
					tx.Delete(v.coll, []byte("a")))
			})
		}, 1},
	}
	failing = map[string]leaving{
		"failed": {func(v *vault) error {
			err := v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				return errors.Join(tx.Write(v.coll, []byte("a"), large(6)), errBoom)
			})
			require.ErrorIs(v.t, err, errBoom)
			return nil
		}, 2},
		"aborted": {func(v *vault) error {
			err := v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				return errors.Join(tx.Write(v.coll, []byte("a"), large(6)), tx.Abort())
			})
			require.ErrorIs(v.t, err, strictkv.ErrAborted)
			return nil
		}, 2},
		"panicked": {func(v *vault) error {
			require.Panics(v.t, func() {
				_ = v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
					_ = tx.Write(v.coll, []byte("a"), large(6))
					panic(errBoom)
				})
			})
			return nil
		}, 2},
		"left": {func(v *vault) error {
			ctx, cancel := context.WithCancel(v.ctx)
			err := v.db.Tx(ctx, func(tx *strictkv.Tx) error {
				err := tx.Write(v.coll, []byte("a"), large(6))
				cancel()
				return err
			})
			require.ErrorIs(v.t, err, context.Canceled)
			return nil
		}, 2},
	}
)

// What is not linked by a cell in the end is removed by who has written or unlinked it.
func TestNoValueIsLeft(t *testing.T) {
	cases := maps.Clone(committing)
	maps.Copy(cases, failing)
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			v := newVault(t)
			v.write("a", large(1))
			v.write("b", large(2))
			require.NoError(t, x.do(v))
			_, values := v.objects()
			assert.Len(t, values, x.values)
		})
	}
}

// The values of a run of the function that stages the same bytes again are taken over.
func TestUploadIsTakenOver(t *testing.T) {
	v := newVault(t)
	v.write("a", large(1))
	other, err := strictkv.Open(v.ctx, "db", v.mem)
	require.NoError(t, err)
	runs := 0
	before := v.db.Stats()
	require.NoError(t, v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
		runs++
		if _, err := tx.Read(v.coll, []byte("a")); err != nil {
			return err
		}
		if runs == 1 {
			require.NoError(t, other.Collection([]byte("c")).Write(v.ctx, []byte("a"), nil))
		}
		return tx.Write(v.coll, []byte("a"), large(2))
	}))
	assert.Equal(t, 2, runs)
	puts := v.db.Stats().Sub(before).Puts
	assert.EqualValues(t, 3, puts, "one upload, and the cell twice, once in vain")
	require.NoError(t, other.Close(v.ctx))
	_, values := v.objects()
	assert.Len(t, values, 1)
}

func TestDamagedValue(t *testing.T) {
	for name, damage := range map[string]func(data []byte) []byte{
		"flipped":   func(data []byte) []byte { return append([]byte{^data[0]}, data[1:]...) },
		"truncated": func(data []byte) []byte { return data[:len(data)-1] },
		"longer":    func(data []byte) []byte { return append(bytes.Clone(data), 0) },
		"missing":   func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			v := newVault(t)
			v.write("k", large(1))
			object := v.value()
			o, err := v.mem.Get(v.ctx, object, "")
			require.NoError(t, err)
			if data := damage(o.Data); data == nil {
				require.NoError(t, v.mem.Delete(v.ctx, object, o.Version))
			} else {
				_, err := v.mem.Put(v.ctx, object, data, backend.IfVersion(o.Version))
				require.NoError(t, err)
			}
			v.open(v.mem)
			for call, read := range map[string]func() error{
				"Read": func() error { _, err := v.coll.Read(v.ctx, []byte("k")); return err },
				"ReadWeak": func() error {
					_, err := v.coll.ReadWeak(v.ctx, []byte("k"), time.Hour)
					return err
				},
				"Tx": func() error {
					return v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
						_, err := tx.Read(v.coll, []byte("k"))
						return err
					})
				},
				"ignored": func() error {
					return v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
						_, _ = tx.Read(v.coll, []byte("k"))
						return tx.Write(v.coll, []byte("other"), nil)
					})
				},
				"View": func() error {
					return v.db.View(v.ctx, func(tx *strictkv.Tx) error {
						return tx.ReadMulti(v.coll.Key([]byte("k")))[0].Err
					}, strictkv.MaxStaleness(time.Hour))
				},
			} {
				err := read()
				require.ErrorIs(t, err, strictkv.ErrCorrupt, call)
				require.NotErrorIs(t, err, strictkv.ErrNotFound, call)
				var corrupt *strictkv.CorruptError
				require.ErrorAs(t, err, &corrupt)
				assert.Equal(t, object, corrupt.Object, call)
			}
			v.write("k", large(2)) // blind: it can be mended
			got, err := v.coll.Read(v.ctx, []byte("k"))
			require.NoError(t, err)
			assert.Equal(t, large(2), got)
		})
	}
}

// A reader that was about to fetch a value which has been unlinked reads the cell again.
func TestValueReplacedWhileItIsRead(t *testing.T) {
	for name, read := range map[string]func(v *vault) ([]byte, error){
		"Read": func(v *vault) ([]byte, error) { return v.coll.Read(v.ctx, []byte("k")) },
		"ReadWeak": func(v *vault) ([]byte, error) {
			return v.coll.ReadWeak(v.ctx, []byte("k"), 1)
		},
		"View": func(v *vault) ([]byte, error) {
			return strictkv.DoView(v.ctx, v.db, func(tx *strictkv.Tx) ([]byte, error) {
				return tx.Read(v.coll, []byte("k"))
			})
		},
		"Tx": func(v *vault) ([]byte, error) {
			return strictkv.Do(v.ctx, v.db, func(tx *strictkv.Tx) ([]byte, error) {
				b, err := tx.Read(v.coll, []byte("k"))
				return b, errors.Join(err, tx.Write(v.coll, []byte("copy"), b))
			})
		},
		"error ignored": func(v *vault) ([]byte, error) {
			return strictkv.Do(v.ctx, v.db, func(tx *strictkv.Tx) ([]byte, error) {
				b, _ := tx.Read(v.coll, []byte("k"))
				return b, nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVault(t)
			v.write("k", large(1))
			writer := v.coll
			v.open(v.hook)
			times := 0
			v.hook.before = func(call, name string) {
				if call == "get" && strings.Contains(name, "*k.") && times < 3 {
					times++
					v.hook.Backend = v.mem
					require.NoError(t, writer.Write(v.ctx, []byte("k"), large(1+times)))
					require.Eventually(t, func() bool {
						page, _ := v.mem.List(v.ctx, backend.ListOptions{Prefix: "db/+c/*k."})
						return len(page.Objects) == 1
					}, 5*time.Second, time.Millisecond)
				}
			}
			got, err := read(v)
			require.NoError(t, err)
			assert.Equal(t, large(4), got)
			assert.Equal(t, 3, times)
		})
	}
}

// What was read is validated, also if its value is gone when it is read again.
func TestValueReadAgain(t *testing.T) {
	v := newVault(t, strictkv.WithCacheSize(0))
	v.write("k", large(1))
	runs := 0
	require.NoError(t, v.db.View(v.ctx, func(tx *strictkv.Tx) error {
		runs++
		first, err := tx.Read(v.coll, []byte("k"))
		require.NoError(t, err)
		assert.Equal(t, large(runs), first)
		if runs == 1 {
			v.write("k", large(2))
			require.Eventually(t, func() bool {
				page, _ := v.mem.List(v.ctx, backend.ListOptions{Prefix: "db/+c/*k."})
				return len(page.Objects) == 1
			}, 5*time.Second, time.Millisecond)
		}
		again, err := tx.Read(v.coll, []byte("k"))
		if err == nil {
			assert.Equal(t, first, again)
		}
		return nil
	}))
	assert.Equal(t, 2, runs)
}

// An upload with lost answers is sent again under its name, and found by listing.
func TestUploadOfUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		for seed := range uint64(30) {
			v.open(faulty.New(v.mem, faulty.Options{
				Seed: seed, LoseAnswer: 0.2, LoseRequest: 0.1, FailBefore: 0.1,
			}))
			key := fmt.Appendf(nil, "key%d", seed)
			err := v.coll.Write(v.ctx, key, large(int(seed)))
			require.NoError(t, err, seed)
			got, err := v.coll.Read(v.ctx, key)
			require.NoError(t, err, seed)
			assert.Equal(t, large(int(seed)), got)
		}
	})
}

// The upload goes on beside the function, and is over before a cell is written.
func TestUploadBesideTheFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		v.write("k", large(1))
		v.open(simulated.New(v.mem, nil, simulated.Constant(latency)))
		_, err := v.coll.Read(v.ctx, []byte("k"))
		require.NoError(t, err)
		start := time.Now()
		require.NoError(t, v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
			err := tx.Write(v.coll, []byte("k"), large(2))
			time.Sleep(latency)
			return err
		}))
		assert.Equal(t, 2*latency, time.Since(start), "the function, and the cell's write")
	})
}

// An upload that has become too old for a sweep's horizon is written once more.
func TestOldUploadIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		var first string
		require.NoError(t, v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
			err := tx.Write(v.coll, []byte("k"), large(1))
			synctest.Wait()
			first = v.value()
			time.Sleep(10 * time.Minute)
			return err
		}))
		cells, values := v.objects()
		assert.Equal(t, []string{"k"}, cells)
		require.Len(t, values, 1)
		assert.NotEqual(t, first, values[0])
	})
}

// Concurrent reads of one cold key make one request.
func TestColdReadsShareARequest(t *testing.T) {
	const readers = 20
	for name, x := range map[string]struct {
		read func(v *vault) error
		gets int64
	}{
		"Tx": {func(v *vault) error {
			return v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				_, err := tx.Read(v.coll, []byte("k"))
				if err == nil {
					err = tx.Abort()
				}
				return err
			})
		}, 1 + readers}, // the validations are everybody's own
		"Read": {func(v *vault) error { _, err := v.coll.Read(v.ctx, []byte("k")); return err }, 2},
		"ReadWeak": {func(v *vault) error {
			_, err := v.coll.ReadWeak(v.ctx, []byte("k"), time.Hour)
			return err
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVault(t)
				v.write("k", []byte("small"))
				v.open(simulated.New(v.mem, nil, simulated.Constant(latency)))
				before := v.db.Stats()
				var wg sync.WaitGroup
				for range readers {
					wg.Go(func() {
						if err := x.read(v); !errors.Is(err, strictkv.ErrAborted) {
							assert.NoError(t, err)
						}
					})
				}
				wg.Wait()
				assert.LessOrEqual(t, v.db.Stats().Sub(before).Gets, x.gets)
			})
		})
	}
}
