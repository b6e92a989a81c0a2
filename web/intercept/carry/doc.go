// Package carry takes scopes off requests, where clients and services have put them, and remembers them: a scope comes in a header, at
// the front of the path or in the baggage (carrier.go), and follows a workflow through services that know nothing of it, by the
// correlation headers that they pass on (correlation.go). It knows neither what a scope means nor where requests go.
package carry
