package glue

import "net/http"

// Carrier is a Dialect whose clients have ways of their own to give a request a scope.
type Carrier interface {
	// Carries reports whether a field of a header is one in which clients say a scope.
	Carries(name string) bool
	// TakeScope takes a scope out of a header, with what is there for that alone; it is empty without one.
	TakeScope(h http.Header) string
	// WrittenScope returns the scope that an object says of itself in the body of a request; empty without one.
	WrittenScope(h http.Header, body []byte) string
}
