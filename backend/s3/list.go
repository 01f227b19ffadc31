package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/strictkv/strictkv/backend"
)

// pageMax is the largest number of entries of a page.
const pageMax = 1000

var (
	errLimit   = errors.New("the limit is negative")
	errOrder   = errors.New("the store does not list names beyond After in byte order")
	errNoToken = errors.New("a page promises more and does not say where")
)

// List implements backend.Backend. Limit 0 means up to 1000 entries; the store
// never returns more. Info.Modified is the time of the last write. Of a store that does not
// know EncodingType, names with U+FFFD are left out, which it may show in place of others.
func (b *Backend) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	fail := func(kind, cause error) (backend.Page, error) {
		return backend.Page{}, b.fail("list", o.Prefix, kind, cause)
	}
	if err := b.err; err != nil {
		return fail(backend.ErrInvalid, err)
	}
	if o.Limit < 0 {
		return fail(backend.ErrInvalid, errLimit)
	}
	in := awss3.ListObjectsV2Input{Bucket: &b.bucket}
	if o.Prefix != "" {
		in.Prefix = &o.Prefix
	}
	if o.Delimiter != "" {
		in.Delimiter = &o.Delimiter
	}
	if o.After != "" {
		in.StartAfter = &o.After
	}
	if o.Limit > 0 && o.Limit < pageMax {
		in.MaxKeys = aws.Int32(int32(o.Limit))
		if o.After != "" && o.Delimiter != "" {
			*in.MaxKeys++ // The first entry may be the prefix that After is, or is within.
		}
	}
	// The first of the store's pages that has an entry beyond After.
	for {
		if err := ctx.Err(); err != nil {
			return fail(backend.ErrUnavailable, err)
		}
		out, err := b.listing(ctx, in)
		if err != nil {
			return backend.Page{}, err
		}
		page, err := entries(out, o)
		if errors.Is(err, errOrder) {
			return fail(backend.ErrInvalid, err)
		}
		if err != nil {
			return fail(backend.ErrUnavailable, err)
		}
		if len(page.Objects)+len(page.Prefixes) > 0 || !page.More {
			return page, nil
		}
		if in.MaxKeys != nil { // The whole page may have names that are no stray's.
			in.MaxKeys = nil
			continue
		}
		in.ContinuationToken = out.NextContinuationToken
	}
}

// listing asks for a page of the store. XML lacks control characters, and so fails a page
// with a name that has one, or has U+FFFD in its place; none is ours. Such a page is asked
// for once more, in an encoding that has all names, but which not all stores know.
func (b *Backend) listing(
	ctx context.Context, in awss3.ListObjectsV2Input,
) (*awss3.ListObjectsV2Output, error) {
	a := &attempt{asks: asksList}
	out, err := b.client.ListObjectsV2(ctx, &in, a.options)
	replaced := err == nil && slices.ContainsFunc(out.Contents, func(o types.Object) bool {
		return inexact(o.Key)
	})
	if unreadable(err) || replaced {
		in.EncodingType = types.EncodingTypeUrl
		again := &attempt{asks: asksList}
		exact, exactErr := b.client.ListObjectsV2(ctx, &in, again.options)
		if exactErr == nil {
			exactErr = decode(exact)
		}
		if exactErr == nil || !replaced {
			a, out, err = again, exact, exactErr
		}
	}
	if err != nil {
		return nil, b.readError(ctx, a, "list", aws.ToString(in.Prefix), err)
	}
	if out.EncodingType != types.EncodingTypeUrl { // Nobody knows what these names are.
		out.Contents = slices.DeleteFunc(out.Contents, func(o types.Object) bool {
			return inexact(o.Key)
		})
		out.CommonPrefixes = slices.DeleteFunc(out.CommonPrefixes,
			func(p types.CommonPrefix) bool { return inexact(p.Prefix) })
	}
	return out, nil
}

// inexact reports whether a name in XML may be another's.
func inexact(name *string) bool {
	return strings.ContainsRune(aws.ToString(name), utf8.RuneError)
}

// unreadable reports whether a page has a character that XML lacks.
func unreadable(err error) bool {
	var syntax *xml.SyntaxError
	return errors.As(err, &syntax) && (strings.HasPrefix(syntax.Msg, "illegal character") ||
		strings.HasPrefix(syntax.Msg, "invalid character entity") ||
		strings.HasPrefix(syntax.Msg, "invalid UTF-8"))
}

// decode makes the names of a page what they are, be it UTF-8 or not.
func decode(out *awss3.ListObjectsV2Output) error {
	if out.EncodingType != types.EncodingTypeUrl {
		return nil
	}
	var names []*string
	for _, o := range out.Contents {
		names = append(names, o.Key)
	}
	for _, p := range out.CommonPrefixes {
		names = append(names, p.Prefix)
	}
	for _, name := range names {
		if name == nil {
			continue
		}
		plain, err := url.QueryUnescape(*name)
		if err != nil {
			return fmt.Errorf("a name in a listing: %w", err)
		}
		*name = plain
	}
	return nil
}

// entries returns what a page of the store has beyond o.After, at most o.Limit of
// it.
func entries(out *awss3.ListObjectsV2Output, o backend.ListOptions) (backend.Page, error) {
	page := backend.Page{More: aws.ToBool(out.IsTruncated)}
	if page.More && aws.ToString(out.NextContinuationToken) == "" {
		return backend.Page{}, errNoToken
	}
	last := o.After
	for _, object := range out.Contents {
		name := aws.ToString(object.Key)
		if name <= last {
			return backend.Page{}, errOrder
		}
		v, err := version(object.ETag)
		if err != nil {
			return backend.Page{}, err
		}
		last = name
		page.Objects = append(page.Objects, backend.Info{
			Name: name, Version: v,
			Size: aws.ToInt64(object.Size), Modified: aws.ToTime(object.LastModified),
		})
	}
	last = ""
	for _, p := range out.CommonPrefixes {
		prefix := aws.ToString(p.Prefix)
		if prefix <= last {
			return backend.Page{}, errOrder
		}
		last = prefix
		if prefix > o.After {
			page.Prefixes = append(page.Prefixes, prefix)
		}
	}
	if o.Limit > 0 {
		trim(&page, o.Limit)
	}
	return page, nil
}

// trim leaves the first limit entries in the common order of objects and prefixes.
func trim(page *backend.Page, limit int) {
	i, j := 0, 0
	for i+j < limit && i+j < len(page.Objects)+len(page.Prefixes) {
		if j == len(page.Prefixes) ||
			i < len(page.Objects) && page.Objects[i].Name < page.Prefixes[j] {
			i++
		} else {
			j++
		}
	}
	page.More = page.More || i < len(page.Objects) || j < len(page.Prefixes)
	page.Objects, page.Prefixes = page.Objects[:i], page.Prefixes[:j]
}
