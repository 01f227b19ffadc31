package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/pebble/pebbleurl"
	"github.com/strictkv/strictkv/internal/dump"
	"github.com/strictkv/strictkv/internal/keytext"
)

// closeMax is how long a handle may take to finish what its commits have left.
const closeMax = 10 * time.Second

const places = `The bucket is named by a URL: gs://bucket/prefix, azblob://container/prefix,
s3://bucket/prefix?region=eu-west-1, file:///directory, pebble:///directory (of
one process at a time), or the path of a folder that begins with ./ or /.
Credentials come from where the clouds' own tools take theirs. Nothing is
written but by commands that must.

Keys are given as text, as bytes in hexadecimal digits (0x00ff), in quotes with
Go's escapes ("a\tb"), or as tuples: ("users", 42). Collections are given as
paths, such as users or users/alice/mail. What is printed can be given again.`

// use opens the bucket and the database, and closes them when f has returned.
func (a *app) use(
	ctx context.Context, f func(*strictkv.DB) error, opts ...strictkv.Option,
) (err error) {
	if a.database == "" {
		return fmt.Errorf("%w: no database: use --db or STRICTKV_DB", errUsage)
	}
	return a.inBucket(ctx, func(b *bucketurl.Bucket) (err error) {
		db, err := strictkv.Open(ctx, a.database, b, opts...)
		if err != nil {
			return err
		}
		defer func() {
			// Who is interrupted leaves no intents behind, if that takes seconds only.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeMax)
			defer cancel()
			err = errors.Join(err, db.Close(ctx))
		}()
		return f(db)
	})
}

// read uses the database without a write.
func (a *app) read(ctx context.Context, f func(*strictkv.DB) error) error {
	return a.use(ctx, f, strictkv.ReadOnly())
}

// write uses the database, which must be there.
func (a *app) write(ctx context.Context, f func(*strictkv.DB) error) error {
	if a.create {
		return a.use(ctx, f)
	}
	return a.use(ctx, f, strictkv.MustExist())
}

// creates adds the flag by which a command may create the database.
func (a *app) creates(c *cobra.Command) {
	c.Flags().BoolVar(&a.create, "create", false, "create the database if it is not there")
}

// inBucket opens the bucket, and closes it when f has returned.
func (a *app) inBucket(ctx context.Context, f func(*bucketurl.Bucket) error) error {
	if a.bucket == "" {
		return fmt.Errorf("%w: no bucket: use --bucket or STRICTKV_BUCKET", errUsage)
	}
	return at(ctx, a.bucket, f)
}

// at is inBucket for any URL.
func at(ctx context.Context, url string, f func(*bucketurl.Bucket) error) (err error) {
	b, err := bucketurl.Open(ctx, url, pebbleurl.Scheme())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	return f(b)
}

// collection is that of a path.
func collection(db *strictkv.DB, path string) (*strictkv.Collection, error) {
	names, err := keytext.ParsePath(path)
	if err != nil {
		return nil, err
	}
	return dump.Below(db, names), nil
}

// place is what two arguments name: a collection, and a key in it.
func place(db *strictkv.DB, args []string) (*strictkv.Collection, []byte, error) {
	c, err := collection(db, args[0])
	if err != nil {
		return nil, nil, err
	}
	key, err := keytext.Parse(args[1])
	return c, key, err
}

func (a *app) version() *cobra.Command {
	return a.command(cobra.Command{
		Use: "version", Short: "Print the version of the command", Args: cobra.NoArgs,
		Example: "  strictkv version --json",
	}, func(context.Context, []string) error {
		v := struct {
			Version string `json:"version"`
			Go      string `json:"go"`
			System  string `json:"system"`
		}{"unknown", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
			v.Version = info.Main.Version
		}
		return a.print(v, "strictkv %s, %s, %s\n", v.Version, v.Go, v.System)
	})
}
