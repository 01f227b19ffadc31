// Package session is one connection: its state, the commands that change that, and how the others
// are run in transactions.
//
// Commands that have come together, as a pipeline sends them, and that stand side by side, share a
// transaction: what they read is read in one wave, and what they write is committed in one. What is
// wrong with one of them is its reply, and of no matter to the others.
package session
