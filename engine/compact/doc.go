// Package compact says what a site may let go of, so that what is kept of a resource does not grow: operations that a checkpoint stands
// for, an epoch that is over, bodies that no site needs. It follows from what all members have said. Package replica lets go.
//
// Read keeping.go for what is done after each step, history.go for checkpoints, epoch.go for epochs, bodies.go for large bodies.
//
// docs/words.md explains the terms.
package compact
