package folder

import (
	"path"
	"strings"
)

// Where an object lies. A name is cut into chunks, each of which is the name of a
// folder, and the last that of the object's file. The first byte of such a name
// tells what it is:
//
//	+users   the folder of all names that go on with "users/"
//	@users   the object "users", a file
//	_...     the folder of all names that go on with these 80 bytes, none of them
//	         a slash, and then with more than a slash within them
//
// so that "a" and "a/b" are different entries. Behind it, a-z 0-9 - _ stand for
// themselves and all other bytes are escaped as %xx. No name depends on case, on
// Unicode, on a dot, on what Windows reserves, and none is longer than 241 bytes.
//
// Why a listing can go folder by folder: put a slash behind the chunks of '+'. Of
// two entries of one folder, then, neither chunk is the beginning of the other,
// except for that of an object, which is less than all that begins with it. Their
// order is thus the order of all that they hold. (A chunk of '+' has its slash
// within the first 80 bytes, or it would lie in a folder of '_'.)
//
// Below 16 slashes there is no '+' any more, and a slash is a byte like others. Else a
// name of slashes alone would lie in 1024 folders, each a step of every call.
const (
	objectKind = '@'
	slashKind  = '+'
	cutKind    = '_'

	slashMax = 16
	chunkMax = 80 // bytes before escaping; 255 bytes is what file systems take
	nameMax  = 1024

	root      = "."
	hexDigits = "0123456789abcdef"
)

// place returns the path of the folder in which the object with the name lies,
// its file there, and how much of the name stands for the folder.
func place(name string) (dir, file string, consumed int) {
	b := make([]byte, 0, len(name)+len(name)/4+8)
	end := 0 // of the folder in b
	slashes := 0
	rest := name
	for {
		i := strings.IndexByte(rest[:min(len(rest), chunkMax)], '/')
		switch {
		case i >= 0 && slashes < slashMax:
			slashes++
			b = appendChunk(b, slashKind, rest[:i])
			rest = rest[i+1:]
		case len(rest) > chunkMax:
			b = appendChunk(b, cutKind, rest[:chunkMax])
			rest = rest[chunkMax:]
		default:
			b = appendChunk(b, objectKind, rest)
			dir, file = root, string(b[end:])
			if end > 0 {
				dir = string(b[:end-1])
			}
			return dir, file, len(name) - len(rest)
		}
		b = append(b, '/')
		end = len(b)
	}
}

func appendChunk(b []byte, kind byte, chunk string) []byte {
	b = append(b, kind)
	for i := range len(chunk) {
		if c := chunk[i]; plain[c] {
			b = append(b, c)
		} else {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return b
}

// plain are the bytes that stand for themselves.
var plain = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789-_") {
		t[c] = true
	}
	return t
}()

// parseEntry is the inverse of appendChunk, for a folder in which all names begin with
// base. It returns what the names of an entry go on with, the slash of '+' included.
// What place never makes is not ok: it belongs to somebody else.
func parseEntry(base, entry string) (kind byte, chunk string, ok bool) {
	if entry == "" {
		return 0, "", false
	}
	kind = entry[0]
	b := make([]byte, 0, len(entry))
	for i := 1; i < len(entry); i++ {
		c := entry[i]
		if c == '%' && i+2 < len(entry) {
			c = byte(strings.IndexByte(hexDigits, entry[i+1])<<4 |
				strings.IndexByte(hexDigits, entry[i+2]))
			i += 2
		}
		b = append(b, c)
	}
	// What was read leniently, the comparison refuses.
	var again [1 + 3*chunkMax]byte
	chunk = string(b)
	if len(b) > chunkMax || string(appendChunk(again[:0], kind, chunk)) != entry {
		return 0, "", false
	}
	if deep := strings.Count(base, "/") >= slashMax; deep {
		ok = kind != slashKind
	} else {
		ok = strings.IndexByte(chunk, '/') < 0
	}
	switch {
	case !ok:
	case kind == objectKind, kind == cutKind && len(b) == chunkMax:
		return kind, chunk, true
	case kind == slashKind && len(b) < chunkMax:
		return kind, chunk + "/", true
	}
	return 0, "", false
}

// join is the path of an entry of a folder.
func join(dir, entry string) string {
	if dir == root {
		return entry
	}
	return dir + "/" + entry
}

// parent is the path of the folder above a folder.
func parent(dir string) string { return path.Dir(dir) }
