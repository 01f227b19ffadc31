// Package snapshot keeps immutable copies of collections: sorted files, named by a hash of their
// content, in a directory or a bucket. An analysis reads one, and touches no live key; a backup is
// one.
//
//	s := snapshot.Dir("./snapshots")
//	name, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
//	snap, err := snapshot.Open(ctx, s, name)
//	defer snap.Close()
//	value, err := snap.Get(ctx, key)
//
// Equal content has an equal name, whoever has saved it, and when. Diff saves what has changed since
// as a layer, which refers to its base by name; it reads only that. Layers stack; Compact makes one
// file of them, the one that Save would have made. GC removes what is not wanted any more.
//
// A file appears under its name at once and as a whole. A process that dies in any call leaves what
// the next GC removes, nothing else.
//
// docs/snapshot.md has the format of the files, and figures.
package snapshot
