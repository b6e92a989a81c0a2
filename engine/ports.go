package engine

import (
	"context"
	"io"
	"time"
)

// Documents writes and reads the changes of documents: Automerge's binary format, behind a gate. It keeps nothing and is safe
// for concurrent use.
type Documents interface {
	// Identify encodes an About and returns the identifier of the document that begins with it. ErrRefused: it is none.
	Identify(about About) ([]byte, DocumentID, error)
	// Decode decodes an About and returns the identifier of its document. ErrRefused for bytes that Identify would not return.
	Decode(about []byte) (About, DocumentID, error)
	// First returns the tip of an epoch's document before anybody has written in it: its first change.
	First(about About, id DocumentID, epoch uint64) Tip
	// Write makes the next change of a line of this site's after tip: it puts entries. SignChanges signs it before it is kept or sent, with
	// all that is written with it. ErrTooLarge.
	Write(about About, id DocumentID, epoch uint64, line Line, tip Tip, entries []Entry) (*Change, error)
	SignChanges(changes []*Change)
	// Read decodes a change of an epoch's document. One from outside passes the gate, and its author's signature is checked:
	// ErrRefused. Whether it follows what is here is for the caller to see. Trusted is a change from this site's own disk.
	Read(about About, id DocumentID, epoch uint64, c SignedChange, trusted bool) (*Change, error)
	// Sign signs with this site's key. Verify checks the signature of a site: ErrRefused.
	Sign(message []byte) []byte
	Verify(site SiteID, message, signature []byte) error
}

// Network carries letters and bodies to other sites. It is safe for concurrent use.
type Network interface {
	// Send sends a letter to sites, soon and perhaps never: anti-entropy is the sure path. It never blocks and keeps l.
	Send(to []SiteID, l *Letter)
	// Status returns what is known of the way to each other member.
	Status() map[SiteID]SiteStatus
	// Fetch brings what another site has and into lacks of a blob that an operation of the document refers to. ErrNotFound:
	// that site does not have it, or does not give it to this one. ErrRefused: it gave something else. What has come stays
	// in into, whatever the error; an error of into is returned wrapped.
	Fetch(ctx context.Context, from SiteID, document DocumentID, ref BlobRef, into Incoming) error
}

// SiteStatus is what the network knows of the way to one member.
type SiteStatus struct {
	Reachable bool
	RTT       time.Duration // zero: not measured yet
	LastSeen  time.Time     // zero: never
	// Ahead is how far its clock is ahead of this site's, negative when it is behind, give or take half a round trip.
	Ahead time.Duration
	// Since is when Reachable became what it is.
	Since time.Time
	// Uncompared says that the site can be reached, and that what both share has not been compared since.
	Uncompared bool
	// Relay is the member through which the site is reached, empty while it is reached itself.
	Relay SiteID
	// Hole says that it is reached itself, through a hole that the two have made in their NATs.
	Hole bool
	// Streams is how many streams are open to and from it, Bytes what its letters take that are being taken in.
	Streams int
	Bytes   int64
}

// Silent returns since when nothing is known of what the site has; false: it is known.
func (s SiteStatus) Silent() (since time.Time, silent bool) {
	switch {
	case s.Reachable:
		return s.Since, s.Uncompared
	case !s.LastSeen.IsZero():
		return s.LastSeen, true
	}
	return s.Since, true
}

// Shared is what a site shares with another one.
type Shared struct {
	// Resources is how many it shares, those that were deleted and may have to be told of included.
	Resources int
	// Refused counts the new ones of that site, since the agent started, that were one too many.
	Refused int
	// Forks counts the lines that it has forked.
	Forks int
	// Bodies is how many bytes the large bodies of its operations take.
	Bodies int64
}

// Exchange is what the network asks of the engine for the sites that it speaks with. It is safe for concurrent use.
type Exchange interface {
	// Receive takes in a letter of a member and returns once all of it that can be is durable. ErrMissing: some of it builds
	// on what is not here; compare with the sender. ErrRefused: the peer broke the rules. ErrStorage: later.
	Receive(ctx context.Context, from SiteID, l *Letter) error
	// Fingerprints returns the fingerprint of all that this site shares with another in each of some ranges.
	Fingerprints(with SiteID, ranges []Range) []Fingerprint
	// Digests lists the documents of a range that this site shares with another, with their digests, by rising identifier.
	Digests(ctx context.Context, with SiteID, r Range) ([]Digest, error)
	// Have tells what is here of documents; of one that is not here, or not shared with that site, nothing.
	Have(ctx context.Context, with SiteID, ids []DocumentID) ([]Have, error)
	// Missing returns what is here, and shared with a site, of some documents beyond what it has, at most about limit bytes,
	// and how many of the documents it has covered whole.
	Missing(ctx context.Context, with SiteID, have []Have, limit int) (l *Letter, covered int, err error)
	// MeshFingerprint is that of all records of the mesh, MeshRecords are all of them.
	MeshFingerprint() Fingerprint
	MeshRecords() []SignedRecord
	// Blob opens a blob from chunk first on, that an operation of the document refers to, for a member, with the digests of
	// its chunks. ErrNotFound when it is not here whole or that member has no part in the document.
	Blob(ctx context.Context, with SiteID, document DocumentID, ref BlobRef, first int64) (Digests, io.ReadCloser, error)
}

// Forwarder hands a request to another site's agent. It is safe for concurrent use.
type Forwarder interface {
	// Forward adds this site to those that passed the request on. It returns ErrUnreachable when it is certain that the other
	// site has not got it, and a *Refusal of the other agent as an Answer or an error.
	Forward(ctx context.Context, to SiteID, r Request) (Answer, error)
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
