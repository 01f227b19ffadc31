// Service is a web service with accounts, unique mail addresses, sessions that expire, and jobs.
// Run as many processes of it as you like, on one folder or bucket; any of them answers any
// request, and works on jobs beside:
//
//	go run ./examples/service -listen localhost:8001 &
//	go run ./examples/service -listen localhost:8002 &
//	curl -d '{"mail": "me@example.com", "password": "a long one"}' localhost:8001/accounts
//	curl -d '{"mail": "me@example.com", "password": "a long one"}' localhost:8002/sessions
//	curl -H 'Authorization: Bearer TOKEN' localhost:8001/me
//
// With -tags cloud, -bucket takes the URL of any bucket that package bucketurl opens.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/store"
)

// farewellMax bounds how long a process that is to stop waits for what it has begun.
const farewellMax = 10 * time.Second

func main() {
	listen := flag.String("listen", "localhost:8001", "where to listen for requests")
	dir := flag.String("dir", "./data", "the folder to keep everything in")
	url := flag.String("bucket", "", "the URL of a bucket to keep it in instead")
	lasts := flag.Duration("session", 24*time.Hour, "how long a session lasts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bucket, err := store.Open(ctx, *dir, *url)
	if err == nil {
		err = errors.Join(run(ctx, bucket, *listen, *lasts), bucket.Close())
	}
	if err != nil {
		log.Fatal("service: ", err)
	}
}

// run serves requests and works on jobs until ctx ends.
func run(ctx context.Context, bucket store.Store, listen string, lasts time.Duration) error {
	db, err := strictkv.Open(ctx, "service", bucket)
	if err != nil {
		return err
	}
	s, err := newService(db, lasts)
	l, failed := net.Listen("tcp", listen)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: requestMax}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return server.Serve(l) })
	all.Go(func() error { return s.jobs.Work(ctx, s.work) })
	<-ctx.Done()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellMax)
	defer cancel()
	err = server.Shutdown(late)
	if failed = all.Wait(); !errors.Is(failed, http.ErrServerClosed) &&
		!errors.Is(failed, context.Canceled) {
		err = errors.Join(err, failed)
	}
	return errors.Join(err, db.Close(late))
}
