// Package lint holds the repository's rules as tests: which package may import
// which, how large things may grow, what must be documented, and that the engine
// reaches goroutines, time and randomness through package seam alone.
//
// A rule is a function from source to findings. Each has a test on planted
// violations beside the test on the repository, so that it cannot rot. A finding
// names the place, what is wrong with it, and the reason for the rule; a rule
// that is in the way is changed here, with its reason, not worked around.
package lint
