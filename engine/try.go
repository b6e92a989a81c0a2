package engine

import "time"

// Way is how one site gets to another, in full.
type Way struct {
	SiteStatus
	// Transport is what carries the connection to the site, or to its relay: quic, tcp or websocket; empty while there is none.
	Transport string
	// Seen is the address at which the site is seen without a relay: where the connection leads or, where the site has opened it (Inbound),
	// comes from.
	Seen    string
	Inbound bool
	// Relays says that it relays for other members, as far as is seen from here.
	Relays bool
	// Tries are what came of its addresses, and of the relays, when they were tried last, while it is not reached itself.
	Tries []Try
}

// Try is what came of one way to a site that was tried.
type Try struct {
	// Address is where; empty: nowhere, or it went through Relay.
	Address string
	// Relay is the member that was to pass it on; empty: none.
	Relay  SiteID
	Result TryResult
	// Other is the key that answered in place of the site's, for TryOtherKey.
	Other  SiteID
	Detail string // in the words of the network
	At     time.Time
}

// TryResult is why a try has not brought two sites together.
type TryResult string

const (
	TryRefused      TryResult = "refused"       // a machine answers, and nothing listens there
	TrySilent       TryResult = "timed-out"     // nothing answers
	TryNoRoute      TryResult = "no-route"      // no network leads there
	TryNoName       TryResult = "no-name"       // DNS does not know it
	TryOtherKey     TryResult = "other-key"     // another agent answers there
	TryTurnedAway   TryResult = "turned-away"   // the site's agent closes the connection: it takes this site for no member
	TryOtherVersion TryResult = "other-version" // it does not speak what this agent does
	TryNoPlace      TryResult = "no-place"      // the relay does not reach the site either
	TryRelayFull    TryResult = "relay-full"    // the relay has as many connections as it takes
	TryNoAddress    TryResult = "no-address"    // the site has told none
	TryNoRelay      TryResult = "no-relay"      // no member that is reached relays
	TryRehearsed    TryResult = "rehearsed"     // a rehearsal cuts this site off
	TryFailed       TryResult = "failed"        // anything else: Detail says it
)
