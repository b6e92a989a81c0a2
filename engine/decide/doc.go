// Package decide says what comes of what people decide about one resource at one site. It changes what the site says of the resource, in
// the view, and returns Orders: what the replica is to do about it. It sends nothing, and settles nothing itself.
//
// Read orders.go for what a decision is made of and comes to, settle.go for operations that wait for a person, place.go for the rest.
//
// docs/words.md explains the terms.
package decide
