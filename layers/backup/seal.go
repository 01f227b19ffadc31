package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/strictkv/strictkv/backend"
)

const (
	// sealMagic and a byte of flags stand before each object.
	sealMagic = "SKVB"
	flagZstd  = 1
	flagAge   = 2
)

// sealed is a store whose objects are compressed and encrypted.
type sealed struct {
	backend.Backend
	o       Options
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	pace    pace
	moved   atomic.Int64
}

// count counts bytes that were moved.
func (s *sealed) count(n int, err error) {
	if moved := s.moved.Add(int64(n)); err == nil && s.o.Progress != nil {
		s.o.Progress(moved)
	}
}

// Limits of sending a request again.
const (
	triesMax    = 8
	tryPause    = 50 * time.Millisecond
	tryPauseMax = 5 * time.Second
)

// again sends a request again that failed for a reason that may pass.
func again(ctx context.Context, f func() error) error {
	pause := tryPause
	for n := 1; ; n++ {
		err := f()
		passes := errors.Is(err, backend.ErrThrottled) || errors.Is(err, backend.ErrUnavailable)
		if !passes || n == triesMax {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(max(pause, backend.PauseAsked(err))):
		}
		pause = min(2*pause, tryPauseMax)
	}
}

func seal(b backend.Backend, o Options) (*sealed, error) {
	s := &sealed{Backend: b, o: o, pace: pace{rate: o.Rate}}
	var err error
	if s.decoder, err = zstd.NewReader(nil,
		zstd.WithDecoderMaxMemory(backend.ObjectMax), zstd.WithDecoderConcurrency(0)); err != nil {
		return nil, err
	}
	s.encoder, err = zstd.NewWriter(nil)
	return s, err
}

// Put implements backend.Backend.
func (s *sealed) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	flags := byte(0)
	if s.o.Compress {
		flags, data = flags|flagZstd, s.encoder.EncodeAll(data, nil)
	}
	if len(s.o.Recipients) > 0 {
		var buf bytes.Buffer
		w, err := age.Encrypt(&buf, s.o.Recipients...)
		if err == nil {
			_, err = w.Write(data)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil { // nothing was sent
			return backend.Stamp{}, fmt.Errorf("encrypt %q: %w: %w", name, backend.ErrInvalid, err)
		}
		flags, data = flags|flagAge, buf.Bytes()
	}
	data = append(append([]byte(sealMagic), flags), data...)
	if err := s.pace.wait(ctx, len(data)); err != nil {
		return backend.Stamp{}, err
	}
	at, err := s.Backend.Put(ctx, name, data, c)
	s.count(len(data), err)
	return at, err
}

// Get implements backend.Backend.
func (s *sealed) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	o, err := s.Backend.Get(ctx, name, known)
	if err != nil {
		return o, err
	}
	if err := s.pace.wait(ctx, len(o.Data)); err != nil {
		return backend.Object{}, err
	}
	s.count(len(o.Data), nil)
	o.Data, err = s.unseal(o.Data)
	switch {
	case errors.Is(err, ErrKey):
		return backend.Object{}, fmt.Errorf("%q: %w", name, err)
	case err != nil:
		return backend.Object{}, &backend.CorruptError{Object: name, Err: err}
	}
	return o, nil
}

func (s *sealed) unseal(data []byte) ([]byte, error) {
	if len(data) <= len(sealMagic) || string(data[:len(sealMagic)]) != sealMagic {
		return nil, errors.New("it is no object of a backup")
	}
	flags, data := data[len(sealMagic)], data[len(sealMagic)+1:]
	if flags&^(flagZstd|flagAge) != 0 {
		return nil, fmt.Errorf("flags %#x: it may be of a newer version", flags)
	}
	if flags&flagAge != 0 {
		if len(s.o.Identities) == 0 {
			return nil, fmt.Errorf("%w: it is encrypted, and no identity is given", ErrKey)
		}
		r, err := age.Decrypt(bytes.NewReader(data), s.o.Identities...)
		if none := (*age.NoIdentityMatchError)(nil); errors.As(err, &none) {
			return nil, fmt.Errorf("%w: %w", ErrKey, err)
		}
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(r, backend.ObjectMax))
		}
		if err != nil {
			return nil, err
		}
	}
	if flags&flagZstd != 0 {
		return s.decoder.DecodeAll(data, nil)
	}
	return data, nil
}

// pace keeps the bytes that are moved below a rate.
type pace struct {
	rate int64 // bytes per second; 0 is any

	mu   sync.Mutex // guards next
	next time.Time  // when the next byte may be moved
}

func (p *pace) wait(ctx context.Context, n int) error {
	if p.rate <= 0 {
		return nil
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	at := p.next
	p.next = at.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	p.mu.Unlock()
	select {
	case <-time.After(at.Sub(now)):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err()) // nothing was sent
	}
}
