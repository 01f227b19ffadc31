// Package fields is what hashes and sets are made of: names, with values or without.
//
// # Where a name is
//
// The names of a small value are in its body, in the order in which they have come. So are those
// that a large value has not moved yet: a transaction moves keys.MovesMax at most, and what one
// command has brought beyond that waits in the header, for whoever writes the value next. All
// others are elements, in the order of their places.
//
// # Places
//
// The place of a name is the first 48 bits of its SHA-256. The cursor of HSCAN and SSCAN is the
// place to go on with. So it holds at all servers, needs nothing to be remembered, and fits what
// clients keep numbers in. Who wants a random name begins at a random place.
package fields
