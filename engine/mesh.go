package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/skerry/skerry/engine/vivaldi"
)

// SignedRecord is one record of the mesh with its author's signature over "skerry record\x00" and the record's bytes.
type SignedRecord struct {
	Author    SiteID `cbor:"1,keyasint"`
	Record    []byte `cbor:"2,keyasint"` // a Record of the mesh, encoded
	Signature []byte `cbor:"3,keyasint"`
}

// MeshRecord is something that one key says to all members. Of those of one author and one key the one with the highest
// number counts, and the others are gone; of what the authorities say, those of one key, whoever is the author.
type MeshRecord struct {
	Key    RecordKey `cbor:"1,keyasint"`
	Number uint64    `cbor:"2,keyasint"`
	// Body is the encoding of what the key's kind says: SiteRecord, Certificate, Removal, Invitation and so on.
	Body []byte `cbor:"3,keyasint"`
	// Mesh is the mesh in which an authority says it, so that it counts in no other that has the same authority. It is empty where
	// a site speaks of itself, and in what founders have signed before certificates named the mesh.
	Mesh string `cbor:"4,keyasint,omitempty"`
}

// RecordKey names what a record is about: its kind and, but for the author's own record, whom or which.
type RecordKey struct {
	Kind RecordKind `cbor:"1,keyasint"`
	// About is a site, a zone, the place of an invitation among its author's, or the place of a list of authorities among all;
	// empty for RecordMesh, RecordSite and RecordBulletin.
	About string `cbor:"2,keyasint,omitempty"`
}

// Compare orders keys by kind.
func (k RecordKey) Compare(other RecordKey) int {
	return cmp.Or(cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.About, other.About))
}

// RecordKind is a kind of record.
type RecordKind string

const (
	RecordMesh RecordKind = "mesh" // that the author has founded the mesh (MeshOrigin)
	RecordSite RecordKind = "site" // what a site says of itself (SiteRecord)
	// RecordBulletin is how a site is: what changes all the time, apart from what hardly does (Bulletin).
	RecordBulletin RecordKind = "bulletin"

	// These count when their author is an authority.
	RecordAuthorities RecordKind = "authorities" // who the authorities are from now on (Authorities)
	RecordCertificate RecordKind = "admission"   // that a site belongs to the mesh, and its name (Certificate)
	RecordRemoval     RecordKind = "removal"     // that a site was taken out for good, and may bring in what it had accepted (Removal)
	RecordRevocation  RecordKind = "revocation"  // that a site's key is not trusted any more (Removal)
	RecordInvitation  RecordKind = "invitation"  // that sites may come in (Invitation)
	RecordZone        RecordKind = "zone"        // a named set of sites (ZoneRecord)
)

// MaxRecord is the most bytes of one record.
const MaxRecord = 256 << 10

// MeshOrigin is how a mesh began. Its author is the first authority.
type MeshOrigin struct {
	Mesh string `cbor:"1,keyasint"` // its identifier
	At   int64  `cbor:"2,keyasint"`
}

// Authorities are the keys that may say who belongs to the mesh, from now on. One that stands before another ranks above it.
type Authorities struct {
	Keys []SiteID `cbor:"1,keyasint"`
	// After is the digest of the record with the list that it takes the place of; zero: there was the founder alone.
	After [32]byte `cbor:"2,keyasint"`
}

// Certificate says that the site which holds a key belongs to the mesh, and how it is called.
type Certificate struct {
	// Invitation is the one by which it came in; empty: none.
	Invitation string   `cbor:"1,keyasint"`
	Name       SiteName `cbor:"2,keyasint"`
	// At is when it was let in first, in Unix microseconds.
	At int64 `cbor:"3,keyasint"`
	// Named is the number of the record that has given the site this name first; zero: this one. Where two sites have one name, the
	// one with the lower number keeps it.
	Named uint64 `cbor:"4,keyasint,omitempty"`
	// From and Until, in Unix microseconds, are when it is good; zero: without a beginning, or an end.
	From  int64 `cbor:"5,keyasint,omitempty"`
	Until int64 `cbor:"6,keyasint,omitempty"`
}

// Removal says that a site was taken out of the mesh.
type Removal struct {
	At int64 `cbor:"1,keyasint"`
}

// ZoneRecord is what an authority says of a zone.
type ZoneRecord struct {
	Sites   []SiteID `cbor:"1,keyasint,omitempty"`
	At      int64    `cbor:"2,keyasint"` // is shown, and decides nothing
	Deleted bool     `cbor:"3,keyasint,omitempty"`
}

// SiteRecord is what a site tells all members about itself.
type SiteRecord struct {
	// Name is what the site's configuration calls it. It binds nobody: names are given by certificates.
	Name SiteName `cbor:"1,keyasint" json:"name"`
	// Addresses are multiaddresses without the /p2p part.
	Addresses   []string      `cbor:"2,keyasint,omitempty" json:"addresses"`
	Services    []ServiceName `cbor:"3,keyasint,omitempty" json:"services"`
	Application string        `cbor:"4,keyasint,omitempty" json:"application"`
	// Rules holds for each "service.kind" a digest of its rules.
	Rules map[string]string `cbor:"5,keyasint,omitempty" json:"rules,omitempty"`
	// Catalog is a digest of the catalog, Version the agent's version.
	Catalog string `cbor:"6,keyasint,omitempty" json:"catalog"`
	Version string `cbor:"7,keyasint,omitempty" json:"version"`
	// ApplicationVersion is what the site's operator calls its instance of the application; empty: not told.
	ApplicationVersion string `cbor:"8,keyasint,omitempty" json:"application_version,omitempty"`
	// At is when it was made, in Unix microseconds.
	At int64 `cbor:"9,keyasint" json:"at"`
	// Run names the run of the agent that wrote this, Heard the other runs under the site's key that it has heard of.
	Run   string   `cbor:"10,keyasint,omitempty" json:"run,omitempty"`
	Heard []string `cbor:"11,keyasint,omitempty" json:"heard,omitempty"`
	// Rejoined is when this run found that the site's disk had been set back, in Unix microseconds. Cloned says that two agents
	// run with the site's key: both have stopped writing.
	Rejoined int64 `cbor:"12,keyasint,omitempty" json:"rejoined,omitempty"`
	Cloned   bool  `cbor:"13,keyasint,omitempty" json:"cloned,omitempty"`
	// Gone says that the site, which was taken out of the mesh, shares nothing more.
	Gone bool `cbor:"14,keyasint,omitempty" json:"gone,omitempty"`
	// Coordinate is where the site is among the others; nil while that is not known.
	Coordinate *vivaldi.Coordinate `cbor:"15,keyasint,omitempty" json:"coordinate,omitempty"`
	// Queues holds the services of its application that do not let its agent in.
	Queues map[ServiceName]QueueStatus `cbor:"16,keyasint,omitempty" json:"queues,omitempty"`
}

