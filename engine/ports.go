package engine

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Documents merges documents. Implementations are safe for concurrent use on different documents; the engine never
// calls two methods on one document at once. Nothing here is durable: what Create, Write and Merge return
// goes into a Batch, and when that Batch fails the engine calls Forget, so that the document is loaded anew.
type Documents interface {
	// Encode returns the bytes and the identifier of the document that begins with about.
	Encode(about About) ([]byte, DocumentID, error)
	// Create decodes about, checks that it makes the document called id, and holds the new document open.
	// It returns ErrRefused for bytes that Encode would not have made.
	Create(id DocumentID, about []byte) (About, error)
	// Write makes one change of this site that puts entries, whose keys belong to this site.
	Write(ctx context.Context, id DocumentID, entries []Entry) (ChangeRow, error)
	// Merge checks changes from outside and applies those that are new, in the order that their dependencies
	// ask for. Writes reports whether a site may write the document, as far as is known; it is asked once what a change
	// depends on is here. Merge returns what is to be stored and the entries that are new or changed. ErrRefused: at
	// least one was not acceptable; ErrMissing: at least one depends on a change that is not here. In both cases what
	// Merge returns beside the error was applied and is to be stored.
	Merge(ctx context.Context, id DocumentID, changes []SignedChange, writes func(SiteID) bool) ([]ChangeRow, []Entry, error)
	// Entries returns all entries of a document.
	Entries(ctx context.Context, id DocumentID) ([]Entry, error)
	// WrittenAt returns what the document was to the author of an entry when it wrote what stands there: the digest of
	// the heads and which changes it had, that one included. ErrNotFound: there is no such entry.
	WrittenAt(ctx context.Context, id DocumentID, m MapName, key string) (heads [32]byte, have Version, err error)
	// Values returns all values that stand at a key: more than one only where two runs of one site have written it
	// without hearing of each other, because the site was restored from a backup or cloned.
	Values(ctx context.Context, id DocumentID, m MapName, key string) ([][]byte, error)
	// Heads returns the digest of the document's heads.
	Heads(ctx context.Context, id DocumentID) ([32]byte, error)
	// Forget drops the document from memory.
	Forget(id DocumentID)
}

// Store keeps everything on disk. It is safe for concurrent use.
type Store interface {
	// Commit makes b durable, all or nothing; concurrent calls may share one sync of the disk. It sets the Seq of
	// b's events. ErrStorage: nothing of b has happened.
	Commit(ctx context.Context, b *Batch) error

	// Document, ResourceByID, ResourceByLocal, Operation and Answer return ErrNotFound when there is none.
	Document(ctx context.Context, id DocumentID) (DocumentRow, error)
	// MeshDocument returns the one document whose row says Mesh.
	MeshDocument(ctx context.Context) (DocumentRow, error)
	// ResourceByID and ResourceByLocal return, of several incarnations, the living one with an object here, else the earliest
	// living one, else the newest that is past.
	ResourceByID(ctx context.Context, service ServiceName, kind KindName, id ResourceID) (ResourceRow, error)
	ResourceByLocal(ctx context.Context, service ServiceName, kind KindName, id LocalID) (ResourceRow, error)
	ResourceByDocument(ctx context.Context, id DocumentID) (ResourceRow, error)
	// Choices lists the documents that say who holds a name, by document.
	Choices(ctx context.Context, service ServiceName, kind KindName, id ResourceID) ([]Choice, error)
	Operation(ctx context.Context, id OperationID) (OperationRow, error)
	Answer(ctx context.Context, key [32]byte) (KeyedAnswer, error)
	// ForgetOperations deletes the rows of operations that are settled (OperationRow.Settled) since before a time, and all but
	// the newest most of those that are; not those of documents with conflicts that were refused, nor those in the outbox. It does
	// a bounded part of that at once, the oldest first, and returns how many.
	ForgetOperations(ctx context.Context, before time.Time, most int) (int, error)
	// ForgottenUntil is the newest time at which one was settled whose row was deleted so; zero: none was.
	ForgottenUntil(ctx context.Context) (time.Time, error)

	// Resources lists by creation, newest first, those that are past only when State asks for them; next is empty on the last page.
	Resources(ctx context.Context, f ResourceFilter) (rows []ResourceRow, next string, err error)
	// CountResources counts the resources by state.
	CountResources(ctx context.Context) (map[State]int, error)
	// Operations lists by issue, newest first.
	Operations(ctx context.Context, f OperationFilter) (rows []OperationRow, next string, err error)
	// Conflicts lists by their Since, newest first; next is empty on the last page. Conflict returns ErrNotFound when there
	// is none of that id; ConflictsOf returns all of a document, accepted ones included.
	Conflicts(ctx context.Context, f ConflictFilter) (list []Conflict, next string, err error)
	Conflict(ctx context.Context, id ConflictID) (Conflict, error)
	ConflictsOf(ctx context.Context, id DocumentID) ([]Conflict, error)
	// Pending lists the documents with something left to do here.
	Pending(ctx context.Context) ([]DocumentID, error)
	Intents(ctx context.Context) ([]Intent, error)
	// NeedsBlob reports whether an open intent or an operation needs the blob, NeededBlobs lists all that something needs.
	NeedsBlob(ctx context.Context, h BlobHash) (bool, error)
	NeededBlobs(ctx context.Context) ([]BlobHash, error)
	Outbox(ctx context.Context) ([]Kept, error)
	// Kept returns one of them; ErrNotFound when it is not there any more.
	Kept(ctx context.Context, id OperationID) (Kept, error)
	// Events returns up to limit events with a Seq over after, oldest first.
	Events(ctx context.Context, after uint64, limit int) ([]Event, error)
}

