// Package p2p joins the sites of a mesh: it implements engine.Network over libp2p and serves engine.Membership and
// engine.Replicas to the other sites.
//
// A site is its Ed25519 key (identity.go). Connections are let in by the list of members only (gater.go); a stranger
// gets as far as the join protocol, and only while this site has an open invitation (join.go, token.go).
//
// Changes travel on two paths. The fast one may lose anything: gossip on one topic per placement (topics.go), and
// frames sent directly to members that are not in the topic yet (hint.go); publish.go decides which. The sure one is
// anti-entropy: reconcile.go compares what two sites have by ranges of documents (set.go), fetch.go pulls what is
// missing. Everything received passes a strict decoder (envelope.go, frame.go) and then receive.go.
//
// members.go keeps one link for each other member: link.go dials, ping.go notices a dead connection, repair.go has the
// two sites compared after each reconnection and from time to time. http.go carries HTTP between agents over streams.
//
// Network owns every goroutine: Run starts them and waits for them. Only the libp2p host itself lives from New to the
// end of Run (or Close), because a site must be able to join before it runs.
package p2p
