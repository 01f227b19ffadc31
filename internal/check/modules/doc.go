// Package modules holds the tests of what the module consists of: what its packages make a
// user compile and download, and the modules nested in it.
package modules
