// Package feed passes on hints: the names of cells that have been written, or may have been. Who
// follows a database looks at those, instead of at everything.
//
// A Local hands them to followers of the same handle. Hints promise nothing: one may be late, lost,
// or of a transaction that has not committed. A follower looks at the cell, and now and then at all
// cells.
package feed
