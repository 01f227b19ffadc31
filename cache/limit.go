package cache

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

const (
	// DefaultSizeMax is the size of a cache for which none was given, in bytes, where memory
	// is plenty.
	DefaultSizeMax = 256 << 20
	// limitPart is the part of the memory that the process may use that such a cache takes:
	// the heap may grow to twice what lives in it before it is collected.
	limitPart = 4
)

// DefaultSize is the size of the caches of all handles for which none was given, together, in
// bytes: a quarter of the memory that the process may use, at most DefaultSizeMax. The limit is
// that of the Go runtime (GOMEMLIMIT, debug.SetMemoryLimit), or that of the container if it is
// lower: on Linux, of the control group.
func DefaultSize() int64 {
	return min(DefaultSizeMax, min(debug.SetMemoryLimit(-1), containerLimit())/limitPart)
}

// containerLimit asks once: containers are not resized.
var containerLimit = sync.OnceValue(func() int64 {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return math.MaxInt64 // not Linux, or no control groups
	}
	return groupLimit("/sys/fs/cgroup", string(groups))
})

// groupLimit is the lowest memory limit, in bytes, of the control groups that a process is in:
// lines of "id:controllers:path", of version 2 without controllers. The limit of a group is
// also that of the groups within. Seen from within a container the path may not be there, and
// the mount point is the container's group.
func groupLimit(mount, groups string) int64 {
	limit := int64(math.MaxInt64)
	for line := range strings.Lines(groups) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		top, file := mount, "memory.max"
		if controllers != "" {
			top, file = path.Join(mount, "memory"), "memory.limit_in_bytes"
			if controllers != "memory" {
				continue
			}
		}
		for dir := path.Join("/", group); ; dir = path.Dir(dir) {
			limit = min(limit, readLimit(path.Join(top, dir, file)))
			if dir == "/" {
				break
			}
		}
	}
	return limit
}

// readLimit is the number in a file. No file, or a word such as "max", is no limit.
func readLimit(name string) int64 {
	text, err := os.ReadFile(name)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}
