// Package replica keeps a copy of collections on the disk of this machine: reads take
// microseconds and no request, while any process writes transactions to the bucket. Nothing but
// the bucket is shared: no process knows another.
//
// A Replica follows the database (strictkv.DB.Follow) and applies what has changed to a directory
// of its own, in atomic batches, by the embedded engine Pebble. It goes on where it was after a
// restart or a crash: objects that are as they were are not read again. A copy that is damaged,
// or that of something else, is thrown away and built anew.
//
// What a Replica shows is old, by Lag at most. What it promises beyond that is its Mode: PerKey,
// where each key is as fresh as it can be, or Instant, where all of it is the state of one
// instant. It is for reading: a transaction reads by strictkv.Tx, which is never old.
//
// A directory belongs to one Replica at a time, and further processes of the machine have
// directories of their own.
package replica
