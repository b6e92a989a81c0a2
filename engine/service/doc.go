// Package service paces the requests of one site to one service of its application, and bounds the deletions that come in
// from other sites.
//
// A Service decides which resources may send requests now. It is told what the answers say of the service (Hear, Report):
//
//   - A service that several resources in a row find failing, or that asks to be left alone (429 or 503 with Retry-After), fails:
//     one request at a time finds out whether it works again, at growing intervals.
//   - One that fails fewer, and for a minute does nothing else, is told as failing; requests go on (Told).
//   - One that does not let the agent in with its own credentials (401) is paused likewise, at long intervals.
//   - What concerns one resource alone holds up no other: a 403, and a 401 or Retry-After that comes again although others were
//     let in meanwhile.
//   - When it works again, what waits follows in the order in which it came, few at first and more with each success.
//
// Resources that may not go wait inside, each once, and come out by themselves: each call returns those whose turn it is. A
// Service has no clock and no randomness: both are handed in. Nothing here is safe for concurrent use.
//
// docs/words.md explains the terms.
package service
