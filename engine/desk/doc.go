// Package desk is what people ask of one site and decide, through its API, its page and its command line: about operations and
// conflicts that wait for them, about where a resource lives, whether its replica is paused, what is kept or set again; and what
// they look at before they decide. It decides nothing itself: package replica does, in the loop of package site. What is written
// here is who is asked, and what is said where nobody can be.
//
// Read desk.go for what it works with, decisions.go and resolve.go for what waits for a person, preview.go for what a site is about
// to do, and the other files for one question each.
//
// docs/words.md explains the terms.
package desk
