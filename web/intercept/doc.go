// Package intercept stands in front of a service of the application: its handler takes the requests of clients and of
// other sites' agents, finds out where each one has to run, and passes it on, there or here, or makes it an
// operation.
//
// A request without a scope that concerns nothing replicated passes byte for byte, streaming both ways. Read
// handler.go for the way of the others, carrier.go and place.go for scopes, correlation.go for how they follow a workflow,
// choose.go and trial.go for alternatives, passage.go for how bytes pass, race.go for
// how several sites are asked for one answer, read.go, list.go, pages.go,
// write.go, deleteall.go and watch.go for what is done with them, peer.go and
// forwarder.go for what agents say to each other.
//
// Beside those of the README, its problems are of the types "loop" (508: agents passed a request round in a circle),
// "path" (400: servers would differ in what the path means, and what it may mean is replicated), "body" (400: it ended early), "method"
// (405), and, to other agents only, "stranger" (403) and "catalog-mismatch" (422).
package intercept
