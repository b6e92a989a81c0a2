package engine

import (
	"encoding/json"
	"time"
)

// About is what a document begins with. It fixes the document's identity: two sites that make a document from equal Abouts
// make the same one, whether or not they have heard of each other.
type About struct {
	Service       ServiceName   `cbor:"1,keyasint"`
	Kind          KindName      `cbor:"2,keyasint"`
	Collaboration Collaboration `cbor:"3,keyasint"`
	// Key is the natural key or the meta-identifier of the resource.
	Key ResourceID `cbor:"4,keyasint"`
	// Placement is the initial placement, sorted.
	Placement []SiteID `cbor:"5,keyasint"`
	// Parts are those that a cross resource begins with; nil for all others. Their sites are the Placement.
	Parts Parts `cbor:"6,keyasint,omitempty"`
	// Incarnation counts how often a resource of this key was created before and deleted.
	Incarnation uint64 `cbor:"7,keyasint,omitempty"`
}

// Chooses reports whether the document is that of a name that exactly one of its sites is to hold something under.
func (a *About) Chooses() bool { return a.Collaboration == ExactlyOne }

// Collaboration is how the sites of a placement hold a resource together.
type Collaboration string

const (
	// Replication: it is the same at all of its sites.
	Replication Collaboration = "replication"
	// Cross: it is spread over its sites. Each holds a part of it, or a replica of one.
	Cross Collaboration = "cross"
	// ExactlyOne: it is no resource but a name, under which exactly one of its sites is to hold something of its own.
	ExactlyOne Collaboration = "exactly-one"
)

// Parts are the sites that hold each part of a cross resource, in the order of the parts. No site is in it twice.
type Parts [][]SiteID

// MapName names one of the flat maps of a document. Every key of a map is written once, in the line that it begins with.
type MapName string

const (
	// MapOperations holds operations (Operation).
	MapOperations MapName = "operations"
	// MapReplicas holds what ties a meta-identifier to the local ones (Replica).
	MapReplicas MapName = "replicas"
	// MapFacts is in the first change of each document, and no site writes into it: what somebody has written there counts for nothing.
	MapFacts MapName = "facts"
	// MapDecisions holds what people have decided (Decision).
	MapDecisions MapName = "decisions"
	// MapContents holds what lies inside the parts of a cross resource (Inner).
	MapContents MapName = "contents"
)

// Maps returns the maps of a document, in the order in which its first change makes them.
func (c Collaboration) Maps() []MapName {
	switch c {
	case Replication:
		return []MapName{MapOperations, MapReplicas, MapFacts, MapDecisions}
	case Cross:
		return []MapName{MapOperations, MapReplicas, MapFacts, MapDecisions, MapContents}
	case ExactlyOne: // what its sites hold, their statuses tell
		return []MapName{MapDecisions}
	}
	return nil
}

const (
	// MaxEntry is the most bytes that the value of one entry may have, MaxEntries how many entries one change may have.
	MaxEntry   = 1536 << 10
	MaxEntries = 4096
	// MaxChange is the most bytes that one change may have.
	MaxChange = 1664 << 10
	// MaxAbout is the most bytes that an encoded About may have.
	MaxAbout = 256 << 10
	// MaxCheckpoint is the most bytes that a checkpoint may have where it takes the place of documents.
	MaxCheckpoint = 2 << 20
)

// Entry is one value that a change puts into a map of its document. Its key follows from the change: line, number, place.
type Entry struct {
	Map   MapName
	Value []byte
}

// SignedChange is one Automerge change with its author's signature. Bytes and Signature are not changed after it was signed.
type SignedChange struct {
	Line Line `cbor:"1,keyasint"`
	// Signature is Ed25519 (RFC 8032), made with the author's libp2p key over "skerry change\x00" and what the change states: its document, its
	// epoch (8 bytes, big-endian) and its Hash. Where several are signed together it is over "skerry changes\x00" and the root of the Merkle tree
	// (RFC 6962) of what they state. Then follow the change's place among them, how many they are (2 bytes each, big-endian), and its audit path.
	Signature []byte `cbor:"2,keyasint"`
	// Bytes is an uncompressed Automerge change chunk.
	Bytes []byte `cbor:"3,keyasint"`
}

// Author is the site that has signed it.
func (c *SignedChange) Author() SiteID { return c.Line.Site() }

