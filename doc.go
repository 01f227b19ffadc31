// Package strictkv turns a bucket into a strictly serializable, transactional key-value
// store. The bucket may be of Google Cloud Storage, Azure Blob Storage, Amazon S3 and stores
// that speak its protocol, or a folder of a local disk, or memory: packages backend/gcs,
// backend/azure, backend/s3, backend/folder and backend/memory. There is no server to run and
// no leader: any number of processes open the same database in the same bucket and run
// transactions over many keys. The bucket's conditional writes are all that coordinates them.
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
// seen, and no key stays locked. Safety depends neither on the clocks of processes nor on
// leases; DB.Sweep alone goes by a clock, the store's.
//
// # Conflicts
//
// On a conflict the function is run again, and there is no end to that but the context's: give
// it a deadline where somebody waits, or limit the runs by MaxAttempts. Tx.Attempt and
// Tx.RetryCause tell the function where it is, Stats what all have come to.
//
// # Words
//
// A transaction of several keys first writes an intent into each: a value that counts only
// once the transaction has committed, and that names the transaction. Whoever meets an intent
// finds out what has become of that, and puts the value or what was before in its place; so
// no key stays locked by who has crashed. Patience (WithPatience) is how long one waits for an
// intent whose transaction is undecided before its client counts as dead, and the transaction
// is killed. A transaction is in doubt (ErrInDoubt) if the answer to the write that decides it
// was lost, and could not be asked for before the context ended: it has committed as a whole
// or not at all, but the caller can't know which without reading.
//
// # Limits
//
// Keys and names of collections have 1 to 512 bytes of anything; database, collection
// path and key together at most 990 bytes, encoded. Values have at most 64 MiB; above 1 MiB
// (WithInlineMax) they are objects of their own. A transaction writes or locks at most 1000
// keys, and scans at most 1 048 576.
package strictkv