// Member is one site of the mesh.
type Member struct {
	ID SiteID
	// SiteRecord is what it says of itself, but for the name: that is its certificate's. It is empty where another site has it.
	SiteRecord
	// Bulletin is what it has told of its state last; nil: nothing yet.
	Bulletin *Bulletin
	// Joined is when it was let in; for the founder, when it founded the mesh.
	Joined time.Time
	// Certified is the authority that has signed its certificate, From and Until are when that is good; zero: without a beginning or
	// an end.
	Certified   SiteID
	From, Until time.Time
	// Removed is when it was taken out of the mesh; zero: it was not. Revoked says that its key is not trusted any more: nobody talks
	// to it.
	Removed time.Time
	Revoked bool
}

// Invitation lets sites in. The token holds the secret; the record only its hash.
type Invitation struct {
	ID        string    `cbor:"1,keyasint" json:"id"`
	Issuer    SiteID    `cbor:"2,keyasint" json:"issuer"`
	Secret    [32]byte  `cbor:"3,keyasint" json:"secret_sha256"`
	ExpiresAt time.Time `cbor:"4,keyasint" json:"expires_at"`
	Uses      int       `cbor:"5,keyasint" json:"uses"` // left
	Revoked   bool      `cbor:"6,keyasint,omitempty" json:"revoked,omitempty"`
	CreatedAt time.Time `cbor:"7,keyasint" json:"created_at"`
	// Term is for how many seconds the certificates are good that it gives; zero: without an end.
	Term int64 `cbor:"8,keyasint,omitempty" json:"term,omitempty"`
}

// Order is something that an authority does. One of Certify, Retire, Revoke, Add, Remove and Zone is set.
type Order struct {
	// Certify gives a site a certificate, with Name, where that is not empty, until then; zero: without an end.
	Certify SiteID
	Name    SiteName
	Until   time.Time
	// Retire and Revoke take a site out of the mesh.
	Retire, Revoke SiteID
	// Add makes a key an authority, First: of the rank before the one that says so. Remove takes one off the list.
	Add    SiteID
	First  bool
	Remove SiteID
	// Zone gets these sites; none: it is taken away.
	Zone  ZoneName
	Sites []SiteID
}

// Zone is a named set of sites. All members know the same zones, once they have heard of them.
type Zone struct {
	Name  ZoneName
	Sites []SiteID // sorted
	// By is the authority that has set it, At when.
	By SiteID
	At time.Time
}

// JoinRequest is what a new site sends to the site that invited it, over a connection that proved its key. One that has a certificate
// already needs no invitation.
type JoinRequest struct {
	Invitation string     `cbor:"1,keyasint"`
	Secret     []byte     `cbor:"2,keyasint"`
	Site       SiteID     `cbor:"-"` // proved by the connection
	Record     SiteRecord `cbor:"3,keyasint"`
}

// Membership is the list of the sites that belong to the mesh. It is safe for concurrent use.
type Membership interface {
	Self() SiteID
	Members() []Member
	// IsMember reports whether a site may be talked to now: it has a certificate that is good.
	IsMember(id SiteID) bool
	// Inviting reports whether an invitation of this site is open now, so that strangers may knock.
	Inviting() bool
	// Admit checks the invitation and lets the site in, where this one is an authority; it returns all records of the mesh. It returns a *Refusal whose
	// Detail may be shown to the stranger.
	Admit(ctx context.Context, r JoinRequest) ([]SignedRecord, error)
}

// QueueState says whether a site's requests to one service of its application go out.
type QueueState string

const (
	// QueueRunning: they do.
	QueueRunning QueueState = "running"
	// QueueFailing: the service does not answer, or answers that it cannot. One request at a time finds out whether it can
	// again.
	QueueFailing QueueState = "failing"
	// QueuePaused: the service does not let the agent in with its own credentials. One request at a time, at long intervals,
	// finds out whether it does again.
	QueuePaused QueueState = "paused"
)

// QueueStatus is what a site tells of its requests to one service of its application.
type QueueStatus struct {
	State QueueState `cbor:"1,keyasint" json:"state"`
	// Since is when it began to be so; zero: always, as far as this agent knows.
	Since  time.Time `cbor:"2,keyasint,omitempty" json:"since,omitzero"`
	Reason string    `cbor:"3,keyasint,omitempty" json:"reason,omitempty"` // empty while it runs
	// Waiting counts the resources that wait for it to run. It is known of this site only.
	Waiting int `cbor:"-" json:"waiting,omitempty"`
	// Next is when it is tried next, this site only; zero: when there is something to try with.
	Next time.Time `cbor:"-" json:"next,omitzero"`
}
