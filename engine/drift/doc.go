// Package drift says when to look at an application, and what looks tell: what it shows of a resource, whether that is so for good, and
// whether repairs are to stop, since something else goes on changing the object. Package replica looks and repairs.
//
// Read watch.go for when to look, look.go for what a look brings, repair.go for repairs.
//
// docs/words.md explains the terms.
package drift
