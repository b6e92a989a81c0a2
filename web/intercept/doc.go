// Package intercept stands in front of a service of the application: its handler takes the requests of clients and of
// other sites' agents, finds out where each one has to run, and passes it on, there or here, or makes it an
// operation.
//
// A request without a scope that concerns nothing replicated passes byte for byte, streaming both ways. Read handler.go for the way of
// the others: place.go, workflow.go and written.go for scopes, choose.go for alternatives, read.go, write.go, deleteall.go and inside.go
// for what is done with them, dialect.go and precondition.go for what an application's API asks for beside, typed.go and relied.go for
// references, identity.go and hear.go for who asks. What passes without the handler is in plain.go, here.go and there.go, and for
// requests of other agents in neighbours.go. Below it, each importing those before it, are the packages carry (where scopes come
// in requests), peer (what agents say to each other), request (one request, and where it comes in), passage (how bytes pass) and gather
// (one answer of several sites).
//
// Beside those of the README, its problems are of the types "loop" (508: agents passed a request round in a circle),
// "path" (400: servers would differ in what the path means, and what it may mean is replicated), "body" (400: it ended early), "method"
// (405), and, to other agents only, "stranger" (403) and "catalog-mismatch" (422).
package intercept
