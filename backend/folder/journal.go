package folder

import (
	"crypto/rand"
	"strings"
)

// The file of a lock is a journal, too. Who has the lock and is about to put a file or a
// folder into force notes its path there. So a listing need not read all of a large folder
// for each page, nor lock it while it reads:
//
//   - What a page has read, together with what was noted since, holds all that is there
//     (and maybe what is not any more: objects are opened before they are listed).
//   - A file system may skip an entry that is being replaced while the folder is read.
//     What was noted meanwhile makes up for that.
//
// A journal begins with a line of 26 letters and digits, by which it is told from the one
// before: one that grows too long is begun anew. Each path then has a line of its own, with
// an empty one before it, which ends the line of a writer that died. Nobody needs it after
// a power cut; so it is never synced.
const (
	journalMax   = 256 << 10 // bytes
	generationOf = 26        // bytes of the first line
)

// mark is a place in a journal; the zero mark is none.
type mark struct {
	generation string
	at         int64 // bytes
}

// note notes that an entry of a folder is about to be put into force. If the disk takes no
// more, the journal is emptied, and no mark in it is good any more.
func (h *held) note(path string) error {
	line := "\n" + path + "\n"
	if h.size == 0 || h.size+int64(len(line)) > journalMax {
		return h.begin(line)
	}
	if h.write(line) == nil {
		return nil
	}
	return h.begin("")
}

// begin begins the journal anew, if the disk takes it; what matters is that the old one
// has ended.
func (h *held) begin(line string) error {
	h.size = 0
	if err := h.file.Truncate(0); err != nil {
		return err
	}
	if h.write(rand.Text()+"\n"+line) == nil {
		return nil
	}
	h.size = 0
	return h.file.Truncate(0)
}

// write appends to the journal.
func (h *held) write(s string) error {
	if err := h.disk.try("note", h.path); err != nil {
		return err
	}
	n, err := h.file.WriteAt([]byte(s), h.size)
	h.size += int64(n)
	return err
}

// mark returns the end of the journal, or none.
func (h *held) mark() mark {
	for range 2 {
		var first [generationOf + 1]byte
		n, _ := h.file.ReadAt(first[:], 0)
		if n == len(first) && first[generationOf] == '\n' {
			return mark{string(first[:generationOf]), h.size}
		}
		if h.begin("") != nil {
			break
		}
	}
	return mark{}
}

// since returns the entries of the folder that were noted after the mark, and the mark to
// go on from. False: they are not known.
func (h *held) since(dir string, m mark) ([]string, mark, bool) {
	end := h.mark()
	if m.generation == "" || m.generation != end.generation || m.at > end.at {
		return nil, mark{}, false
	}
	text := make([]byte, end.at-m.at)
	if _, err := h.file.ReadAt(text, m.at); err != nil && len(text) > 0 {
		return nil, mark{}, false
	}
	var files []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if line != "" && parent(line) == dir {
			files = append(files, line[strings.LastIndexByte(line, '/')+1:])
		}
	}
	return files, end, true
}