// Network carries documents to other sites. It is safe for concurrent use.
type Network interface {
	// Publish sends e to the other sites of the placement, soon and perhaps never: anti-entropy is the sure path.
	Publish(placement []SiteID, e Envelope)
	// Status returns what is known of the way to each other member.
	Status() map[SiteID]SiteStatus
	// Fetch brings what another site has and into lacks of a blob that an operation of the document refers to. ErrNotFound:
	// that site does not have it, or does not give it to this one. ErrRefused: it gave something else. What has come stays
	// in into, whatever the error; an error of into is returned wrapped.
	Fetch(ctx context.Context, from SiteID, document DocumentID, ref BlobRef, into Incoming) error
}

// Body is the body of a request that is not held in memory.
type Body interface {
	// Open returns its bytes from the first on. Only the reader that was opened last can be relied upon.
	Open() (io.ReadCloser, error)
	// Size is how many they are, -1 when that is not known yet.
	Size() int64
}

// Blobs keeps the bodies of operations that are too large for a document, as files named by what is in them. It is safe for
// concurrent use. ErrStorage: there is no room, or the disk fails; nothing of what was to be written stays.
type Blobs interface {
	// Take makes what r yields a blob, durable, that Drop leaves alone until release is called. An error of r is returned
	// wrapped, and nothing stays.
	Take(ctx context.Context, r io.Reader) (ref BlobRef, release func(), err error)
	// Has reports whether the blob is here whole.
	Has(ref BlobRef) bool
	// Open reads a blob from chunk first on, and gives out what it has checked. ErrNotFound: it is not here whole.
	Open(ref BlobRef, first int64) (io.ReadCloser, error)
	// Digests returns those of the blob's chunks; ErrNotFound when they are not here.
	Digests(ref BlobRef) (Digests, error)
	// Begin begins to fetch a blob, or goes on where it was left. The caller sees to it that it is done once at a time.
	Begin(ref BlobRef) (Incoming, error)
	// Drop removes a blob and what has been fetched of it, unless somebody holds it, or needed says that it stays; no blob comes
	// meanwhile.
	Drop(h BlobHash, needed func() (bool, error)) error
	// Sweep removes everything that is not of these. It is called before anything else is.
	Sweep(needed map[BlobHash]bool) error
}

// Incoming is a blob that is being fetched. What has come stays when the process ends. It is for one goroutine at a time, and
// after an error of it, but ErrRefused, only Close may be called.
type Incoming interface {
	// Digests returns those of the blob's chunks, nil as long as they are not here.
	Digests() Digests
	// SetDigests takes them in; ErrRefused: they are not the blob's.
	SetDigests(d Digests) error
	// Next is the first chunk that is not here.
	Next() int64
	// Add takes in chunk Next; ErrRefused: it is something else. It does not keep the slice.
	Add(chunk []byte) error
	// Done makes the blob, of which all chunks are here, durable and whole; it closes it.
	Done() error
	Close() error
}

// Spools keeps bodies of requests on their way to other sites, encrypted. It is safe for concurrent use. ErrStorage as with
// Blobs.
type Spools interface {
	// Spool takes r in as it is read, so that it can be read more than once; size is -1 when it is not known. The caller closes
	// the spool, and that closes r.
	Spool(r io.ReadCloser, size int64) (Spool, error)
	// Open returns a body that was kept.
	Open(name string, size int64) Body
	Remove(name string) error
	// Sweep removes all that have other names. It is called before anything else is.
	Sweep(needed map[string]bool) error
}

