package redis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// Defaults of Options, and limits.
const (
	// DefaultRoot is the collection that all is in.
	DefaultRoot = "redis"
	// DefaultClientsMax is how many clients are served at once.
	DefaultClientsMax = 10_000
	// DefaultCommandTimeout is how long a command may take.
	DefaultCommandTimeout = 30 * time.Second
	// DefaultWriteTimeout is how long a client may take to read a MiB of replies.
	DefaultWriteTimeout = 30 * time.Second
	// DefaultMemoryMax is how many bytes of arguments and of replies may be in flight.
	DefaultMemoryMax = 1 << 30
	// DefaultBatchMax is how many commands of one client are taken at once.
	DefaultBatchMax = 1024
	// PasswordMax is how long a password may be, in bytes.
	PasswordMax = 512
)

// The errors of this package, to be matched by errors.Is.
var (
	// ErrInvalid: an option is not allowed. Don't retry. It is strictkv.ErrInvalid.
	ErrInvalid = strictkv.ErrInvalid
	// ErrServerClosed: Serve after Shutdown, or ended by it.
	ErrServerClosed = errors.New("redis: server is closed")
	// ErrNoPassword: to listen where other machines can connect, without users. Don't retry.
	ErrNoPassword = errors.New(
		"redis: others could connect, and nobody has a password: name users, or listen on loopback")
)

// Options configure a Server. Fields that are zero have their defaults.
type Options struct {
	// Root is the name of the collection that all is in; DefaultRoot by default.
	Root string
	// Users are the passwords of the users, by name. A password alone, as clients without names
	// send it, is that of the user "default". Without any, everybody may do all, and Serve
	// refuses listeners that other machines can reach.
	Users map[string]string
	// TLS, if it is there, is what clients must speak.
	TLS *tls.Config
	// MaxStaleness is how old what is read outside of MULTI may be; 0 reads strongly.
	MaxStaleness time.Duration
	// ClientsMax is how many clients are served at once; others get an error.
	ClientsMax int
	// IdleTimeout is how long a client may send nothing; 0 is for ever.
	IdleTimeout time.Duration
	// WriteTimeout is how long a client may take to read replies, or a MiB of them.
	WriteTimeout time.Duration
	// CommandTimeout is how long a command, or EXEC, may take.
	CommandTimeout time.Duration
	// MemoryMax is how many bytes of arguments and of replies may be in flight.
	MemoryMax int64
	// BatchMax is how many commands of one client are taken at once.
	BatchMax int
	// Combine has commands of different clients share transactions that come at the same time, as
	// those do that one client sends at once. It pays where a transaction of many keys takes
	// as long as one of a single key, as in package backend/pebble: not in a bucket of a cloud.
	Combine bool
	// Logger takes what an operator should know; by default nothing does.
	Logger *slog.Logger
}

// withDefaults is o with what it leaves open.
func (o Options) withDefaults() (Options, error) {
	for name, value := range map[string]int64{
		"ClientsMax": int64(o.ClientsMax), "IdleTimeout": int64(o.IdleTimeout),
		"WriteTimeout": int64(o.WriteTimeout), "CommandTimeout": int64(o.CommandTimeout),
		"MemoryMax": o.MemoryMax, "BatchMax": int64(o.BatchMax),
		"MaxStaleness": int64(o.MaxStaleness),
	} {
		if value < 0 {
			return o, fmt.Errorf("redis: %s is %d, want 0 or more: %w", name, value, ErrInvalid)
		}
	}
	for name, password := range o.Users {
		if name == "" || password == "" || len(password) > PasswordMax {
			return o, fmt.Errorf("redis: user %q: a name, and a password of 1 to %d bytes: %w",
				name, PasswordMax, ErrInvalid)
		}
	}
	o.Root = or(o.Root, DefaultRoot)
	o.ClientsMax = or(o.ClientsMax, DefaultClientsMax)
	o.WriteTimeout = or(o.WriteTimeout, DefaultWriteTimeout)
	o.CommandTimeout = or(o.CommandTimeout, DefaultCommandTimeout)
	o.MemoryMax = or(o.MemoryMax, DefaultMemoryMax)
	o.BatchMax = or(o.BatchMax, DefaultBatchMax)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// settings are what CONFIG GET tells, under the names of Redis.
func (o Options) settings() map[string]string {
	return map[string]string{
		"appendfsync": "always", "appendonly": "yes", "save": "", "maxmemory": "0",
		"maxmemory-policy": "noeviction", "databases": strconv.Itoa(keys.Databases),
		"maxclients":         strconv.Itoa(o.ClientsMax),
		"timeout":            strconv.FormatInt(int64(o.IdleTimeout/time.Second), 10),
		"proto-max-bulk-len": strconv.Itoa(keys.StringMax),

		"hash-max-listpack-entries": strconv.Itoa(keys.SmallElements),
		"set-max-listpack-entries":  strconv.Itoa(keys.SmallElements),
		"zset-max-listpack-entries": strconv.Itoa(keys.SmallElements),
		"list-max-listpack-size":    strconv.Itoa(keys.SmallElements),
	}
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
