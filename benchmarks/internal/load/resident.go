package load

import (
	"os"
	"strconv"
	"strings"
)

// Resident is the memory that the process has resident, in MiB: all of it, the simulated
// store and the handles of all clients included. It is 0 where the system has no /proc.
func Resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return float64(pages*int64(os.Getpagesize())) / (1 << 20)
}
