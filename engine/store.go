package engine

import (
	"context"
	"time"
)

// Record is all that the store keeps of one resource but its changes: the row that lists show, and what the engine needs to
// go on. Its blobs are the engine's own encodings; the store seals them. Nil blobs leave what is stored as it is.
type Record struct {
	Row   ResourceRow
	About []byte
	// Epoch is the first of its epochs that is not over here.
	Epoch uint64
	// Mine is what the site knows and remembers for itself, Statuses those of the other sites, Checkpoint what stands for
	// operations that are not there any more.
	Mine       []byte
	Statuses   []byte
	Checkpoint []byte
	// Digest is what anti-entropy compares of it with the sites of Peers. Apart has the digest for each site with which it is
	// another one, for good, since one of the two has left.
	Digest Fingerprint
	Peers  []SiteID
	Apart  map[SiteID]Fingerprint
	// Hollow says that the resource is not to be listed: nothing of it is known here yet, or it is a name, which is in lists of names.
	Hollow bool
	// Blobs are those that the resource needs beside those of its operations: of a request that is under way, or in its
	// checkpoint.
	Blobs []BlobHash
	// Brief says that all but Mine is as it is stored: it need not be written again.
	Brief bool
}

// Batch is what one wake-up of the engine makes durable, all of it or nothing. The order within a list counts.
type Batch struct {
	Records []Record
	// Dropped are epochs of documents whose changes are deleted.
	Dropped []EpochOf
	Changes []*Change
	// Forks take the changes away that do not count any more. Of one line the last one stays.
	Forks []ProvenFork
	// Operations are rows, new or replaced; one that names no document does not take the place of one that does. Blobs that are needed no more are told by NeedsBlob.
	Operations []OperationRow
	// Errands are begun or replaced, Ended are over.
	Errands []Errand
	Ended   []OperationID
	// Outbox are requests kept for later; Delivered leave it.
	Outbox    []Kept
	Delivered []OperationID
	Answers   []KeyedAnswer
	// Conflicts are new or have changed; Resolved are no more.
	Conflicts []Conflict
	Resolved  []ConflictID
	Events    []Event
	// Mesh are records of the mesh, in place of older ones with the same key.
	Mesh []SignedRecord
	// MeshDropped are records of the mesh that are not to be kept any more.
	MeshDropped []SignedRecord
	// Told, unless nil, is called before the batch is durable, and tells somebody of it: from then on whoever looks for what the batch is
	// about waits for it.
	Told func()
	// Settles says that it records what became of something that has begun: it may use the last of the disk.
	Settles bool
}

// EpochOf names one epoch's document.
type EpochOf struct {
	Document DocumentID
	Epoch    uint64
}

