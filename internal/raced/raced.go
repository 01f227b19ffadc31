// Package raced lets tests do less under the race detector, which takes memory and time of its own.
package raced

import (
	"runtime/debug"
	"slices"
)

// Enabled reports whether the program was built with the race detector.
func Enabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
