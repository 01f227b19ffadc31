// Devserver is a stand-in for Cloud Storage, for as many processes of this machine as want to
// share a bucket while they are developed: fake-gcs-server, in this process. It makes a bucket
// and prints how to use it:
//
//	go run ./examples/devserver
//	go run ./examples/devserver -listen 127.0.0.1:4443 -bucket dev -dir ./objects
//
// In other terminals then, as often as you like:
//
//	export STORAGE_EMULATOR_HOST=http://127.0.0.1:4443
//	go run ./examples/anybucket -bucket "gs://dev?sends_once=true"
//	go run -tags cloud ./examples/bank -bucket "gs://dev?sends_once=true"
//
// Without -dir the objects are in memory, and gone when it ends. It is for development: it has
// neither the latencies of the service nor its limits, it asks nobody for credentials, and it
// answers some conditional reads with more bytes than the service would.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4443", "the address to listen on; port 0 is any")
	bucket := flag.String("bucket", "dev", "the name of the bucket to make")
	dir := flag.String("dir", "", "the folder to keep the objects in, instead of in memory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	url, end, err := serve(os.Stdout, *listen, *bucket, *dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "devserver:", err)
		os.Exit(1)
	}
	defer end()
	<-ctx.Done()
	fmt.Println(url, "has ended")
}

// serve starts the server, makes the bucket, and tells how to use them.
func serve(out io.Writer, listen, bucket, dir string) (url string, end func(), err error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", nil, fmt.Errorf("port %q: %w", text, err)
	}
	server, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		Scheme: "http", Host: host, Port: uint16(port), StorageRoot: dir,
		PublicHost: host, // without it, XML reads find nothing
	})
	if err != nil {
		return "", nil, fmt.Errorf("start fake-gcs-server: %w", err)
	}
	server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: bucket})
	fmt.Fprintf(out, "serving bucket %q until it is interrupted; in other terminals:\n\n"+
		"  export STORAGE_EMULATOR_HOST=%s\n"+
		"  go run ./examples/anybucket -bucket gs://%s\n\n", bucket, server.URL(), bucket)
	return server.URL(), server.Stop, nil
}
