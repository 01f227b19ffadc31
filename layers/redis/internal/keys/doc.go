// Package keys is what commands see of a database of Redis: keys with typed values, within a
// transaction.
//
// # Where things are
//
// Database n is the collection redis/n, and a key of it is a key of that, as Name tells. Its value
// is a header, as Entry tells, and behind that the body.
//
// A string is its body. Each other type has two forms. While it is small, the body is all of it.
// A large one has its elements in a collection of their own, redis/large/ID, with a random ID that
// is never used again; its body begins with that ID. An element of it costs one small write.
// Whoever reads or writes an element has read the header in the same transaction, so that
// whatever becomes of the key meanwhile conflicts.
//
// # What is left behind
//
// Who deletes or replaces a large value notes its ID in redis/left, in the same transaction, and a
// collector removes the elements later. Of a large value that has expired nobody notes that; so
// each collection of elements has its owner's name in it, by which a collector finds those that
// nobody owns.
//
// # Watched
//
// WATCH compares the version of the header. An element of a large value is changed without it. So
// who watches a large value marks its header, and who next changes an element writes the header
// again, without the mark.
package keys
