package redis

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
)

// ReadUsers reads users for Options, each a line "name:password". Empty lines, and those that begin
// with #, count for nothing. A line of another form, or one of more than 64 KiB, is ErrInvalid,
// which shows its number alone.
func ReadUsers(r io.Reader) (map[string]string, error) {
	users := map[string]string{}
	lines := bufio.NewScanner(r)
	n := 1
	for ; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		name, password, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(name) == 0 || len(password) == 0 {
			return nil, fmt.Errorf("redis: users: line %d: want name:password: %w", n, ErrInvalid)
		}
		users[string(name)] = string(password)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("redis: users: line %d: %w: %w", n, ErrInvalid, err)
	}
	return users, nil
}

// users check passwords in a time that tells nothing of them.
type users map[string][sha256.Size]byte

func newUsers(passwords map[string]string) users {
	u := users{}
	for name, password := range passwords {
		u[name] = sha256.Sum256([]byte(password))
	}
	return u
}

// admit reports whether the user has the password.
func (u users) admit(name, password string) bool {
	want, known := u[name]
	got := sha256.Sum256([]byte(password))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && known
}
