// Package replica is one resource at one site: a state machine. It takes inputs (a client's request, changes and statuses of
// other sites, an answer of the application, a timer, a person's decision, news of other resources) and yields effects
// (entries to write, calls to make, answers to give). It does no I/O, and has no clock, lock or goroutine of its own; what it
// asks of its surroundings it asks of Env. The same inputs give the same effects.
//
// Duties of the caller, package site:
//
//  1. After Step, make durable what the replica keeps, its new entries as one change, and its rows.
//  2. Only then make its calls, give its answers, and send its change and status to the correspondents.
//  3. Give it the answer of each call, with the call's token, and wake it when it has asked for that.
//  4. If nothing could be made durable, forget the replica and load it anew.
//
// At most one request to the application is under way for a resource. What is done is a task: task.go chooses the next one, unless
// something keeps it from being done (holds.go). work.go is what a task has in hand, me.go what it says of what came of it;
// own.go runs requests of this site's clients, send.go and correct.go the steps that plan.Next asks for, settle.go what had no
// certain answer. Package drift says when to look.
//
// docs/words.md explains the terms.
package replica
