package failpoint

// Point is a place where an agent can die. Its name says where: the port, what is done by it, and whether that has
// happened.
type Point string

// Hit is called at every point that is reached. When it returns an error, what comes after the point does not happen, and
// the error is what the engine hears.
type Hit func(Point) error

// The things that are done, each of which has a point before and a point after it.
const (
	// The commits, by what they are for; one commit is often for several.
	//
	// CommitIntent declares a request of a client to a resource, CommitSend one that brings an operation here: it goes out next.
	CommitIntent = "commit-intent"
	CommitSend   = "commit-send"
	// CommitErrand declares a request that belongs to no resource yet, CommitEnded ends one.
	CommitErrand = "commit-errand"
	CommitEnded  = "commit-ended"
	// CommitOwn makes changes durable that this site wrote: operations above all.
	CommitOwn = "commit-own"
	// CommitMerge takes in changes of other sites, CommitStatuses what they say of themselves.
	CommitMerge    = "commit-merge"
	CommitStatuses = "commit-statuses"
	// CommitDrop puts a checkpoint in the place of an epoch's document.
	CommitDrop = "commit-drop"
	// CommitSettled ends a request to a resource of which no change comes: it brought an operation here, or nothing has happened.
	CommitSettled = "commit-settled"
	// CommitQuestion asks a person about an operation.
	CommitQuestion = "commit-question"
	// CommitKeep keeps a request for sites out of reach, CommitDelivered ends that.
	CommitKeep      = "commit-keep"
	CommitDelivered = "commit-delivered"
	// CommitMesh is for records of the mesh.
	CommitMesh = "commit-mesh"
	// CommitNote is for nothing of these: attempts, looks, remembered keys, events.
	CommitNote = "commit-note"

	// Answer answers clients before what came of their requests is durable.
	Answer = "answer"

	// The requests to the application: one that creates, changes, acts or deletes, and a look.
	RequestCreate = "request-create"
	RequestChange = "request-change"
	RequestAction = "request-action"
	RequestDelete = "request-delete"
	RequestLook   = "request-look"

	// TakeBlob makes a large body a file, DropBlob removes it. Fetch has one brought from another site; SetDigests, AddChunk and
	// CompleteBlob take it in: the digests, each chunk, and the last word.
	TakeBlob     = "take-blob"
	DropBlob     = "drop-blob"
	Fetch        = "fetch"
	SetDigests   = "set-digests"
	AddChunk     = "add-chunk"
	CompleteBlob = "complete-blob"
	// KeepSpool keeps the large body of a request for sites out of reach, DropSpool removes it.
	KeepSpool = "keep-spool"
	DropSpool = "drop-spool"

	// Publish sends changes to other sites, Tell what this one says of itself and nothing more. Forward hands a request to one of
	// them.
	Publish = "publish"
	Tell    = "tell"
	Forward = "forward"
	// ListChanges reads what another site lacks, in the middle of anti-entropy.
	ListChanges = "list-changes"
)

// things are all of them.
var things = []string{
	CommitIntent, CommitSend, CommitErrand, CommitEnded, CommitOwn, CommitMerge, CommitStatuses, CommitDrop, CommitSettled, CommitQuestion, CommitKeep,
	CommitDelivered, CommitMesh, CommitNote, Answer,
	RequestCreate, RequestChange, RequestAction, RequestDelete, RequestLook,
	Publish, Tell, Forward, ListChanges,
	TakeBlob, DropBlob, Fetch, SetDigests, AddChunk, CompleteBlob, KeepSpool, DropSpool,
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
