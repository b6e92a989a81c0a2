// Package flight has requests that are on their way to this site's application: from before one goes out until it is certain what came of
// it. It says what is known of one, and what tells what came of it; looking and sending is the caller's.
//
// Read flight.go for one request, flights.go for those of one resource, fate.go for what tells what came of it, keys.go for
// what is remembered of its answer.
//
// docs/words.md explains the terms.
package flight
