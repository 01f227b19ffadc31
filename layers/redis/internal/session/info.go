package session

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// section is a part of INFO.
type section struct {
	name  string
	write func(s *Session, ctx context.Context, b *strings.Builder) error
}

var sections = []section{
	{"Server", (*Session).infoServer}, {"Clients", (*Session).infoClients},
	{"Memory", (*Session).infoMemory}, {"Persistence", (*Session).infoPersistence},
	{"Stats", (*Session).infoStats}, {"Replication", (*Session).infoReplication},
	{"Cluster", (*Session).infoCluster}, {"Keyspace", (*Session).infoKeyspace},
}

func (s *Session) doInfo(ctx context.Context, args [][]byte) error {
	var b strings.Builder
	for _, part := range sections {
		if !asked(args[1:], part.name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + part.name + "\r\n")
		if err := part.write(s, ctx, &b); err != nil {
			return err
		}
	}
	s.out.Verbatim(b.String())
	return nil
}

// asked reports whether a section is wanted.
func asked(args [][]byte, name string) bool {
	return len(args) == 0 || slices.ContainsFunc(args, func(arg []byte) bool {
		return slices.ContainsFunc([]string{name, "default", "all", "everything"},
			func(word string) bool { return command.Is(arg, word) })
	})
}

func (s *Session) infoServer(_ context.Context, b *strings.Builder) error {
	up := time.Since(s.shared.Started)
	fmt.Fprintf(b, "redis_version:%s\r\nserver_name:strictkv\r\nredis_mode:standalone\r\n"+
		"os:%s %s\r\narch_bits:64\r\nprocess_id:%d\r\nuptime_in_seconds:%d\r\n"+
		"uptime_in_days:%d\r\n", Version, runtime.GOOS, runtime.GOARCH, os.Getpid(),
		seconds(up), seconds(up)/(24*60*60))
	return nil
}

func (s *Session) infoClients(_ context.Context, b *strings.Builder) error {
	fmt.Fprintf(b, "connected_clients:%d\r\nblocked_clients:0\r\n", s.shared.Stats.Clients.Load())
	return nil
}

func (s *Session) infoMemory(_ context.Context, b *strings.Builder) error {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	fmt.Fprintf(b, "used_memory:%d\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n",
		sample[0].Value.Uint64())
	return nil
}

func (s *Session) infoPersistence(_ context.Context, b *strings.Builder) error {
	b.WriteString("loading:0\r\naof_enabled:1\r\n") // what is acknowledged is durable
	return nil
}

func (s *Session) infoStats(_ context.Context, b *strings.Builder) error {
	n, e := s.shared.Stats, s.shared.Space.DB().Stats()
	for _, x := range []struct {
		name  string
		value int64
	}{
		{"total_connections_received", n.Connections.Load()},
		{"rejected_connections", n.Refused.Load()},
		{"total_commands_processed", n.Commands.Load()},
		{"total_error_replies", n.Errors.Load()},
		{"total_net_input_bytes", n.BytesIn.Load()},
		{"total_net_output_bytes", n.BytesOut.Load()},
		{"acl_access_denied_auth", n.Denied.Load()},
		{"keyspace_hits", e.CacheHits}, {"keyspace_misses", e.CacheMisses},
		{"strictkv_transactions", n.Transactions.Load()},
		{"strictkv_in_doubt", n.InDoubt.Load()},
		{"strictkv_retries", e.StaleReads + e.Refused},
		{"strictkv_requests", e.Gets + e.Puts + e.Deletes + e.Lists},
	} {
		fmt.Fprintf(b, "%s:%d\r\n", x.name, x.value)
	}
	return nil
}

func (s *Session) infoReplication(_ context.Context, b *strings.Builder) error {
	b.WriteString("role:master\r\nconnected_slaves:0\r\n")
	return nil
}

func (s *Session) infoCluster(_ context.Context, b *strings.Builder) error {
	b.WriteString("cluster_enabled:0\r\n")
	return nil
}

// infoKeysMax is how many keys of a database INFO counts: monitors ask for it again and again.
const infoKeysMax = 10_000

// infoKeyspace counts the keys of each database that has any, by listing them.
func (s *Session) infoKeyspace(ctx context.Context, b *strings.Builder) error {
	ctx = s.timed(ctx)
	used, err := s.shared.Space.Used(ctx)
	if err != nil {
		return err
	}
	for _, n := range used {
		size, err := s.size(ctx, n, infoKeysMax)
		if err != nil {
			return err
		}
		if size > 0 {
			fmt.Fprintf(b, "db%d:keys=%d,expires=0,avg_ttl=0\r\n", n, size)
		}
	}
	return nil
}

var configSubs = map[string]subcommand{
	"get": {3, -1, (*Session).configGet},
	"set": {4, -1, func(_ *Session, _ context.Context, args [][]byte) error {
		return resp.Error("ERR CONFIG SET failed - can't set immutable config '" +
			string(args[2]) + "': settings are those of the command that runs the server")
	}},
	"resetstat": {2, 2, func(s *Session, _ context.Context, _ [][]byte) error {
		s.shared.Stats.reset()
		s.out.Status("OK")
		return nil
	}},
}

func (s *Session) doConfig(ctx context.Context, args [][]byte) error {
	return s.dispatch(ctx, "config", configSubs, args)
}

func (s *Session) configGet(_ context.Context, args [][]byte) error {
	var found []string
	for name := range s.shared.Settings {
		if slices.ContainsFunc(args[2:], func(pattern []byte) bool {
			return command.Match(pattern, []byte(name))
		}) {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, cmp.Compare[string])
	s.out.Map(len(found))
	for _, name := range found {
		s.out.String(name)
		s.out.String(s.shared.Settings[name])
	}
	return nil
}

// reset begins to count anew, but for what is there now.
func (n *Stats) reset() {
	for _, c := range []interface{ Store(int64) }{
		&n.Connections, &n.Refused, &n.Commands, &n.Transactions, &n.Errors, &n.InDoubt, &n.Denied,
		&n.BytesIn, &n.BytesOut,
	} {
		c.Store(0)
	}
}
