package engine

import "time"

// About is what a document's first change says. It fixes the document's identity: two sites that make a
// document from equal Abouts make the same document (ARCHITECTURE.md, "Documents").
type About struct {
	Schema  Schema      `json:"schema"`
	Service ServiceName `json:"service,omitempty"`
	Kind    KindName    `json:"kind,omitempty"`
	// Collaboration is Replication or Cross for resource documents.
	Collaboration string `json:"collaboration,omitempty"`
	// Key is the natural key or the meta-identifier of the resource; for the mesh document, the mesh's identifier.
	Key ResourceID `json:"key"`
	// Placement is the initial placement, sorted. For the mesh document, the founder alone.
	Placement []SiteID `json:"placement"`
	// Parts are those that a cross resource begins with; nil for all other documents. Their sites are the Placement.
	Parts Parts `json:"parts,omitempty"`
	// Incarnation counts how often a resource of this key was created before and deleted.
	Incarnation uint64 `json:"incarnation,omitempty"`
	// Epoch counts the documents that the resource has had before this one.
	Epoch uint64 `json:"epoch,omitempty"`
}

// Schema names the maps that a document has.
type Schema string

const (
	SchemaResource Schema = "resource"
	// SchemaCross is that of a resource that is spread over sites: it has an index of what the parts hold besides.
	SchemaCross  Schema = "cross"
	SchemaMesh   Schema = "mesh"
	SchemaChoice Schema = "choice"
)

// ofResource reports whether documents of the schema are those of resources, with epochs.
func (s Schema) ofResource() bool { return s == SchemaResource || s == SchemaCross }

// MapName names one of the flat maps of a document.
type MapName string

// The maps of a resource document.
const (
	MapOperations MapName = "operations"
	MapReplicas   MapName = "replicas"
	// MapOutcomes holds outcomes by "site/operation", and facts by "site/earlier/later" (Fact).
	MapOutcomes  MapName = "outcomes"
	MapDecisions MapName = "decisions"
	// MapContents holds what lies inside the parts of a cross resource, by site and a hash (Inner).
	MapContents MapName = "contents"
)

// The maps of the mesh document.
const (
	MapSites       MapName = "sites"
	MapMembers     MapName = "members"
	MapInvitations MapName = "invitations"
	MapZones       MapName = "zones"
)

// MapHoldings is the map of the document of a name, by site.
const MapHoldings MapName = "holdings"

// WriteOnce reports whether an entry of this map, once written, stands for good.
func (m MapName) WriteOnce() bool { return m == MapOperations || m == MapMembers }

// Maps returns the maps of documents of this schema, in the order in which the first change makes them. Nil for
// an unknown schema.
func (s Schema) Maps() []MapName {
	switch s {
	case SchemaResource:
		return []MapName{MapOperations, MapReplicas, MapOutcomes, MapDecisions}
	case SchemaChoice:
		return []MapName{MapHoldings}
	case SchemaCross:
		return []MapName{MapOperations, MapReplicas, MapOutcomes, MapDecisions, MapContents}
	case SchemaMesh:
		return []MapName{MapSites, MapMembers, MapInvitations, MapZones}
	}
	return nil
}

// MaxEntry is the most bytes that the value of one entry may have, MaxKey that its key may have.
const (
	MaxEntry = 256 << 10
	MaxKey   = 256
)

// MaxCheckpoint is the most bytes that a checkpoint may have to take the place of documents.
const MaxCheckpoint = 2 << 20

// Entry is one value of one map of a document. Its key is the SiteID of its author, or begins with it and a
// slash: no other site writes it.
type Entry struct {
	Map   MapName
	Key   string
	Value []byte
}

// SignedChange is one Automerge change with its author's signature over its hash. Bytes and Signature belong to
// whoever holds the value and are not changed after.
type SignedChange struct {
	Author SiteID `cbor:"1,keyasint"`
	// Signature is Ed25519 (RFC 8032), made with the author's libp2p key over "skerry change\x00" + Hash.
	Signature []byte `cbor:"2,keyasint"`
	// Bytes is an uncompressed Automerge change chunk.
	Bytes []byte `cbor:"3,keyasint"`
}

// ChangeRow is a SignedChange with what its decoding told, as the store keeps it.
type ChangeRow struct {
	SignedChange
	Document DocumentID
	Hash     [32]byte
	// Actor is the lower-case hex Automerge actor, Seq the change's number among those of its actor, from 1.
	Actor string
	Seq   uint64
}

// Version says which changes of a document a site has: for each actor the number of its last change. The changes
// of one actor are held without gaps.
type Version map[string]uint64

// Envelope carries a document, or a part of it, between sites. About lets the receiver make the document.
type Envelope struct {
	Document DocumentID     `cbor:"1,keyasint"`
	About    []byte         `cbor:"2,keyasint"`
	Changes  []SignedChange `cbor:"3,keyasint"`
	// Joins says to whoever gets it that it belongs to the document's placement, though the document's beginning does not
	// say so or it has left since.
	Joins bool `cbor:"4,keyasint,omitempty"`
	// More says that the sender has more of it than is in here.
	More bool `cbor:"5,keyasint,omitempty"`
	// Checkpoint is what the sender has of the epochs before the document's, where it does not have their documents any more.
	// It comes with the document's first changes.
	Checkpoint []byte `cbor:"6,keyasint,omitempty"`
	// Left says that this is all there is between the sender and whoever gets it, for one of them has left.
	Left bool `cbor:"7,keyasint,omitempty"`
	// Leaves says to whoever gets it that it was removed from the document's placement and has not said that it has left, be it that
	// it has not heard that it was added.
	Leaves bool `cbor:"8,keyasint,omitempty"`
	// Shown is the digest of the document that the sender, which has left, shows whoever gets it for good.
	Shown []byte `cbor:"9,keyasint,omitempty"`
}

// Summary is what anti-entropy compares of one document: its id and a digest of its heads.
type Summary struct {
	Document DocumentID
	Heads    [32]byte
}

// SiteStatus is what the network knows of the way to one member.
type SiteStatus struct {
	Reachable bool
	RTT       time.Duration // zero: not measured yet
	LastSeen  time.Time     // zero: never
	// Ahead is how far its clock is ahead of this site's, negative when it is behind, give or take half a round trip.
	Ahead time.Duration
}
