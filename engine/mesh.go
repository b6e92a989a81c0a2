package engine

import (
	"context"
	"io"
	"time"

	"github.com/skerry/skerry/engine/vivaldi"
)

// SiteRecord is what a site tells all members about itself, in the mesh document.
type SiteRecord struct {
	Name SiteName `json:"name"`
	// Addresses are multiaddresses without the /p2p part.
	Addresses   []string      `json:"addresses"`
	Services    []ServiceName `json:"services"`
	Application string        `json:"application"`
	// Rules holds for each "service.kind" a digest of its rules.
	Rules map[string]string `json:"rules,omitempty"`
	// Catalog is a digest of the catalog, Version the agent's version.
	Catalog string `json:"catalog"`
	Version string `json:"version"`
	// ApplicationVersion is what the site's operator calls its instance of the application; empty: not told.
	ApplicationVersion string    `json:"application_version,omitempty"`
	At                 time.Time `json:"at"`
	// Run names the run of the agent that wrote this, Heard the other runs under the site's key that it has heard of.
	Run   string   `json:"run,omitempty"`
	Heard []string `json:"heard,omitempty"`
	// Restored is when this run found that the site was restored from a backup. Cloned says that two agents run with the
	// site's key: both have stopped writing.
	Restored time.Time `json:"restored,omitzero"`
	Cloned   bool      `json:"cloned,omitempty"`
	// Gone says that the site, which was taken out of the mesh, shares nothing more.
	Gone bool `json:"gone,omitempty"`
	// Coordinate is where the site is among the others; nil while that is not known.
	Coordinate *vivaldi.Coordinate `json:"coordinate,omitempty"`
	// Queues holds the services of its application that do not let its agent in.
	Queues map[ServiceName]QueueStatus `json:"queues,omitempty"`
}

// Member is one site of the mesh as the mesh document shows it.
type Member struct {
	ID SiteID
	SiteRecord
	// Joined is when an invitation let it in; for the founder, when it wrote its record first.
	Joined time.Time
	// Removed is when it was taken out of the mesh; zero: it was not.
	Removed time.Time
}

// Invitation lets sites in. The token holds the secret; the mesh document only its hash.
type Invitation struct {
	ID        string    `json:"id"`
	Issuer    SiteID    `json:"issuer"`
	Secret    [32]byte  `json:"secret_sha256"`
	ExpiresAt time.Time `json:"expires_at"`
	Uses      int       `json:"uses"` // left
	Revoked   bool      `json:"revoked,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// JoinRequest is what a new site sends to the site that invited it, over a connection that proved its key.
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
	IsMember(id SiteID) bool
	// Inviting reports whether an invitation of this site is open now, so that strangers may knock.
	Inviting() bool
	// Admit checks the invitation and lets the site in; it returns the whole mesh document. It returns a *Refusal
	// whose Detail may be shown to the stranger.
	Admit(ctx context.Context, r JoinRequest) (Envelope, error)
}

// Replicas is what anti-entropy and gossip work on. It is safe for concurrent use.
type Replicas interface {
	// Receive takes an envelope of a member in. ErrMissing: it builds on changes that are not here, ask from for
	// what Missing gives. ErrRefused: the peer broke the rules.
	Receive(ctx context.Context, from SiteID, e Envelope) error
	// Summaries lists the documents shared with a member, by rising id, from ≤ id < to (an empty to is no bound).
	Summaries(ctx context.Context, with SiteID, from, to DocumentID) ([]Summary, error)
	// Version returns which changes of a document are here; empty when the document is not.
	Version(ctx context.Context, id DocumentID) (Version, error)
	// Missing returns the document and its changes that have does not show, at most about limit bytes of them, in
	// an order in which they can be applied, and whether there are more. ErrNotFound when the document is not
	// here or is not shared with that member.
	Missing(ctx context.Context, with SiteID, id DocumentID, have Version, limit int) (Envelope, bool, error)
	// Blob opens a blob from chunk first on, that an operation of the document refers to, for a member, with the digests of its
	// chunks. ErrNotFound when it is not here whole or that member has no part in the document.
	Blob(ctx context.Context, with SiteID, document DocumentID, ref BlobRef, first int64) (Digests, io.ReadCloser, error)
}
