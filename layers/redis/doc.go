// Package redis serves a database of StrictKV to clients of Redis, in any language.
//
//	s, err := redis.NewServer(db, redis.Options{})
//	ln, err := net.Listen("tcp", "127.0.0.1:6389")
//	err = s.Serve(ln)
//
// What is acknowledged is durable. Each command is a transaction, and so is all that stands between
// MULTI and EXEC, across any number of servers of the same database: strictly serializable, as all
// of StrictKV's. Commands that a client sends without waiting for replies share transactions.
// WATCH compares versions. docs/redis.md has the commands, and what differs from Redis.
//
// # Outcome unknown
//
// If the answer to the write that decides a transaction is lost, the reply is an error that begins
// with INDOUBT: it has been done as a whole, or not at all. All other errors mean that nothing was
// done.
package redis
