// Package strictkv turns a bucket - Google Cloud Storage, a folder, or memory - into
// a strictly serializable, transactional key-value store. There is no server to run
// and no leader: any number of processes open the same database in the same bucket
// and run transactions over many keys. The bucket's conditional writes are all that
// coordinates them.
//
//	db, err := strictkv.Open(ctx, "example", folder.New("./data"))
//	users := db.Collection([]byte("users"))
//	err = db.Tx(ctx, func(tx *strictkv.Tx) error {
//		v, err := tx.Read(users, []byte("alice"))
//		...
//		return tx.Write(users, []byte("alice"), v)
//	})
//
// # Guarantees
//
// Transactions are strictly serializable: they behave as if they ran one after
// another, each at an instant between its call and its return. A process may be
// killed at any instruction: what was acknowledged stays, what was half done is never
// seen, and no key stays locked. Safety depends neither on clocks nor on leases.
//
// # Limits
//
// Keys and names of collections have 1 to 512 bytes of anything; database, collection
// path and key together at most 990 bytes, encoded. Values have at most 1 MiB, and a
// transaction writes at most 1000 keys.
package strictkv
