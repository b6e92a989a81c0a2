package engine

import (
	"slices"
	"strings"
)

// PeerCall is one thing that the agent of one site may ask of another's. PeerCalls lists all of them: what is not there is not served. What
// libp2p itself says on the way to a connection is none: relays for members, and how two make a hole in their NATs (p2p/relay.go, punch.go).
type PeerCall struct {
	// Name is a protocol, a route of the API, or one of the names below for a request that is passed on for a service.
	Name string
	// Who may make it, as the key of the connection proves. What a header says of that does not count.
	Who Right
	// In is what a site has to have a part in, for HasPart.
	In Subject
	// Does is what it does to what it is about, for sites that do not accept that from everybody. Of a request the catalog says it.
	Does Act
	// Runs says with whose rights an application is asked.
	Runs string
	// Streams is how many of it one site has open at once; 0: they are among those of HTTPCall.
	Streams int
	// Bytes bounds a message or a body; 0: limits.body does.
	Bytes int64
}

// Right is what a site needs to make a call.
type Right string

const (
	// IsInvited: whoever shows an open invitation, a stranger.
	IsInvited Right = "invited"
	// IsMember: a member of the mesh. Where a call tells of resources, it tells of those that both sites share.
	IsMember Right = "member"
	// HasPart: a member that has a part in what it asks about.
	HasPart Right = "part"
)

// Subject is what a call is about.
type Subject string

const (
	InNothing   Subject = ""
	InResource  Subject = "resource"  // that the call names
	InOperation Subject = "operation" // the resource of one
	InConflict  Subject = "conflict"  // likewise
	InAny       Subject = "any"       // resource that this site shares
)

// The names of what is passed on for a service, and of the protocols.
const (
	CallRequest     = "request"     // of a client, about a kind of the catalog
	CallDescription = "description" // of what the application is able to do, or for a path that the catalog names beside its kinds
	CallListPart    = "list part"   // of a list or a watch of several sites
	CallContent     = "content"     // what a resource holds beside its representation

	JoinCall    = "/skerry/join/1"
	PingCall    = "/skerry/ping/1"
	LettersCall = "/skerry/letters/1"
	CompareCall = "/skerry/compare/1"
	BlobCall    = "/skerry/blob/1"
	HTTPCall    = "/skerry/http/1"
)

// Protocols are those of agents, each with its version at the end. Two agents talk over those that both have.
func Protocols() (names []string) {
	for _, c := range PeerCalls {
		if strings.HasPrefix(c.Name, "/skerry/") && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// What a call may run with.
const (
	asTheCaller = "the caller's credentials"
	AsTheAgent  = "the agent's account"
)

const (
	// MaxFrame is the most bytes of a frame of letters or of a comparison: a parcel with the longest first change, checkpoint and
	// change fits. MaxJoinFrame and MaxBlobFrame are those of what a joining site and one that fetches a blob ask.
	MaxFrame     = 4 << 20
	MaxJoinFrame = 64 << 10
	MaxBlobFrame = 1 << 10
	// MaxCallBody is the most bytes of a body sent to the API.
	MaxCallBody = 1 << 20
)

// PeerCalls is the table of all calls between agents.
var PeerCalls = []PeerCall{
	// Of one stranger, whose last try may not have ended everywhere when the next begins.
	{Name: JoinCall, Who: IsInvited, Streams: 4, Bytes: MaxJoinFrame},
	// When a connection is lost, the old stream may still be there while the new one is used. Of pings and letters there are two
	// connections' worth then, from both runs of a cloned site.
	{Name: PingCall, Who: IsMember, Streams: 8, Bytes: 8},
	// A letter is taken in as far as the signatures in it and the parts of their sites go.
	{Name: LettersCall, Who: IsMember, Streams: 8, Bytes: MaxFrame},
	{Name: CompareCall, Who: IsMember, Streams: 2, Bytes: MaxFrame},
	{Name: BlobCall, Who: HasPart, In: InResource, Streams: 8, Bytes: MaxBlobFrame},
	{Name: HTTPCall, Who: IsMember, Streams: 1024}, // beside which there are QUIC's own 256 for each connection

	{Name: CallRequest, Who: IsMember, Runs: asTheCaller},
	{Name: CallDescription, Who: IsMember, Runs: asTheCaller},
	{Name: CallListPart, Who: IsMember, Runs: asTheCaller},
	{Name: CallContent, Who: HasPart, In: InResource, Runs: AsTheAgent},

	{Name: "GET /api/v1/acceptance", Who: IsMember, Bytes: MaxCallBody},
	{Name: "GET /api/v1/ways/own", Who: IsMember, Bytes: MaxCallBody},
	{Name: "PATCH /api/v1/resources/:id", Who: HasPart, In: InResource, Does: ActChange, Bytes: MaxCallBody},
	{Name: "POST /api/v1/resources/:id/restore", Who: HasPart, In: InResource, Does: ActChange, Runs: AsTheAgent, Bytes: MaxCallBody},
	{Name: "POST /api/v1/resources/:id/keep", Who: HasPart, In: InResource, Does: ActChange, Runs: AsTheAgent, Bytes: MaxCallBody},
	{Name: "POST /api/v1/resources/:id/pause", Who: HasPart, In: InResource, Does: ActChange, Bytes: MaxCallBody},
	{Name: "POST /api/v1/resources/:id/resume", Who: HasPart, In: InResource, Does: ActChange, Bytes: MaxCallBody},
	{Name: "GET /api/v1/conflicts/:id", Who: HasPart, In: InConflict, Does: ActRead, Runs: AsTheAgent, Bytes: MaxCallBody},
	{Name: "POST /api/v1/conflicts/:id/resolve", Who: HasPart, In: InConflict, Does: ActChange, Runs: AsTheAgent, Bytes: MaxCallBody},
	{Name: "GET /api/v1/operations/:id", Who: HasPart, In: InOperation, Bytes: MaxCallBody},
	{Name: "POST /api/v1/operations/:id/retry", Who: HasPart, In: InOperation, Does: ActChange, Runs: AsTheAgent, Bytes: MaxCallBody},
	{Name: "POST /api/v1/operations/:id/done", Who: HasPart, In: InOperation, Does: ActChange, Bytes: MaxCallBody},
	{Name: "POST /api/v1/operations/:id/drop", Who: HasPart, In: InOperation, Does: ActChange, Bytes: MaxCallBody},
	{Name: "POST /api/v1/sites/:name/resume", Who: HasPart, In: InAny, Runs: AsTheAgent, Bytes: MaxCallBody},
	{Name: "GET /api/v1/sites/:name/preview", Who: IsMember, Bytes: MaxCallBody},
	{Name: "POST /api/v1/sites/:name/confirm", Who: IsMember, Runs: AsTheAgent, Bytes: MaxCallBody},
	{Name: "POST /api/v1/sites/:name/reject", Who: IsMember, Runs: AsTheAgent, Bytes: MaxCallBody},
}

// PeerCallOf finds a call's row; nil: it is none.
func PeerCallOf(name string) *PeerCall {
	for i := range PeerCalls {
		if PeerCalls[i].Name == name {
			return &PeerCalls[i]
		}
	}
	return nil
}
