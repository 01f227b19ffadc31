package redis_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/redis"
)

// served runs a server for an example, and lets it talk to that.
func served(o redis.Options, talk func(s *redis.Server, c net.Conn)) error {
	ctx := context.Background()
	db, err := strictkv.Open(ctx, "example", memory.New())
	if err != nil {
		return err
	}
	s, err := redis.NewServer(db, o)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		return err
	}
	talk(s, c)
	if err := errors.Join(c.Close(), s.Shutdown(ctx)); err != nil {
		return err
	}
	if err := <-done; !errors.Is(err, redis.ErrServerClosed) {
		return err
	}
	return db.Close(ctx)
}

func ExampleNewServer() {
	err := served(redis.Options{}, func(_ *redis.Server, c net.Conn) {
		fmt.Fprint(c, "SET greeting hello\r\n")
		reply, err := bufio.NewReader(c).ReadString('\n')
		fmt.Printf("%q %v\n", reply, err)
	})
	fmt.Println(err)
	// Output:
	// "+OK\r\n" <nil>
	// <nil>
}

func ExampleServer_Serve() {
	db, err := strictkv.Open(context.Background(), "example", memory.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := redis.NewServer(db, redis.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.Serve(ln) // others could connect, and there is no password
	fmt.Println(errors.Is(err, redis.ErrNoPassword))
	// Output: true
}

func ExampleServer_Listen() {
	db, err := strictkv.Open(context.Background(), "example", memory.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := redis.NewServer(db, redis.Options{Users: map[string]string{"default": "secret"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := s.Listen(context.Background(), ":0")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ln.Addr().Network(), ln.Close())
	// Output: tcp <nil>
}

func ExampleServer_Shutdown() {
	err := served(redis.Options{}, func(s *redis.Server, c net.Conn) {
		r := bufio.NewReader(c)
		fmt.Fprint(c, "PING\r\n")
		_, _ = r.ReadString('\n')
		fmt.Println(s.Shutdown(context.Background()))
		_, err := r.ReadString('\n')
		fmt.Println(err)
	})
	fmt.Println(err)
	// Output:
	// <nil>
	// EOF
	// <nil>
}

func ExampleServer_Stats() {
	err := served(redis.Options{}, func(s *redis.Server, c net.Conn) {
		fmt.Fprint(c, "SET a 1\r\nINCR a\r\nGET a\r\n")
		r := bufio.NewReader(c)
		for range 4 { // the last reply has two lines
			_, _ = r.ReadString('\n')
		}
		n := s.Stats()
		fmt.Println(n.Clients, n.Commands)
	})
	fmt.Println(err)
	// Output:
	// 1 3
	// <nil>
}

func ExampleReadUsers() {
	users, err := redis.ReadUsers(strings.NewReader("# those who may\ndefault:secret\n"))
	fmt.Println(len(users), err)
	_, err = redis.ReadUsers(strings.NewReader("default"))
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// redis: users: line 1: want name:password: invalid call
}

func ExampleServer_ServeUntil() {
	db, err := strictkv.Open(context.Background(), "example", memory.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := redis.NewServer(db, redis.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(s.ServeUntil(ctx, ln, time.Second))
	// Output: <nil>
}
