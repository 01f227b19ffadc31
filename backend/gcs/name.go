package gcs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/strictkv/strictkv/backend"
)

// nameMax is the longest name of an object, in bytes of UTF-8.
const nameMax = 1024

// acmePrefix begins names that the store keeps for itself.
const acmePrefix = ".well-known/acme-challenge/"

var (
	errNameEmpty   = errors.New("the name is empty")
	errNameLong    = fmt.Errorf("the name is longer than %d bytes", nameMax)
	errNameDots    = errors.New(`the name is "." or ".."`)
	errNameACME    = errors.New("the name begins with " + acmePrefix)
	errNameNewline = errors.New("the name has a carriage return or a line feed")
	errNameUTF8    = errors.New("the name is not valid UTF-8")
	errVersion     = errors.New("the version is not a generation")
)

// checkName returns what the store would refuse about a name.
func checkName(name string) error {
	switch {
	case name == "":
		return errNameEmpty
	case len(name) > nameMax:
		return errNameLong
	case name == "." || name == "..":
		return errNameDots
	case strings.HasPrefix(name, acmePrefix):
		return errNameACME
	case strings.ContainsAny(name, "\r\n"):
		return errNameNewline
	case !utf8.ValidString(name):
		return errNameUTF8
	}
	return nil
}

// parse returns the generation that v stands for, which is positive.
func parse(v backend.Version) (int64, error) {
	generation, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || generation <= 0 || format(generation) != v {
		return 0, errVersion
	}
	return generation, nil
}

func format(generation int64) backend.Version {
	return backend.Version(strconv.FormatInt(generation, 10))
}
