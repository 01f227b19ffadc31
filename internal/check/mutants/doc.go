// Package mutants asks whether the tests would notice if the engine were wrong: it changes one
// place after another, and runs the simulation, and then the tests of the packages, until one
// fails. The changes are built once, all together, each behind a number that the environment
// chooses (mutant schemata: Untch, Offutt, Harrold 1993). It is run by hand: docs/testing.md.
package mutants
