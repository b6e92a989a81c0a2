// Package door is where clients come in: it takes connections, and passes plain requests of HTTP/1.1 on to the application by itself.
//
// Every request of every client of a site goes through here, and most of them concern nobody but the application. One goroutine takes such
// a request all the way: it reads the head once (head.go), asks whether the request is plain (Desk), writes it to an idle connection to the
// application (pool.go), and writes the answer back (exchange.go). Heads keep their order and spelling, bodies are copied, or spliced by the
// kernel. There is a second goroutine only while a body is long in coming (upload.go), or an answer (watch_linux.go).
//
// An application's answer can be turned on its way (turn.go), and another site's agent can stand in an application's place (Agent).
//
// Everything else is net/http's: another version of HTTP, an upgrade, what has a scope, and whatever the Desk wants to look at. The
// connection goes there with what was read of it, and comes back with the next plain one, but for HTTP/2 (handover.go).
//
// There is one reading of a request. What could be read in two ways is refused with 400, and the connection is closed.
package door
