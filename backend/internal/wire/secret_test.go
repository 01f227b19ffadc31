package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/internal/wire"
)

// TestText: each word "secret" is one, and all else that matters stays.
func TestText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"no such object: a/b", "no such object: a/b"},
		{`Get "https://host/path": EOF`, `Get "https://host/path": EOF`},
		{`Get "https://host:80/path?sig=secret&x=secret": EOF`, `Get "https://host:80/path?...": EOF`},
		{`Get "http://secret:secret@host/p": EOF`, `Get "http://host/p": EOF`},
		{`Get "http://secret@host/p": EOF`, `Get "http://host/p": EOF`},
		{`parse "http://a:se cret@host/": bad`, `parse "http://host/": bad`},
		{`parse "http://a:se\"cret@host/": bad`, `parse "http://host/": bad`},
		{`parse "s3://bucket:secret/x": bad`, `parse "s3://bucket:.../x": bad`},
		{`parse "http://a:1?secret@host/": bad`, `parse "http://...": bad`},
		{`parse "http://a:b/secret@host/": bad`, `parse "http://host/": bad`},
		{"endpoint `http://a:secret @host` is bad", "endpoint `http://host` is bad"},
		{"at http://h/p?q=secret, and http://[::1]:80/#secret", "at http://h/p?... and http://[::1]:80/#..."},
		{`invalid proxy address "a:secret@host:80"`, `invalid proxy address "...@host:80"`},
		{"proxy a:secret@host:80", "proxy ...@host:80"},
		{"AccountName=a;AccountKey=secret==;x=y", "AccountName=a;AccountKey=...;x=y"},
		{"?se=1&sig=secret&sp=r", "?se=1&sig=...&sp=r"},
		{"X-Amz-Security-Token=secret&X-Amz-Date=1", "X-Amz-Security-Token=...&X-Amz-Date=1"},
		{"Credential=secret, Signature=secret", "Credential=..., Signature=..."},
		{`{"access_token": "sec\"secret", "scope": "x"}`, `{"access_token":"...", "scope": "x"}`},
		{"got Bearer secretsecret.x", "got Bearer ..."},
		{"Authorization: SharedKey a:secret\nDate: 1", "Authorization: ...\nDate: 1"},
		{"x-amz-security-token: secret", "x-amz-security-token: ..."},
		{"dial tcp [::1]:80: connect: refused", "dial tcp [::1]:80: connect: refused"},
		{`read tcp 127.0.0.1:1->127.0.0.1:2: EOF`, `read tcp 127.0.0.1:1->127.0.0.1:2: EOF`},
	} {
		assert.Equal(t, c.want, wire.Text(c.text), c.text)
	}
}

func FuzzText(f *testing.F) {
	f.Add(`Get "http://host/a?b": x`, "p")
	f.Add("a://b", `\`)
	f.Fuzz(func(t *testing.T, text, password string) {
		wire.Text(text) // It ends, and does not panic.
		quoted := fmt.Sprintf("%q", "https://u:1"+password+"MARK@host/path")
		assert.NotContains(t, wire.Text("parse "+quoted), "MARK")
	})
}

// TestError: what it says, and what it matches.
func TestError(t *testing.T) {
	inner := &url.Error{
		Op: "Get", URL: "https://host/x?sig=secret",
		Err: &net.OpError{Op: "dial", Err: errors.New("at http://u:secret@proxy")},
	}
	e := &wire.Error{
		Store: "azure", Bucket: "b", Call: "get", Name: "x", Kind: backend.ErrUnavailable,
		Cause: fmt.Errorf("%w: %w", context.Canceled, inner), Pause: 7,
	}
	err := fmt.Errorf("read: %w", e)
	assert.ErrorIs(t, err, backend.ErrUnavailable)
	assert.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, backend.ErrNotFound)
	assert.EqualValues(t, 7, backend.PauseAsked(err))
	assert.EqualError(t, e, `azure get "x": store unavailable: context canceled: `+
		`Get "https://host/x?...": dial: at http://proxy`)

	var u *url.Error
	require.ErrorAs(t, err, &u)
	var n net.Error
	require.ErrorAs(t, err, &n)
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	for _, err := range []error{err, u, u.Err, n} {
		for ; err != nil; err = errors.Unwrap(err) {
			for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
				assert.NotContains(t, fmt.Sprintf(form, err), "secret", form)
			}
		}
	}
	e = &wire.Error{
		Store: "s3", Bucket: "b", Call: "get", Name: "x", Kind: backend.ErrBucketNotFound,
	}
	assert.EqualError(t, e, `s3 get "x": bucket not found: "b"`)
	assert.NoError(t, errors.Unwrap(e))
	assert.NotContains(t, fmt.Sprintf("%#v", e), "0x")
}
