// Package drift says what looks at an application tell: what it shows of a resource, whether that is so for good, and whether repairs are to
// stop, since something else goes on changing the object. Package replica looks and repairs.
//
// Read look.go for what a look brings, repair.go for repairs.
//
// docs/words.md explains the terms.
package drift
