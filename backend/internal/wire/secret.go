package wire

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// gone stands where a credential was.
const gone = "..."

var (
	// named are values that follow their names, as in a query or a connection string.
	named = regexp.MustCompile(`(?i)\b([a-z_-]*(?:key|token|secret|password|pwd|signature|` +
		`credential|assertion|authorization)|sig)=(?:"[^"]*"|[^\s&;,"'<>]+)`)
	// members are values in JSON.
	members = regexp.MustCompile(`(?i)"([a-z_-]*(?:key|token|secret|password|assertion))"` +
		`\s*:\s*"(?:\\.|[^"\\])*"`)
	// headers are those of authorization.
	headers = regexp.MustCompile(`(?i)\b(bearer|basic|sharedkey)\s+[^\s"']{8,}`)
	// fields are lines of a request's header.
	fields = regexp.MustCompile(`(?i)\b(authorization|x-amz-security-token|x-goog-api-key)` +
		`\s*:\s*[^\r\n"'<>]+`)
	// users are a name and a password before a host, where no scheme is.
	users = regexp.MustCompile(`"(?:\\.|[^"\\@])*:(?:\\.|[^"\\])*@|[^\s"'/]+:[^\s"']*@`)
)

// Text returns s without credentials: of a URL in it stays what is before a query,
// without a user.
func Text(s string) string {
	s = urls(s)
	s = named.ReplaceAllString(s, "$1="+gone)
	s = members.ReplaceAllString(s, `"$1":"`+gone+`"`)
	s = fields.ReplaceAllString(s, "$1: "+gone)
	s = headers.ReplaceAllString(s, "$1 "+gone)
	return users.ReplaceAllStringFunc(s, func(user string) string {
		if user[0] == '"' {
			return `"` + gone + "@"
		}
		return gone + "@"
	})
}

// urls takes the credentials out of all URLs in s.
func urls(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "://")
		if i < 0 {
			return b.String() + s
		}
		i += len("://")
		end := i + end(s[i:], quote(s[:i-len("://")]))
		b.WriteString(s[:i] + location(s[i:end]))
		s = s[end:]
	}
}

// quote returns the quotation mark before the scheme that s ends with, or 0.
func quote(s string) byte {
	s = strings.TrimRightFunc(s, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("+-.", r)
	})
	if s != "" && strings.IndexByte("\"'`", s[len(s)-1]) >= 0 {
		return s[len(s)-1]
	}
	return 0
}

// end is where a URL ends that a text goes on with: one in quotes may have anything in it.
func end(s string, quote byte) int {
	for i := 0; i < len(s); i++ {
		switch {
		case quote != 0 && s[i] == '\\':
			i++
		case quote != 0 && s[i] == quote:
			return i
		case quote == 0 && strings.IndexByte(" \t\r\n\"'`<>", s[i]) >= 0:
			return i
		}
	}
	return len(s)
}

// location is the part of a URL behind its scheme that is no secret. It need not be a
// well formed one: whatever comes before the last '@', or behind a colon that no port
// follows, may be a password.
func location(s string) string {
	rest := ""
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		if strings.Contains(s[i:], "@") {
			return gone
		}
		s, rest = s[:i], s[i:i+1]+gone
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	host, path, _ := strings.Cut(s, "/")
	i := strings.LastIndexByte(host, ':')
	if i >= 0 && strings.Trim(host[i+1:], "0123456789") != "" && !strings.HasSuffix(host, "]") {
		host = host[:i] + ":" + gone
	}
	if len(host) < len(s) && strings.Contains(s, "/") {
		host += "/" + path
	}
	return host + rest
}

// hidden is an error whose text may hold credentials, for those who ask what it is.
type hidden struct{ err error }

// Hide returns an error that matches what err does, and says it without credentials.
func Hide(err error) error {
	if err == nil {
		return nil
	}
	return &hidden{err}
}

func (h *hidden) Error() string { return Text(h.err.Error()) }

func (h *hidden) GoString() string { return fmt.Sprintf("%q", h.Error()) }

func (h *hidden) Is(target error) bool { return errors.Is(h.err, target) }

// As finds what err holds. The URL of a request goes without credentials, too.
func (h *hidden) As(target any) bool {
	if !errors.As(h.err, target) {
		return false
	}
	switch t := target.(type) {
	case **url.Error:
		*t = stripped(*t)
	case *net.Error:
		if u, ok := (*t).(*url.Error); ok {
			*t = stripped(u)
		}
	}
	return true
}

func stripped(u *url.Error) *url.Error {
	return &url.Error{Op: u.Op, URL: Text(u.URL), Err: Hide(u.Err)}
}
