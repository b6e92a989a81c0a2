// Package habits is an application with one collection, that answers as one of several real ones do: in envelopes, without bodies, in forms or XML,
// page by page, with states that come later. habits.go has what it can be like, apps.go each of them with its catalog.
package habits
