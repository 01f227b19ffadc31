package s3

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

// What no database can be in, as far as the bucket's name or the endpoint tell.
var (
	errBucketEmpty = errors.New("the bucket's name is empty")
	errBucketARN   = errors.New("the bucket's ARN is malformed")
	errDirectory   = errors.New("a directory bucket (S3 Express One Zone) does not list in order")
	errTable       = errors.New("a table bucket holds tables")
	errMultiRegion = errors.New("the buckets of a multi-region access point lag behind each other")
	errLambda      = errors.New("an Object Lambda access point answers what a function makes")
	errTigris      = errors.New("a global bucket of Tigris, which is the default there, " +
		"reads old states in other regions: see package s3, StronglyConsistent")
)

// amazon is the host of one of Amazon's own endpoints for S3, with or without a bucket.
// Transfer acceleration is none: it ends TLS elsewhere.
var amazon = regexp.MustCompile(`^(?:[^/]+\.)?s3(?:-fips|-accesspoint|-accesspoint-fips)?` +
	`(?:\.dualstack)?(?:\.[a-z0-9-]+)?(?:\.vpce)?\.amazonaws\.(?:com|com\.cn|eu)$`)

// tigris is the host of an endpoint of Tigris.
var tigris = regexp.MustCompile(
	`(?:^|\.)(?:storage\.tigris\.dev|storage\.dev|tigrisfiles\.io|tigrisbucket\.io)$`)

// place is what a client and the name of a bucket tell about where it is.
type place struct {
	own bool  // the endpoint is Amazon's, by TLS
	err error // why no database can be there
}

// locate finds out where a client sends its requests.
func locate(o awss3.Options, bucket string) place {
	if err := unfit(bucket); err != nil {
		return place{err: err}
	}
	u := endpoint(o, bucket)
	if u == nil {
		return place{}
	}
	host := strings.ToLower(u.Hostname())
	switch {
	case tigris.MatchString(host):
		return place{err: errTigris}
	case strings.HasSuffix(host, ".accesspoint.s3-global.amazonaws.com"):
		return place{err: errMultiRegion}
	case strings.Contains(host, ".s3-object-lambda"):
		return place{err: errLambda}
	}
	return place{own: u.Scheme == "https" && amazon.MatchString(host)}
}

// unfit returns why there can be no database in a bucket of that name, or of that ARN.
func unfit(bucket string) error {
	switch {
	case bucket == "":
		return errBucketEmpty
	case strings.HasSuffix(bucket, "--x-s3"), strings.HasSuffix(bucket, "--xa-s3"):
		return errDirectory
	case strings.HasSuffix(bucket, "--ol-s3"):
		return errLambda
	case strings.HasSuffix(bucket, "--table-s3"):
		return errTable
	case !strings.HasPrefix(bucket, "arn:"):
		return nil
	}
	a, err := arn.Parse(bucket)
	switch {
	case err != nil:
		return errBucketARN
	case a.Service == "s3-object-lambda":
		return errLambda
	case a.Service == "s3express":
		return errDirectory
	case a.Region == "", strings.HasSuffix(a.Resource, ".mrap"):
		return errMultiRegion
	}
	return nil
}

// endpoint is where the requests for a bucket go, nil if that is not known.
func endpoint(o awss3.Options, bucket string) *url.URL {
	// A resolver of the old kind, which some still set, tells by other rules.
	if o.EndpointResolver != nil || o.EndpointResolverV2 == nil { //nolint:staticcheck // theirs
		return nil
	}
	const fips, dual = aws.FIPSEndpointStateEnabled, aws.DualStackEndpointStateEnabled
	at, err := o.EndpointResolverV2.ResolveEndpoint(context.Background(), awss3.EndpointParameters{
		Bucket: &bucket, Region: &o.Region, Endpoint: o.BaseEndpoint,
		UseFIPS:        aws.Bool(o.EndpointOptions.UseFIPSEndpoint == fips),
		UseDualStack:   aws.Bool(o.EndpointOptions.UseDualStackEndpoint == dual),
		ForcePathStyle: &o.UsePathStyle,
		Accelerate:     &o.UseAccelerate,
		UseArnRegion:   &o.UseARNRegion,
	})
	if err != nil {
		return nil
	}
	if o.EndpointOptions.DisableHTTPS {
		at.URI.Scheme = "http"
	}
	return &at.URI
}
