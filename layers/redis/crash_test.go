package redis_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/internal/history"
	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

var (
	crashFor     = flag.Duration("redis.crash.for", 3*time.Second, "how long TestCrash works")
	crashEvery   = flag.Duration("redis.crash.every", 700*time.Millisecond, "time between kills")
	crashClients = flag.Int("redis.crash.clients", 8, "clients of TestCrash")
)

// gatewayDir makes the test's binary a gateway to a database in that folder.
const gatewayDir = "STRICTKV_TEST_GATEWAY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(gatewayDir); dir != "" {
		fmt.Fprintln(os.Stderr, gateway(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// gateway serves until it is killed, or nobody listens to it.
func gateway(dir string) error {
	ctx := context.Background()
	// A short patience, so that those who outlive a gateway don't wait for it for long.
	db, err := strictkv.Open(ctx, "test", folder.New(dir), strictkv.WithPatience(patience))
	if err != nil {
		return err
	}
	s, err := redis.NewServer(db, redis.Options{})
	if err != nil {
		return err
	}
	ln, err := s.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0) // the test is gone
	}()
	return s.Serve(ln)
}

const patience = 200 * time.Millisecond

// gateways are processes that serve one folder.
type gateways struct {
	dir       string
	processes [2]*exec.Cmd
	addrs     [2]atomic.Pointer[string]
}

// start runs a gateway in place of one that was killed.
func (g *gateways) start(t *testing.T, i int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), gatewayDir+"="+g.dir)
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe() // closed when the test ends, by whatever
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	addr, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addr = strings.TrimSpace(addr)
	g.processes[i] = cmd
	g.addrs[i].Store(&addr)
}

func (g *gateways) kill(i int) {
	_ = g.processes[i].Process.Kill()
	_ = g.processes[i].Wait()
}

const accounts, balance = 8, 100

// bankClient transfers between accounts over connections that may break at any time. The value of
// an account is who has written it, and the balance.
type bankClient struct {
	g    *gateways
	name string
	nc   net.Conn
	r    *redistest.Replies

	incremented, doubtful int64 // of the counter
}

// do sends commands, and returns their replies.
func (c *bankClient) do(commands ...string) (replies []string, err error) {
	if c.nc == nil {
		addr := *c.g.addrs[rand.IntN(2)].Load()
		if c.nc, err = net.Dial("tcp", addr); err != nil {
			c.nc = nil
			<-time.After(10 * time.Millisecond) // it is being started
			return nil, err
		}
		c.r = redistest.NewReplies(c.nc)
	}
	_, err = fmt.Fprintf(c.nc, "%s\r\n", strings.Join(commands, "\r\n"))
	for range commands {
		var reply string
		if err == nil {
			reply, err = c.r.Next()
		}
		replies = append(replies, reply)
	}
	if err != nil {
		_ = c.nc.Close()
		c.nc = nil
	}
	return replies, err
}

// read takes apart what MGET of accounts has replied.
func read(call *history.Call, names []string, reply string) (values []int, err error) {
	words := strings.Fields(strings.Trim(reply, "[]"))
	if len(words) != len(names) {
		return nil, fmt.Errorf("reply %q", reply)
	}
	for i, word := range words {
		word = strings.Trim(word, "'")
		call.Read(names[i], word, true)
		_, digits, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(digits)
		if err != nil {
			return nil, err
		}
		values = append(values, n)
	}
	return values, nil
}

func account(i int) string { return fmt.Sprintf("account{%d}", i) }

// transfer moves money, and reports whether it is known to have.
func (c *bankClient) transfer(call *history.Call, id string) error {
	from := rand.IntN(accounts)
	to := (from + 1 + rand.IntN(accounts-1)) % accounts
	names := []string{account(from), account(to)}
	both := strings.Join(names, " ")
	replies, err := c.do("WATCH "+both, "MGET "+both)
	if err != nil || replies[0] != "OK" {
		call.Fail(false)
		return err
	}
	values, err := read(call, names, replies[1])
	if err != nil {
		call.Fail(false)
		return err
	}
	amount := rand.IntN(10)
	for i, n := range []int{values[0] - amount, values[1] + amount} {
		names[i] += " " + id + ":" + strconv.Itoa(n)
		name, value, _ := strings.Cut(names[i], " ")
		call.Write(name, value)
	}
	replies, err = c.do("MULTI", "SET "+names[0], "SET "+names[1], "EXEC")
	switch {
	case err != nil || strings.HasPrefix(replies[3], "-INDOUBT"):
		call.Doubt()
	case replies[3] == "[OK OK]":
		call.Commit()
	default: // nil, or an error that means that nothing was done
		call.Fail(false)
	}
	return nil
}

