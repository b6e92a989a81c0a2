// Package p2p joins the sites of a mesh: it implements engine.Network over libp2p and serves engine.Membership and
// engine.Exchange to the other sites.
//
// A site is its Ed25519 key (identity.go). Connections are let in by the list of members only (gater.go). A stranger gets as
// far as the join protocol, and only while this site has an open invitation (join.go, token.go).
//
// What sites have to tell each other travels on two paths. The fast one may lose anything: letters, queued for each member
// that is connected (queue.go), joined into frames (packet.go, writer.go) and taken in side by side (intake.go). The sure one is
// anti-entropy: every ping says in 32 bytes what a site has (ping.go). Where that differs, or something was lost
// (agreement.go), two sites compare: find.go finds out which documents differ, exchange.go has both sides pull them.
//
// members.go keeps one link for each other member: link.go dials, relay.go goes through another member where there is no other way, and punch.go makes
// one; ping.go notices a dead connection. http.go carries HTTP
// between agents over streams, and lane.go over connections of their own, blob.go large bodies.
// What a member may cost is in limits.go, what happens to one that breaks
// the rules in refuse.go. Everything that comes in passes the strict decoders of frame.go, letter.go and message.go.
//
// Network owns every goroutine: Run starts them and waits for them. Only the libp2p host itself lives from New to the
// end of Run (or Close), because a site must be able to join before it runs.
package p2p
