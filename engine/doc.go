// Package engine is the core of Skerry: what operations are, in which order they count, what follows from them, and
// what a site has to do next at its own instance of the application.
//
// It does no I/O. The pure part takes values and returns values: Order, Fold, Next and ChangeOf. Site joins
// it to the ports that ports.go declares and that the other packages implement: documents (crdt), store
// (storage), network (p2p), application (glue).
//
// Read it in this order: operation.go and change.go for what is merged, order.go and fold.go for how, next.go
// for what a site does about it, site.go for a request's way through.
package engine
