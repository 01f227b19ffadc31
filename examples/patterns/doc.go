// Package patterns has what programs build on transactions again and again, each as short as it
// can be: docs/patterns.md shows and explains this code. Copy what you need.
package patterns