// Spool is the body of a request that comes in.
type Spool interface {
	Body
	// Keep takes in what is still to come and makes all of it durable, under a name for Spools.Open.
	Keep() (name string, size int64, err error)
	// Failed returns why the body did not come whole or could not be written; nil when neither has happened.
	Failed() error
	// Close forgets the body unless it was kept.
	Close() error
}

// Call is one request to this site's instance of the application, in terms of meta-identifiers.
type Call struct {
	Kind   *Kind
	Method string
	// Path has {id} where Local is to stand.
	Path  string
	Local LocalID
	Query string
	// Header are the content headers of the request.
	Header map[string]string
	Body   []byte
	// Content, unless nil, is the body in the place of Body, Length bytes, -1 when that is not known. It is read once, and
	// perhaps a little longer than Do takes.
	Content io.Reader
	Length  int64
	// Stream asks for the body of an answer of status 200 as Reply.Content.
	Stream bool
	// Key is sent as Idempotency-Key, unless empty.
	Key string
	// Credentials are the caller's own headers (Authorization and the like). Nil: those of the configuration.
	Credentials http.Header
}

// Reply is what the application answered.
type Reply struct {
	Status int
	Header http.Header
	// Body is as the application sent it. Content, unless nil, stands in its place, of Length bytes or -1; whoever gets it
	// closes the spool.
	Body    []byte
	Content io.ReadCloser
	Length  int64
	// Local is the identifier of the resource that a creating call made, empty when the answer does not tell it.
	Local LocalID
	// Within is the container of what Body represents, as clients or as this site call it; empty for none.
	Within string
}

// Application runs requests at this site's instance of the application. It is safe for concurrent use.
type Application interface {
	// Do sends c, with the meta-identifiers in its path, query and body translated to this site's. ErrUnreachable:
	// it is certain that the application did not get it. Any other error: it is not known. Of a call with Content or
	// Stream, Do itself bounds how long nothing may move; of others the caller bounds the time.
	Do(ctx context.Context, c Call) (Reply, error)
	// Present returns r as clients see it: the identifiers of replicated resources translated to
	// meta-identifiers, in the body and in Location, and markers taken off (TrimMarker).
	Present(ctx context.Context, k *Kind, r Reply) (Reply, error)
	// Find lists the objects of a kind whose marker is that of a request (HasMarker), with their Local and as a GET shows
	// them in a list. It reads the whole list, with the agent's credentials. ErrUntellable: lists do not show the field.
	Find(ctx context.Context, k *Kind, request string) ([]Reply, error)
}

// Identifiers translates between the meta-identifiers of replicated resources and this site's own identifiers.
type Identifiers interface {
	// Local returns ok false when the id names no resource that is replicated here.
	Local(ctx context.Context, service ServiceName, kind KindName, id ResourceID) (local LocalID, ok bool)
	Meta(ctx context.Context, service ServiceName, kind KindName, id LocalID) (meta ResourceID, ok bool)
	// Translated reports whether any resource of the kind has another identifier here than its meta-identifier.
	Translated(service ServiceName, kind KindName) bool
}

// Forwarder hands a request to another site's agent. It is safe for concurrent use.
type Forwarder interface {
	// Forward adds this site to those that passed the request on. It returns ErrUnreachable when it is certain that the other site has not got it.
	Forward(ctx context.Context, to SiteID, r Request) (Answer, error)
}

// Ledger is the part of the store that serves anti-entropy. It is safe for concurrent use.
type Ledger interface {
	// Summaries lists the documents that are shown to with, and the mesh document, by rising id, from ≤ id < to (an empty
	// to is no bound).
	Summaries(ctx context.Context, with SiteID, from, to DocumentID) ([]Summary, error)
	// Version returns which changes of the document are stored.
	Version(ctx context.Context, id DocumentID) (Version, error)
	// Authors counts the changes of the document that are stored, by who has made them.
	Authors(ctx context.Context, id DocumentID) (map[SiteID]uint64, error)
	// Changes returns stored changes of the document that have does not show, in the order in which they were stored, at
	// most about limit bytes of them (0: no bound, at least one otherwise), and whether there are more.
	Changes(ctx context.Context, id DocumentID, have Version, limit int) ([]ChangeRow, bool, error)
}

// Vault encrypts what an operation leaves on this site's disk. It is safe for concurrent use.
type Vault interface {
	Seal(id OperationID, data []byte) []byte
	// Unseal fails for anything that Seal has not made for the same operation.
	Unseal(id OperationID, sealed []byte) ([]byte, error)
}
