// Package glue speaks the application's API: it knows which request is about what, where identifiers stand, and how to
// call the services. Nothing else in the agent knows an application.
//
// Read catalog.go for the description of an application, route.go for what a request is about, translate.go for the
// identifiers that clients and application call differently, and client.go for the calls.
package glue
