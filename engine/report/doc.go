// Package report is what people are told of one resource: the row that lists show, the rows of its operations, and its conflicts,
// which are what waits for a person. All of it is derived from a view, the same at every site that knows the same. It changes nothing.
//
// Read agreement.go for what the sites' applications show, conflict.go for what waits for a person, operation.go for what became of
// an operation, and row.go for how all of that is told.
//
// docs/words.md explains the terms.
package report