// Change is a SignedChange that was decoded and checked, of one epoch's document.
type Change struct {
	SignedChange
	Document DocumentID
	Epoch    uint64
	// Number counts the changes of its line in that document, from 1. Hash names it.
	Number uint64
	Hash   [32]byte
	// Previous is the hash of the line's change before it, or of the first change of the document. Begins is the counter
	// of its first Automerge operation; each entry is one.
	Previous [32]byte
	Begins   uint64
	Entries  []Entry
}

// Tip returns where its line stands with c.
func (c *Change) Tip() Tip { return Tip{c.Number, c.Hash, c.Begins + uint64(len(c.Entries)) - 1} }

// Tip is where a line stands in one epoch's document. No line depends on another.
type Tip struct {
	Number uint64   `cbor:"1,keyasint"`
	Hash   [32]byte `cbor:"2,keyasint"`
	// Last is the counter of the last Automerge operation.
	Last uint64 `cbor:"3,keyasint"`
}

// Follows reports whether c is the next change of the line.
func (t Tip) Follows(c *Change) bool {
	return c.Number == t.Number+1 && c.Previous == t.Hash && c.Begins == t.Last+1
}

// Replica is what a site says in the document about its replica, where it has more to say than that there is one.
type Replica struct {
	// Local is what its application calls the resource, where that is another identifier than the key; empty: it has none
	// any more.
	Local LocalID `cbor:"1,keyasint,omitempty"`
	// Made counts how often it was made anew.
	Made uint64 `cbor:"2,keyasint,omitempty"`
}

// Decision says what a person has decided about a resource, who and when. For is the Since of the conflict that is dismissed: should the same
// thing happen once more, it is to be decided once more.
type Decision struct {
	Conflict ConflictID `cbor:"1,keyasint" json:"conflict"`
	Action   Action     `cbor:"2,keyasint" json:"action"`
	By       SiteID     `cbor:"3,keyasint" json:"by"` // the site that has carried it out
	User     string     `cbor:"4,keyasint,omitempty" json:"user,omitempty"`
	At       int64      `cbor:"5,keyasint" json:"at"`  // Unix microseconds
	For      int64      `cbor:"6,keyasint" json:"for"` // likewise
	// Operation is what it was about, or, of ActionKeep, what came of it. About is what kind of conflict it was, empty for none.
	Operation OperationID  `cbor:"7,keyasint,omitempty" json:"operation,omitempty"`
	About     ConflictKind `cbor:"8,keyasint,omitempty" json:"about,omitempty"`
	// Said is the site where the person was, where that is another one than By.
	Said SiteID `cbor:"9,keyasint,omitempty" json:"said,omitempty"`
}

// Inner is one thing that lies in a site's part of a container which is spread over sites. Each site tells of its own; of
// what it says of one Kind and Local the last counts.
type Inner struct {
	Kind KindName `cbor:"1,keyasint" json:"kind"`
	// Local is the identifier that the site's application knows it by, that of the container apart.
	Local string `cbor:"2,keyasint" json:"local_id"`
	// Name is what is given once in all parts; empty where nothing is.
	Name string `cbor:"3,keyasint,omitempty" json:"name,omitempty"`
	// At is when the site first knew of it, in Unix microseconds.
	At int64 `cbor:"4,keyasint" json:"at"`
	// Resource is the replicated resource that it is a replica of, empty for none.
	Resource ResourceID `cbor:"5,keyasint,omitempty" json:"resource,omitempty"`
	// Digest tells representations apart; Summary is the representation, or what it is called where that is long.
	Digest  string          `cbor:"6,keyasint,omitempty" json:"digest,omitempty"`
	Summary json.RawMessage `cbor:"7,keyasint,omitempty" json:"summary,omitempty"`
	// Own says that no request made it that came through the agent: the application did, or somebody behind the agent's back.
	Own bool `cbor:"8,keyasint,omitempty" json:"own,omitempty"`
	// Gone says that it is no more.
	Gone bool `cbor:"9,keyasint,omitempty" json:"gone,omitempty"`
}

const (
	// MaxContentSummary is the most bytes of the summary of one thing, MaxContents how many things a site tells of.
	MaxContentSummary = 512
	MaxContents       = 2000
)

// Contained is an Inner with its site.
type Contained struct {
	Site SiteID
	Inner
}

// Time turns Unix microseconds, in which what travels counts, into a time.
func Time(microseconds int64) time.Time { return time.UnixMicro(microseconds).UTC() }
