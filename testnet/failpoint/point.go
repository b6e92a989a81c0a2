package failpoint

// Point is a place where an agent can die. Its name says where: the port, what is done by it, and whether that has
// happened.
type Point string

// Hit is called at every point that is reached. When it returns an error, what comes after the point does not happen, and
// the error is what the engine hears.
type Hit func(Point) error

// The things that are done, each of which has a point before and a point after it.
const (
	// CommitIntent makes an intent durable: the request goes out next.
	CommitIntent = "commit-intent"
	// CommitOwn makes a change that this site wrote durable: an operation, an outcome, what is settled.
	CommitOwn = "commit-own"
	// CommitDrop puts a checkpoint in the place of a document.
	CommitDrop = "commit-drop"
	// CommitMerge makes changes of other sites durable.
	CommitMerge = "commit-merge"
	// CommitClose ends an intent of which nothing came, or an operation that makes no change.
	CommitClose = "commit-close"
	// CommitQuestion asks a person about an operation.
	CommitQuestion = "commit-question"
	// CommitKeep keeps a request for sites out of reach, CommitDelivered ends that.
	CommitKeep      = "commit-keep"
	CommitDelivered = "commit-delivered"
	// CommitMesh is a change of the mesh document.
	CommitMesh = "commit-mesh"
	// CommitNote is everything else: attempts, remembered keys, events.
	CommitNote = "commit-note"

	// The requests to the application: one that creates, changes, acts or deletes, and a look.
	RequestCreate = "request-create"
	RequestChange = "request-change"
	RequestAction = "request-action"
	RequestDelete = "request-delete"
	RequestLook   = "request-look"

	// WriteDocument and MergeDocument are what documents do in memory.
	WriteDocument = "write-document"
	MergeDocument = "merge-document"
	// SaveSnapshot writes a document's snapshot beside its changes.
	SaveSnapshot = "save-snapshot"

	// TakeBlob makes a large body a file, DropBlob removes it. SetDigests, AddChunk and CompleteBlob fetch one from another
	// site: the digests, each chunk, and the last word.
	TakeBlob     = "take-blob"
	DropBlob     = "drop-blob"
	SetDigests   = "set-digests"
	AddChunk     = "add-chunk"
	CompleteBlob = "complete-blob"
	// KeepSpool keeps the large body of a request for sites out of reach, DropSpool removes it.
	KeepSpool = "keep-spool"
	DropSpool = "drop-spool"

	// Publish tells other sites of a change. Forward hands a request to one of them.
	Publish = "publish"
	Forward = "forward"
	// ListChanges reads what another site lacks, in the middle of anti-entropy.
	ListChanges = "list-changes"
)

// things are all of them.
var things = []string{
	CommitIntent, CommitOwn, CommitDrop, CommitMerge, CommitClose, CommitQuestion, CommitKeep, CommitDelivered, CommitMesh, CommitNote,
	RequestCreate, RequestChange, RequestAction, RequestDelete, RequestLook,
	WriteDocument, MergeDocument, SaveSnapshot, Publish, Forward, ListChanges,
	TakeBlob, DropBlob, SetDigests, AddChunk, CompleteBlob, KeepSpool, DropSpool,
}

// Before and After are the points around a thing that is done.
func Before(thing string) Point { return Point(thing + ".before") }
func After(thing string) Point  { return Point(thing + ".after") }

// All returns all points.
func All() []Point {
	var all []Point
	for _, t := range things {
		all = append(all, Before(t), After(t))
	}
	return all
}

// around does a thing between its two points.
func around(hit Hit, thing string, do func() error) error {
	if err := hit(Before(thing)); err != nil {
		return err
	}
	err := do()
	if dead := hit(After(thing)); dead != nil {
		return dead
	}
	return err
}
