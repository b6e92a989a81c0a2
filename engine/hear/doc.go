// Package hear says what comes of what another site says about one resource: changes, statuses, and what stands for epochs that are over.
// It takes that into the view, and returns News: what the replica is to do about it. It sends nothing.
//
// Read said.go for what comes and what comes of it, hear.go for how.
//
// docs/words.md explains the terms.
package hear
