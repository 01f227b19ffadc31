// Package resp reads commands and writes replies in versions 2 and 3 of the Redis serialization
// protocol. Every length that a client names has a limit before memory is taken for it.
package resp