// look reads all accounts at one instant.
func (c *bankClient) look(call *history.Call) error {
	var names []string
	for i := range accounts {
		names = append(names, account(i))
	}
	replies, err := c.do("MULTI", "MGET "+strings.Join(names, " "), "EXEC")
	if err != nil || !strings.HasPrefix(replies[2], "[[") {
		call.Fail(false)
		return errors.Join(err, errors.New("not done"))
	}
	values, err := read(call, names, replies[2])
	if err != nil {
		call.Fail(false)
		return err
	}
	total := 0
	for _, n := range values {
		total += n
	}
	call.Commit()
	if total != accounts*balance {
		return fmt.Errorf("%w: %d in total: %s", errTotal, total, replies[2])
	}
	return nil
}

var errTotal = errors.New("money was made or lost")

// count increments the counter.
func (c *bankClient) count() {
	replies, err := c.do("INCR counter")
	switch {
	case err != nil && len(replies) == 0:
	case err != nil || strings.HasPrefix(replies[0], "-INDOUBT"):
		c.doubtful++
	case !strings.HasPrefix(replies[0], "-"):
		c.incremented++
	}
}

func (c *bankClient) work(t *testing.T, rec *history.Recorder, stop *atomic.Bool) {
	for n := 0; !stop.Load(); n++ {
		switch rand.IntN(5) {
		case 0:
			c.count()
		case 1:
			if err := c.look(rec.Begin(c.name)); errors.Is(err, errTotal) {
				assert.NoError(t, err)
			}
		default:
			_ = c.transfer(rec.Begin(c.name), fmt.Sprintf("%s/%d", c.name, n))
		}
	}
	if c.nc != nil {
		_ = c.nc.Close()
	}
}

// TestCrash has clients transfer money by WATCH, MULTI and EXEC over two gateways to one folder,
// which are killed by turns. The history is judged as one of the engine's is; the total is what it
// was, and the counter has what was acknowledged.
//
//	go test ./layers/redis -run TestCrash -redis.crash.for 2m -redis.crash.every 3s \
//		-redis.crash.clients 50
func TestCrash(t *testing.T) {
	g := &gateways{dir: t.TempDir()}
	for i := range g.processes {
		g.start(t, i)
	}
	began := time.Now()
	rec := history.NewRecorder("t", func() int64 { return int64(time.Since(began)) }, nil)
	first := &bankClient{g: g, name: "first"}
	call := rec.Begin(first.name)
	for i := range accounts {
		value := fmt.Sprintf("start%d:%d", i, balance)
		replies, err := first.do("SET " + account(i) + " " + value)
		require.NoError(t, err)
		require.Equal(t, []string{"OK"}, replies)
		call.Write(account(i), value)
	}
	call.Commit()

	var stop atomic.Bool
	var all sync.WaitGroup
	clients := make([]*bankClient, *crashClients)
	for i := range clients {
		clients[i] = &bankClient{g: g, name: fmt.Sprintf("c%d", i)}
		all.Go(func() { clients[i].work(t, rec, &stop) })
	}
	for kills := 0; time.Since(began) < *crashFor; kills++ {
		<-time.After(*crashEvery)
		g.kill(kills % 2)
		g.start(t, kills%2)
	}
	stop.Store(true)
	all.Wait()
	_ = first.nc.Close()
	first.nc = nil
	g.judge(t, rec, append(clients, first))
	for i := range g.processes {
		g.kill(i)
	}
}

// judge looks at what there is in the end, and at the history.
func (g *gateways) judge(t *testing.T, rec *history.Recorder, clients []*bankClient) {
	last := clients[len(clients)-1]
	require.NoError(t, last.look(rec.Begin("last")))
	replies, err := last.do("GET counter")
	require.NoError(t, err)
	n, err := strconv.ParseInt(strings.Trim(replies[0], "'"), 10, 64)
	require.NoError(t, err)
	var known, doubtful int64
	for _, c := range clients {
		known, doubtful = known+c.incremented, doubtful+c.doubtful
	}
	assert.GreaterOrEqual(t, n, known, "what was acknowledged is there")
	assert.LessOrEqual(t, n, known+doubtful, "nothing was done twice")
	_ = last.nc.Close()

	report, err := history.Check(rec.History(), history.Options{})
	require.NoError(t, err)
	assert.NoError(t, report.Err())
	assert.Zero(t, report.Undetermined, "the verdict is exact")
	done := map[history.Status]int{}
	for _, x := range rec.History() {
		done[x.Status]++
	}
	assert.NotZero(t, done[history.Committed])
	t.Logf("%v, counter %d of %d to %d", done, n, known, known+doubtful)
}
