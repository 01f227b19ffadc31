package azure

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/strictkv/strictkv/backend"
)

// nameMax is the longest name of an object, in bytes of UTF-8. Azure counts
// characters.
const nameMax = 1024

var (
	errNameEmpty   = errors.New("the name is empty")
	errNameLong    = fmt.Errorf("the name is longer than %d bytes", nameMax)
	errNameDots    = errors.New(`the name is "." or ".."`)
	errNameControl = errors.New("the name has a character that a listing cannot show")
	errNameUTF8    = errors.New("the name is not valid UTF-8")
	errVersion     = errors.New("the version is not an ETag")
)

// check returns why no object of that name can be there.
func (b *Backend) check(name string) error {
	if b.err != nil {
		return b.err
	}
	return checkName(name)
}

// checkName returns what the store would refuse about a name, or show otherwise
// in a listing.
func checkName(name string) error {
	switch {
	case name == "":
		return errNameEmpty
	case len(name) > nameMax:
		return errNameLong
	case name == "." || name == "..":
		return errNameDots
	case strings.ContainsFunc(name, unlisted):
		return errNameControl
	case !utf8.ValidString(name):
		return errNameUTF8
	}
	return nil
}

// unlisted tells of characters that XML lacks.
func unlisted(r rune) bool { return r < ' ' || r == 0x7F || r == '\uFFFE' || r == '\uFFFF' }

// parse returns the ETag that v stands for.
func parse(v backend.Version) (azcore.ETag, error) {
	foreign := func(r rune) bool { return r <= ' ' || r >= 0x7F || r == '"' }
	if v == "" || v == "*" || strings.ContainsFunc(string(v), foreign) {
		return "", errVersion
	}
	return azcore.ETag(`"` + v + `"`), nil
}

// format returns the version that an ETag stands for, empty if it is none. Headers
// have it in quotes, listings without.
func format(tag *azcore.ETag) backend.Version {
	if tag == nil {
		return ""
	}
	s := string(*tag)
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	v := backend.Version(s)
	if _, err := parse(v); err != nil {
		return ""
	}
	return v
}