// Store keeps everything on disk. It is safe for concurrent use. Reads see what was committed before they began,
// and of those below for clients and people what somebody has been told of (Batch.Told).
type Store interface {
	// Commit makes b durable, all or nothing, and sets the Seq of b's events. ErrStorage: nothing of b has happened.
	Commit(ctx context.Context, b *Batch) error

	// Record, ResourceByID, ResourceByLocal, ResourceByDocument, Operation, Answer, Kept and Conflict return ErrNotFound when
	// there is none.
	Record(ctx context.Context, id DocumentID) (Record, error)
	// Changes returns the stored changes of a resource that have does not show, those of one line in their order, at most
	// about limit bytes of them (0: no bound, at least one otherwise), and whether there are more. They are as Read makes them
	// of stored ones. A nil have shows nothing.
	Changes(ctx context.Context, id DocumentID, have map[uint64]map[Line]uint64, limit int) ([]StoredChange, bool, error)
	// Forks returns the forks of lines of a resource.
	Forks(ctx context.Context, id DocumentID) ([]ProvenFork, error)
	// Forkers counts the lines that each site has forked, over all resources. It is for the start.
	Forkers(ctx context.Context) (map[SiteID]int, error)
	// Digests lists the digests of the documents of a range that are shared with a site, by rising identifier.
	Digests(ctx context.Context, with SiteID, r Range) ([]Digest, error)
	// AllDigests calls each for every document that is shared with anybody. It is for the start.
	AllDigests(ctx context.Context, each func(Digest, []SiteID, map[SiteID]Fingerprint)) error

	// ResourceByID and ResourceByLocal return, of several incarnations, the living one with an object here, else the earliest
	// living one, else the newest that is past.
	ResourceByID(ctx context.Context, service ServiceName, kind KindName, id ResourceID) (ResourceRow, error)
	ResourceByLocal(ctx context.Context, service ServiceName, kind KindName, id LocalID) (ResourceRow, error)
	// KnownLocally returns those of many identifiers for which ResourceByLocal finds something.
	KnownLocally(ctx context.Context, service ServiceName, kind KindName, ids []LocalID) (map[LocalID]bool, error)
	ResourceByDocument(ctx context.Context, id DocumentID) (ResourceRow, error)
	// Names lists the documents of collaboration ExactlyOne for a name.
	Names(ctx context.Context, service ServiceName, kind KindName, id ResourceID) ([]DocumentID, error)
	// SameName lists the documents of resources with an identifier that are not past, those of names left out.
	SameName(ctx context.Context, service ServiceName, kind KindName, id ResourceID) ([]DocumentID, error)
	Operation(ctx context.Context, id OperationID) (OperationRow, error)
	Answer(ctx context.Context, key [32]byte) (KeyedAnswer, error)

	// Resources lists by creation, newest first, those that are past only when State asks for them; next is empty on the last
	// page.
	Resources(ctx context.Context, f ResourceFilter) (rows []ResourceRow, next string, err error)
	// CountResources counts the resources by state.
	CountResources(ctx context.Context) (map[State]int, error)
	// Operations lists by issue, newest first.
	Operations(ctx context.Context, f OperationFilter) (rows []OperationRow, next string, err error)
	// Conflicts lists by their Since, newest first; next is empty on the last page. ConflictsOf returns all of a document,
	// accepted ones included.
	Conflicts(ctx context.Context, f ConflictFilter) (list []Conflict, next string, err error)
	Conflict(ctx context.Context, id ConflictID) (Conflict, error)
	ConflictsOf(ctx context.Context, id DocumentID) ([]Conflict, error)
	// Pending lists the documents with something left to do here, or whose row may be older than what is stored of them.
	Pending(ctx context.Context) ([]DocumentID, error)
	Errands(ctx context.Context) ([]Errand, error)
	Outbox(ctx context.Context) ([]Kept, error)
	Kept(ctx context.Context, id OperationID) (Kept, error)
	// NeedsBlob reports whether an errand, a resource or an operation needs the blob, NeededBlobs lists all that something
	// needs, each once.
	NeedsBlob(ctx context.Context, h BlobHash) (bool, error)
	NeededBlobs(ctx context.Context) ([]NeededBlob, error)
	// Events returns up to limit events with a Seq over after, oldest first.
	Events(ctx context.Context, after uint64, limit int) ([]Event, error)
	// Mesh returns all records of the mesh.
	Mesh(ctx context.Context) ([]SignedRecord, error)

	// ForgetOperations deletes the rows of operations that are settled (OperationRow.Settled) since before a time, and all but
	// the newest most of those that are; not those of documents with conflicts that were refused, nor those in the outbox. It
	// does a bounded part of that at once, the oldest first, and returns how many.
	ForgetOperations(ctx context.Context, before time.Time, most int) (int, error)
	// ForgottenUntil is the newest time at which one was settled whose row was deleted so; zero: none was.
	ForgottenUntil(ctx context.Context) (time.Time, error)
}

// StoredChange is a change as it lies on the disk: it was checked before.
type StoredChange struct {
	SignedChange
	Epoch  uint64
	Number uint64
}

// Digest is what anti-entropy compares of one document.
type Digest struct {
	Document DocumentID
	Digest   Fingerprint
}
