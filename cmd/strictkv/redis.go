package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis"
)

// redisPassword is the environment's variable with the password of the user "default".
const redisPassword = "STRICTKV_REDIS_PASSWORD"

// redisFlags are those of the command redis.
type redisFlags struct {
	listen, users, cert, key string
	options                  redis.Options
}

func (a *app) redis() *cobra.Command {
	f := &redisFlags{}
	c := a.command(cobra.Command{
		Use: "redis", Short: "Serve the database to clients of Redis", Args: cobra.NoArgs,
		Long: `Redis serves the database to clients of Redis, as docs/redis.md tells. It prints
where it listens, and ends on Ctrl-C or SIGTERM, after what was begun. What is
acknowledged is in the bucket. Any number of processes may serve the same
database.

It listens where other machines can connect only if there are passwords: that of
the user "default" in $` + redisPassword + `, or those of any users in a file,
each a line "name:password".`,
		Example: `  strictkv redis --listen 127.0.0.1:6389 --create
  strictkv redis --listen :6389 --users users --tls-cert c.pem --tls-key k.pem`,
	}, func(ctx context.Context, _ []string) error { return a.serveRedis(ctx, f) })
	a.creates(c)
	o := &f.options
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:6389", "the `address` to serve at")
	c.Flags().StringVar(&f.users, "users", "", "a `file` of users, each a line name:password")
	c.Flags().StringVar(&f.cert, "tls-cert", "", "a `file` with the certificate, for TLS")
	c.Flags().StringVar(&f.key, "tls-key", "", "a `file` with the certificate's key")
	c.Flags().DurationVar(&o.MaxStaleness, "max-staleness", 0,
		"how old what is read may be, outside of MULTI; 0 reads what is current")
	c.Flags().IntVar(&o.ClientsMax, "clients", redis.DefaultClientsMax, "how many may connect")
	c.Flags().DurationVar(&o.IdleTimeout, "idle-timeout", 0,
		"how long a client may send nothing; 0 is for ever")
	c.Flags().DurationVar(&o.CommandTimeout, "command-timeout", redis.DefaultCommandTimeout,
		"how long a command may take")
	return c
}

// serveRedis serves until ctx ends.
func (a *app) serveRedis(ctx context.Context, f *redisFlags) (err error) {
	if os.Getenv("GOGC") == "" {
		defer collectRarely()()
	}
	if f.options.Users, err = redisUsers(f.users); err != nil {
		return err
	}
	if f.cert != "" || f.key != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return fmt.Errorf("%w: --tls-cert, --tls-key: %w", errUsage, err)
		}
		f.options.TLS = &tls.Config{
			Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		}
	}
	log := slog.New(slog.NewTextHandler(a.err, nil))
	f.options.Logger = log
	f.options.Combine = strings.HasPrefix(a.bucket, "pebble:")
	serve := func(db *strictkv.DB) error {
		s, err := redis.NewServer(db, f.options)
		if err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
		return a.untilEnd(ctx, s, f.listen)
	}
	opts := []strictkv.Option{strictkv.WithLogger(log)}
	if !a.create {
		opts = append(opts, strictkv.MustExist())
	}
	return a.use(ctx, serve, opts...)
}

// untilEnd serves until ctx ends, and then lets clients finish.
func (a *app) untilEnd(ctx context.Context, s *redis.Server, address string) error {
	ln, err := s.Listen(ctx, address)
	if errors.Is(err, redis.ErrNoPassword) {
		err = fmt.Errorf("%w: --listen: %w", errUsage, err)
	}
	if err != nil {
		return err
	}
	addr := ln.Addr().String()
	err = errors.Join(
		a.print(map[string]string{"address": addr}, "listening on %s\n", addr), a.out.Flush())
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	return s.ServeUntil(ctx, ln, redisStopMax)
}

// redisStopMax is how long clients may take to finish what they have begun.
const redisStopMax = 10 * time.Second

// redisUsers are those of a file and of the environment.
func redisUsers(file string) (map[string]string, error) {
	users := map[string]string{}
	if password := os.Getenv(redisPassword); password != "" {
		users["default"] = password
	}
	if file == "" {
		return users, nil
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%w: --users: %w", errUsage, err)
	}
	defer in.Close()
	more, err := redis.ReadUsers(in)
	if err != nil {
		return nil, fmt.Errorf("%w: --users: %s: %w", errUsage, file, err)
	}
	maps.Copy(users, more)
	return users, nil
}

// How much garbage there may be before it is collected.
const (
	// garbagePercent is what there may be in percent of what is in use: half of what Go has by
	// itself, as clients have large values under way.
	garbagePercent = 50
	// garbageMin, in bytes, is not worth the work of a collection: with 7 MiB a server of small
	// values would spend a fifth of its time on that. As much is taken for in use as usedMin, so
	// that the bound is not far off when more comes to be in use at once.
	garbageMin = 48 << 20
	usedMin    = 12 << 20
	// garbageEvery is how soon after a collection the bound of the next is set.
	garbageEvery = 100 * time.Millisecond
)

// collectRarely has garbage collected by those bounds until stop is called.
func collectRarely() (stop func()) {
	before := debug.SetGCPercent(garbagePercent)
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(garbageEvery)
		defer tick.Stop()
		for last := garbagePercent; ; {
			select {
			case <-tick.C:
				if percent := garbageMax(inUse()); percent != last {
					debug.SetGCPercent(percent)
					last = percent
				}
			case <-stopping:
				return
			}
		}
	}()
	return func() {
		close(stopping)
		<-stopped
		debug.SetGCPercent(before)
	}
}

// garbageMax is how much garbage there may be beside so many bytes in use, in percent of them.
func garbageMax(used uint64) int {
	return int(max(garbageMin*100/max(used, usedMin), garbagePercent))
}

// inUse is how many bytes of memory the last collection has found in use.
func inUse() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
