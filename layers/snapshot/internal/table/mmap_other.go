//go:build !unix || aix || solaris || illumos

package table

import "os"

// mapFile is not known here: blocks are read.
func mapFile(*os.File, int64) (*mappedSource, bool) { return nil, false }
