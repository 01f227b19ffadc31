package s3

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/strictkv/strictkv/backend/internal/wire"
)

// The longest answers that are read into memory, beside those to a Get, in bytes. A page
// of a listing has up to 1000 names.
const (
	listingMax = 32 << 20
	errorMax   = 64 << 10
)

// asksList is what a store must be able to do for a List.
const asksList = "LIST"

var errRepeated = errors.New("the SDK tried to send a request twice")

// attempt is one request, which the SDK may not repeat: of a write that has landed,
// and whose answer was lost, the second copy would report a failed precondition.
type attempt struct {
	asks   string // what the store must be able to do
	data   []byte // to upload
	knows  bool   // it asks for what is not at a known version
	client awss3.HTTPClient
	tried  bool  // client was asked to send the request
	err    error // client's
	sent   wire.Sendings

	// Of the answer: the store's clock, and its code for an error. refused says that the
	// answer was an error, with or without a code.
	date    time.Time
	code    string
	refused bool
}

// options is given to the SDK's call.
func (a *attempt) options(o *awss3.Options) {
	o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 1
	o.DisableLogOutputChecksumValidationSkipped = true
	a.client, o.HTTPClient = o.HTTPClient, a
}

// Do sends the request for the SDK.
func (a *attempt) Do(r *http.Request) (*http.Response, error) {
	if a.tried {
		return nil, errRepeated
	}
	a.tried = true
	if r.GetBody == nil && r.ContentLength == int64(len(a.data)) {
		// The transport may take another connection if this one ends before any
		// of the request is written to it, as idle ones do. It repeats no PUT.
		r.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(a.data)), nil
		}
	}
	resp, err := a.client.Do(r.WithContext(a.sent.Count(r.Context(), wire.Conditional)))
	if a.err = err; err != nil {
		return resp, err
	}
	a.date = wire.Date(resp.Header)
	if resp.StatusCode >= http.StatusBadRequest {
		a.readCode(resp)
	} else if a.asks == asksList {
		resp.Body = &bounded{io.LimitReader(resp.Body, listingMax), resp.Body}
	}
	return resp, nil
}

// readCode reads the code of an error as the store sends it: where there is none, the SDK
// makes one of the status, as if the store had refused what a gateway did.
func (a *attempt) readCode(resp *http.Response) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorMax))
	var said struct{ Code string }
	_ = xml.Unmarshal(body, &said)
	a.refused, a.code = true, said.Code
	resp.Body = &bounded{bytes.NewReader(body), resp.Body}
}

// bounded is a body of which no more is read than an answer may have.
type bounded struct {
	io.Reader
	io.Closer
}
