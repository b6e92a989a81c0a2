// Package waiting holds what waits: jobs for their time and for room (Queue), those who want one thing for each other (Turns), and
// requests for those that came before them (Lines). It knows nothing of what it holds.
//
// docs/words.md explains the terms.
package waiting
