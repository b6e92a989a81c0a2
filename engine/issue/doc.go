// Package issue makes operations of requests at the site where they run first: their place in time, what they set, and what they do to the
// placement. It follows from the view and the request, and does nothing by itself. Package replica runs what is issued.
//
// Read stamp.go for what every operation gets, edit.go for what one sets, place.go for placements, setting.go for requests of the agent's
// own, refuse.go for what becomes no operation.
//
// docs/words.md explains the terms.
package issue
