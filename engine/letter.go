package engine

// Letter is what sites send each other: changes and statuses of documents that both hold, and records of the mesh.
type Letter struct {
	Parcels []Parcel `cbor:"1,keyasint,omitempty"`
	// Batches are statuses of the sender as it has just signed them; Statuses are single ones, whoever made them.
	Batches  []StatusBatch  `cbor:"2,keyasint,omitempty"`
	Statuses []SignedStatus `cbor:"3,keyasint,omitempty"`
	Records  []SignedRecord `cbor:"4,keyasint,omitempty"`
	// Sent are the sites that the sender sends it to. Whoever gets it passes it on to others of the placement that it can
	// reach; empty: nobody is to.
	Sent []SiteID `cbor:"5,keyasint,omitempty"`
}

// Parcel is a part of one epoch's document. About lets the receiver make the document.
type Parcel struct {
	About   []byte         `cbor:"1,keyasint"`
	Epoch   uint64         `cbor:"2,keyasint,omitempty"`
	Changes []SignedChange `cbor:"3,keyasint,omitempty"`
	// Checkpoint stands for the epochs before this one, for a receiver that comes late and can have their documents from
	// nobody.
	Checkpoint []byte `cbor:"4,keyasint,omitempty"`
	// More says that the sender has more of the resource than is in here.
	More bool `cbor:"5,keyasint,omitempty"`
}

// MaxBatch is the most statuses, or changes, that are signed together.
const MaxBatch = 4096

// StatusBatch are statuses of one site, encoded, under one signature: Ed25519 over "skerry statuses\x00" and the root of the
// Merkle tree over them (RFC 6962, section 2.1, with SHA-256).
type StatusBatch struct {
	Site      SiteID   `cbor:"1,keyasint"`
	Statuses  [][]byte `cbor:"2,keyasint"`
	Signature []byte   `cbor:"3,keyasint"`
}

// SignedStatus is one status of a batch with its audit path (RFC 6962, section 2.1.1), as it is stored and passed on.
type SignedStatus struct {
	Site      SiteID `cbor:"1,keyasint"`
	Status    []byte `cbor:"2,keyasint"`
	Signature []byte `cbor:"3,keyasint"`
	// Index is its place in the batch of Size statuses. Path are the digests, 32 bytes each, from its leaf up.
	Index uint64 `cbor:"4,keyasint,omitempty"`
	Size  uint64 `cbor:"5,keyasint"`
	Path  []byte `cbor:"6,keyasint,omitempty"`
}

// Have is what a site has of one document: the answer decides what it still needs.
type Have struct {
	Document DocumentID `cbor:"1,keyasint"`
	// Changes tells for each epoch that is here how many changes of each line.
	Changes map[uint64]map[Line]uint64 `cbor:"2,keyasint,omitempty"`
	// Statuses are the numbers of the newest statuses, by site.
	Statuses map[SiteID]uint64 `cbor:"3,keyasint,omitempty"`
	// Forks are the forks of lines that the site knows of.
	Forks Forks `cbor:"4,keyasint,omitempty"`
}

// Fingerprint is an additive digest of a set: what is in it is added and what goes is taken away, in any order. Its four
// numbers are those of a SHA-256 digest. (Bellare and Micciancio, "A New Paradigm for Collision-free Hashing", 1997.)
type Fingerprint [4]uint64

// Add adds g to f; the sum wraps around.
func (f *Fingerprint) Add(g Fingerprint) {
	for i := range f {
		f[i] += g[i]
	}
}

// Sub takes g away from f again.
func (f *Fingerprint) Sub(g Fingerprint) {
	for i := range f {
		f[i] -= g[i]
	}
}

const (
	// Ranges is into how many ranges by document identifier a comparison divides all documents, and each range again.
	Ranges = 32
)

// Range names the documents whose identifier begins with some bits: five for each level, at most two levels. Depth 0 are
// all documents.
type Range struct {
	Depth uint8  `cbor:"1,keyasint"`
	First uint16 `cbor:"2,keyasint"`
}
