// Package peer is what agents say to each other about a request, in headers, and how one asks another: peer.go has the words,
// forwarder.go hands on operations, ask.go reads single resources so that references can be typed. From clients none of these headers
// is believed; who hears them is package intercept.
package peer
