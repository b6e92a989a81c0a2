// Package front takes requests of this site's clients, and those that other agents hand over, until they have an answer. What runs
// where is decided here; how it runs at a resource is package replica's business, how replicas are kept package site's.
//
// Read it in this order: submit.go for a request's way; choose.go for the alternatives of a scope; here.go and create.go for what
// runs at this site's replicas; plain.go, errand.go and settle.go for what concerns this site's application alone; deferred.go and
// agree.go for when the answer is given (package outbox has what other sites get, now or later, and package keys tells what comes twice); names.go and one.go for what is to be at exactly one site; container.go for what lies inside a container
// that is spread over sites; adopt.go and content.go for what is there already.
//
// What has no certain answer is durable before it goes out, and is never sent twice where that may do harm.
//
// docs/words.md explains the terms.
package front
