// Package typed keeps Go values in collections: keys and values have types, codecs turn them
// into bytes, and indexes find values by what is in them.
//
//	users := typed.New(db.Collection([]byte("users")), typed.String[string](), typed.JSON[User]())
//	byMail := typed.NewUnique(users, "mail", typed.String[string](),
//		func(u User) []string { return []string{u.Mail} })
//
//	err := db.Tx(ctx, func(tx *strictkv.Tx) error {
//		name, user, ok, err := byMail.Get(tx, "alice@example.com")
//		...
//		return users.Set(tx, name, user)
//	})
//
// The calls of a Collection are part of a transaction, and cost what those of a strictkv.Tx do;
// Collection.Auto has the same ones as transactions of their own.
//
// # Codecs
//
// A codec of keys keeps their order: scans and ranges go by that of the Go values. There are
// Bytes, String, Int, Uint, Time, UUID, PairOf, Tuple, and As for types of your own. Values can
// have any of these, JSON, or those of the packages below this one. The bytes of a codec never
// change. Packages of codecs need to know nothing of this one: Codec is an interface.
//
// Keys of several parts, and the entries of indexes, are tuples as package tuple packs them: so
// this layer stands on that one.
//
// # Indexes
//
// An index is a collection nested in the indexed one, with an entry for each index key of each
// value. Each call that changes a value changes the entries in the same transaction, so they
// are always in step, as long as every program that writes the collection declares the same
// indexes. Where one did not, or an index is new, Rebuild mends it beside running writers;
// Verify reports whether that is needed.
//
// # Errors
//
// Those of the collection's calls, and: ErrDecode, ErrEncode, ErrNotUnique, ErrIndex. None of
// them is worth a retry.
package typed
