// Package merge says what the operations of one resource amount to, whatever the order in which a site has heard of them:
// which of them count, the values that they leave at each path (Fold), where the resource lives (Placement), what each part
// of a cross resource is to show (Division), what a request sets (EditOf), and what may stand for operations that all
// sites have settled (Checkpoint). It is pure: everything is a function of the operations that a History holds and of the
// rules of the kind.
//
// Read known.go and history.go first, then living.go (which operations count), fold.go (what they leave) and checkpoint.go.
//
// docs/words.md explains the terms.
package merge
