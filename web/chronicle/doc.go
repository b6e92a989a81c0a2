// Package chronicle is what one site remembers of its last day and month: counters, by the minute and by the hour, and the cuts, which are
// the times at which it could not reach other sites. It lies in the agent's database, so that the page can show it without any other program.
//
// Begin with chronicle.go, then cut.go. What happened in a cut is not kept here: it follows from the operations (web/api/cut.go).
package chronicle
