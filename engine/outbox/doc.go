// Package outbox has requests of this site's clients that other sites are to run, and those that are kept: because no site could be
// reached, or the one that was gave no answer, or the caller did not want to wait. What runs here, and where else a request may run, is
// package front's business.
//
// Read it in this order: forward.go for a request that is handed to another site at once; outbox.go for what is kept and handed over
// later; lines.go for the order in which that happens; deferred.go for what this site runs itself once it has been answered.
//
// A kept request is durable before its caller hears of it, and goes out with its caller's own credentials. One that a site may have got
// is offered to that site alone.
//
// The tests are those of package front: they ask as clients do.
//
// docs/words.md explains the terms.
package outbox
