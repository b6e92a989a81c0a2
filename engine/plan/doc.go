// Package plan decides what a site does next for one resource, and what an application's answer means. It is pure.
//
// A Standing says what the application of a site has been brought to. Next compares that with what the operations amount to
// (package merge) and says in one Step what is to be done: send the next operation as its caller sent it, or send one
// correction with what differs, or make the object anew, or nothing; or hold, and ask a person.
//
// Read standing.go, step.go and next.go first. doubt.go is about requests that have had no certain answer.
//
// docs/words.md explains the terms.
package plan
