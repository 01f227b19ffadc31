package s3

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/strictkv/strictkv/backend"
)

// nameMax is the longest name of an object, in bytes of UTF-8.
const nameMax = 1024

var (
	errNameEmpty = errors.New("the name is empty")
	errNameLong  = fmt.Errorf("the name is longer than %d bytes", nameMax)
	errNameUTF8  = errors.New("the name is not valid UTF-8")
	errNameXML   = errors.New("the name has a character that no listing can carry")
	errVersion   = errors.New("the version is not an ETag")
	errCondition = errors.New("the condition is empty")
	errNoETag    = errors.New("the answer has no strong ETag")
)

// check returns what is wrong with a call, before a request is made of it.
func (b *Backend) check(ctx context.Context, call, name string, v backend.Version) error {
	err := b.err
	if err == nil {
		err = checkName(name)
	}
	if err == nil && v != "" && !opaque(string(v)) {
		err = errVersion
	}
	if err != nil {
		return b.fail(call, name, backend.ErrInvalid, err)
	}
	if err := ctx.Err(); err != nil {
		return b.fail(call, name, backend.ErrUnavailable, err)
	}
	return nil
}

// checkName returns what the store would refuse about a name.
func checkName(name string) error {
	switch {
	case name == "":
		return errNameEmpty
	case len(name) > nameMax:
		return errNameLong
	case !utf8.ValidString(name):
		return errNameUTF8
	case strings.ContainsFunc(name, unlisted):
		return errNameXML
	}
	return nil
}

// unlisted reports whether a listing, which is XML, cannot carry the character.
func unlisted(r rune) bool { return r < ' ' || r == 0xFFFE || r == 0xFFFF }

// version returns the version that an ETag stands for. Some stores leave out the
// quotes, in listings or everywhere. A weak ETag names no single state.
func version(etag *string) (backend.Version, error) {
	s := aws.ToString(etag)
	if n := len(s); n > 1 && s[0] == '"' && s[n-1] == '"' {
		s = s[1 : n-1]
	}
	if !opaque(s) {
		return "", errNoETag
	}
	return backend.Version(s), nil
}

// etag returns the ETag that version made v of.
func etag(v backend.Version) *string { return aws.String(`"` + string(v) + `"`) }

// opaque reports whether s can be in the quotes of an ETag.
func opaque(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == '"' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}
