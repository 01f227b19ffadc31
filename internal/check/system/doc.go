// Package system holds the tests of the whole library on whole stores: what it costs, what it
// leaves behind, and what it does under load, in bad weather and beside others.
package system
