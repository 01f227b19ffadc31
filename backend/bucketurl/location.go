package bucketurl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/internal/wire"
)

// scheme is a kind of store.
type scheme struct {
	name       string
	form       string // of its URLs
	parameters []string
	open       func(context.Context, location) (*Bucket, error)
	// directory says that URLs name directories, and have no prefixes.
	directory bool
}

// kinds are the schemes that a URL may have.
type kinds []scheme

// sendsOnce is a parameter of all clouds.
const sendsOnce = "sends_once"

var schemes = kinds{
	{"gs", "gs://bucket/prefix", []string{"kms_key", sendsOnce}, openGCS, false},
	{"azblob", "azblob://container/prefix", []string{"encryption_scope", sendsOnce}, openAzure, false},
	{"s3", "s3://bucket/prefix", []string{
		"region", "endpoint", "path_style", "conditional_delete", "kms_key", "consistent",
		sendsOnce,
	}, openS3, false},
	{"file", "file:///directory", []string{"nosync"}, openFolder, true},
	{"mem", "mem://name", nil, openMemory, false},
}

// known are the schemes of this package and of others.
func known(more []Scheme) kinds {
	all := slices.Clip(schemes)
	for _, m := range more {
		all = append(all, scheme{
			name: m.Name, form: m.Name + ":///directory", parameters: m.Parameters,
			open: func(ctx context.Context, l location) (*Bucket, error) {
				b, close, err := m.Open(ctx, l.bucket, l.parameters)
				if err != nil {
					return nil, err
				}
				return &Bucket{Backend: b, close: close}, nil
			},
			directory: true,
		})
	}
	return all
}

// Parameters are those of a URL, by name.
type Parameters map[string]string

// location is what a URL says.
type location struct {
	scheme scheme
	// bucket is the bucket's name; for a folder, its path.
	bucket string
	// prefix ends with "/", or is empty.
	prefix     string
	parameters Parameters
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", backend.ErrInvalid, fmt.Sprintf(format, args...))
}

// parse takes a URL, or a plain path, apart.
func (k kinds) parse(raw string) (location, error) {
	if isPath(raw) {
		if strings.Contains(raw, "?") {
			path, _, _ := strings.Cut(raw, "?")
			return location{}, invalid("a plain path has no parameters: want %s?...", File(path))
		}
		return location{scheme: k.named("file"), bucket: raw}, nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return location{}, invalid("%s", fault(err))
	}
	l := location{scheme: k.named(u.Scheme)}
	switch s := l.scheme; {
	case s.name == "" && u.Opaque != "": // What looks like a scheme may be a user.
		return l, invalid("want %s, or a path that begins with ./", k.forms())
	case s.name == "":
		return l, invalid("scheme %q: want %s, or a path that begins with ./", u.Scheme, k.forms())
	case u.User != nil || u.Host != u.Hostname() || u.Fragment != "" || u.Opaque != "":
		return l, invalid("no user, port or fragment belongs here: want %s", s.form)
	}
	if l.scheme.directory {
		l.bucket, err = folderPath(u)
	} else if l.bucket = u.Host; l.bucket == "" {
		err = invalid("it names no bucket: want %s", l.scheme.form)
	} else {
		l.prefix, err = prefix(u.Path)
	}
	if err != nil {
		return l, err
	}
	l.parameters, err = l.scheme.parse(u.RawQuery)
	return l, err
}

// redacted quotes a URL without what may be a secret: a user, and the parameters, among
// which may be an endpoint with one.
func redacted(raw string) string {
	if path, _, ok := strings.Cut(raw, "?"); ok {
		raw = path + "?..."
	}
	return wire.Text(strconv.Quote(raw))
}

// fault is what is wrong with a URL, without what it has there, as that may be a part of a
// password.
func fault(err error) string {
	var (
		escape url.EscapeError
		host   url.InvalidHostError
	)
	switch {
	case errors.As(err, &escape):
		return "invalid URL escape"
	case errors.As(err, &host):
		return "invalid character in host name"
	}
	return "malformed URL"
}

// shown are the names of parameters that may be told.
var shown = regexp.MustCompile(`^[a-z_]{1,20}$`)

// quoted quotes the name of a parameter, unless it looks like something else.
func quoted(name string) string {
	if !shown.MatchString(name) {
		return "..."
	}
	return strconv.Quote(name)
}

func (k kinds) named(name string) scheme {
	i := slices.IndexFunc(k, func(s scheme) bool { return s.name == name })
	if i < 0 {
		return scheme{}
	}
	return k[i]
}

// forms are the forms of all URLs.
func (k kinds) forms() string {
	var all []string
	for _, s := range k {
		all = append(all, s.form)
	}
	return strings.Join(all, ", ")
}

// isPath reports whether raw can only be a path.
func isPath(raw string) bool {
	slashed := filepath.ToSlash(raw) + "/"
	return filepath.IsAbs(raw) ||
		strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../")
}

// prefix returns the prefix of names that a URL's path stands for.
func prefix(path string) (string, error) {
	if path == "" || path == "/" {
		return "", nil
	}
	path = strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return "", invalid(`a part of a prefix is neither empty nor "." nor ".."`)
		}
	}
	return path + "/", nil
}

// folderPath returns the path of file:///path or of file://./path.
func folderPath(u *url.URL) (string, error) {
	path := u.Host + u.Path
	if u.Host != "" && u.Host != "." && u.Host != ".." || path == "" {
		return "", invalid("want %[1]s:///directory or %[1]s://./directory", u.Scheme)
	}
	// Of file:///C:/path, Windows wants the part behind the slash.
	local := filepath.FromSlash(strings.TrimPrefix(path, "/"))
	if filepath.VolumeName(local) != "" {
		return local, nil
	}
	return filepath.FromSlash(path), nil
}

// File returns the URL of the folder at a path, which may be relative.
func File(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/path on Windows
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// parse checks the parameters of a URL.
func (s scheme) parse(query string) (Parameters, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, invalid("parameters: %s", fault(err))
	}
	parameters := make(Parameters)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case len(s.parameters) == 0:
			return nil, invalid("parameter %s: %s has none", quoted(name), s.name)
		case !slices.Contains(s.parameters, name):
			return nil, invalid("parameter %s: %s has only %s", quoted(name), s.name,
				strings.Join(s.parameters, ", "))
		case len(values[name]) > 1 || values[name][0] == "":
			return nil, invalid("parameter %q: want one value", name)
		}
		parameters[name] = values[name][0]
	}
	return parameters, nil
}

// Flag returns the value of a parameter that is true or false, or the one otherwise if it is not
// there. Any other value is a backend.ErrInvalid, which does not show it.
func (p Parameters) Flag(name string, otherwise bool) (bool, error) {
	s, ok := p[name]
	if !ok {
		return otherwise, nil
	}
	value, err := strconv.ParseBool(s)
	if err != nil {
		return false, invalid("parameter %q: want true or false", name)
	}
	return value, nil
}

// Int returns the value of a parameter that is a whole number between two others, or the one
// otherwise if it is not there. Any other value is a backend.ErrInvalid, which does not show it.
func (p Parameters) Int(name string, least, most, otherwise int) (int, error) {
	s, ok := p[name]
	if !ok {
		return otherwise, nil
	}
	value, err := strconv.Atoi(s)
	if err != nil || value < least || value > most {
		return 0, invalid("parameter %q: want a number from %d to %d", name, least, most)
	}
	return value, nil
}
