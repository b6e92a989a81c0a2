package replica

import (
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/hear"
	"github.com/skerry/skerry/engine/view"
)

// Input is something that a replica takes in: *Ask, *Heard, *Answered, *Decision, Wake or News.
type Input interface{ input() }

// Ask is a request of a client of this site, or one that another site has handed to it, for this resource.
type Ask struct {
	Request engine.Request
	// Operation is its identifier.
	Operation engine.OperationID
	// Blob is its body where that is large, or more than an operation carries; Request.Body may be here beside, to be looked into.
	Blob *engine.BlobRef
	// Creates says that it makes the resource, where that is not there. Known is the time that its operation comes after.
	Creates bool
	After   int64
	// Keys remember its answer under an Idempotency-Key.
	Keys flight.Keys
	// Restore, unless nil, is what is to be set again in place of a body.
	Restore *engine.RestoreRequest
	// Done is told what the client gets, once that is durable; or early, see Given.
	Done   func(Given)
	putOff bool
	since  time.Time // it waits for its name
	keep   *Decide
}

// Given is what a client gets.
type Given struct {
	// Answer is the application's, untranslated unless Presented, or the agent's own. Err is a *engine.Refusal or another error.
	Answer    engine.Answer
	Presented bool
	Err       error
	// Early says that it may go out before it is durable what came of the request: that is found out again should the agent die before.
	Early bool
	// Finish completes the answer once it is translated; nil: nothing is to be done.
	Finish func(engine.Answer) engine.Answer
}

// Heard is what came from another site.
type Heard struct {
	hear.Said
	Follows bool // more is handed in right after it: what comes of it is seen to then
}

// Answered is what came of a call.
type Answered struct {
	Token uint64
	Reply engine.Reply
	// Presented is the reply as clients see it, where the call asked for that and there is one.
	Presented engine.Reply
	// List is what a search has found, Items what a list had, Verdict what a comparison of content told.
	List []engine.Reply
	// Settled is what was settled where content was copied from.
	Settled engine.Vector
	Same    bool
	Err     error
}

// Wake says that a time has come that the replica has asked for.
type Wake struct{}

// News says that something else has changed that the replica may wait for.
type News struct {
	// Body: the large body of an operation is here. Why says why it is not yet.
	Body  engine.OperationID
	Why   string
	Bytes int64
	// Hurry: what it waits for may be over: a service runs again, a name is free, rules or reach have changed.
	Hurry bool
	// Look: it is to look at what its application shows.
	Look bool
	// NoBody: no site has the body of that operation any more.
	NoBody engine.OperationID
}

func (*Ask) input()      {}
func (*Heard) input()    {}
func (*Answered) input() {}
func (*Decide) input()   {}
func (Wake) input()      {}
func (*News) input()     {}

// Hold is what this site holds under a name, in the document of one.
type Hold struct{ Holding engine.Holding }

func (*Hold) input() {}

// Effects are what a step asks for.
type Effects struct {
	// Entries are to be written into the document of an epoch, as one change. The replica has taken them in already.
	Entries []engine.Entry
	Epoch   uint64
	// Changed says that what is kept or shown of it has changed. Progress: another site has come further, which may be kept later.
	// Flies: a request is to be kept that goes out, as a part of what is shown as under way already.
	Changed, Progress, Flies bool
	// Wake is when it is to be woken; zero: it need not be.
	Wake  time.Time
	Calls []*Call
	Given []GivenTo
	// Decided are decisions that were done, or refused.
	Decided []DecidedOf
	// Rows are those of requests that are in no document.
	Rows []engine.OperationRow
	// Answers are to be remembered.
	Answers []engine.KeyedAnswer
	// Fetch are operations whose bodies are to be fetched, Drop bodies that this one needs no more.
	Fetch []*engine.Operation
	Drop  []engine.BlobHash
	// Other resources to be woken: by document, or all of this name.
	Others []engine.DocumentID
	Events []engine.Event
	// Settles says that something that had begun has come to its end.
	Settles bool
	// Forked are forks that are news.
	Forked []hear.Forked
	// Own says that another site has changes or statuses of this site that are not here: the disk was set back.
	// Late: the others have let go of what is here.
	Own, Late bool
	// Missing says that what came builds on what is not here, Refused that this site has no part in it, or who has sent it has none.
	Missing, Refused bool
	// Ended says that the document of an epoch is over, which may be deleted; Checkpoint takes its place.
	Ended      *uint64
	Checkpoint []byte
	// Contents says that what lies inside it may have changed.
	Contents bool
	// Unfold says that the view is to be made anew of what is stored (view.Recast): what a checkpoint stands for which this site has made is
	// needed again, or something does not count any more.
	Unfold bool
	// Pass are changes and statuses that were news and may be to others, too.
	Pass *hear.Said
}

// GivenTo is an answer for a client.
type GivenTo struct {
	Ask   *Ask
	Given Given
}

// CallKind says what a call is.
type CallKind int

const (
	// CallRead reads the object. CallSend sends a request that may change something.
	CallRead CallKind = iota
	CallSend
	// CallFind looks for what a request has made, by its marker.
	CallFind
	// CallHolds compares a part of the content with bytes that are known: Answered.Same.
	CallHolds
	// CallCopy copies the content from another site.
	CallCopy
	// CallList lists what lies inside the container, of one kind: Answered.List.
	CallList
)

// Call is something to be asked of the application. Its answer comes as Answered.
type Call struct {
	Token uint64
	Kind  CallKind
	// Call is the request, but its body where Blob has it.
	Call engine.Call
	Blob *engine.BlobRef
	// Present asks for the reply as clients see it as well.
	Present bool
	// Request is the marker for CallFind.
	Request string
	// Content is the part of the content for CallHolds, Want what it is compared with.
	Content *engine.Content
	Want    engine.BlobRef
	// From are the sites that content may be copied from, nearest first; Key is the resource.
	From []engine.SiteID
	Key  engine.ResourceID
	// Client says that a client waits for it: it waits for no queue.
	Client bool
}

// Env is what a replica asks of its surroundings. All of it is known at once.
type Env interface {
	Now() time.Time
	NewID() string
	// Sends tells whether a request that is to change something is out for a resource. There is one at a time: a replica that was loaded
	// anew after a commit had failed waits for the end of what was sent before, and is woken then.
	Sends(document engine.DocumentID) bool
	// FirstTip is that of an epoch's document.
	FirstTip(about engine.About, epoch uint64) engine.Tip
	// Admits tells whether this site's catalog sees in an operation what its origin says, and sets its Name.
	Admits(k *engine.Kind, o *engine.Operation) bool
	// Accepts says what this site lets those do who have written in a resource; nil: everything, with the rights of its agent.
	Accepts(v *view.View) view.Rules
	// Note logs something that an operator may want to know.
	Note(document engine.DocumentID, message string, err error)

	// Here returns an identifier that clients have chosen as this site's application knows it; Addressed what it gets for a
	// target, or where that is empty for the container that something is to be made in.
	Here(k *engine.Kind, id string) engine.LocalID
	Addressed(k *engine.Kind, target, within string) engine.LocalID
	// Container tells of the container in which something is to lie: whether this site shares it with others, or goes without it, which
	// others have, since a person has decided that.
	Container(k *engine.Kind, id engine.LocalID) (shared, without bool)
	// Contained lists the kinds of what lies in containers of a kind.
	Contained(k *engine.Kind) []*engine.Kind
	// Meta returns the resource that a local identifier is that of, empty for none.
	Meta(k *engine.Kind, local engine.LocalID) engine.ResourceID
	// Whereabouts tells where the resources are that a body refers to.
	Whereabouts(k *engine.Kind, within string, o *engine.Operation, bound map[engine.ServiceName][]engine.SiteID) []engine.Whereabouts
	// Awaits says which reference of what is to be sent is to be at this site and is not yet, or of a delete, what lies inside that its
	// origin had not seen; empty: none. o is an operation, or has the body that comes of several.
	Awaits(k *engine.Kind, key engine.ResourceID, o *engine.Operation) string

	// Admit reports whether a request for the resource may go to its service now; if not, the replica is woken when it may. Of is the site
	// whose operation it is for: turns go round the sites.
	Admit(k *engine.Kind, document engine.DocumentID, of engine.SiteID) bool
	// Report takes in what an answer tells of the service. Alone: it is about the resource alone, which is denied, or stumbled over.
	Report(k *engine.Kind, document engine.DocumentID, r engine.Reply, err error, changes bool) (alone bool)
	// Waits gives up a place in front of the service, and reports whether the replica waits for the service then.
	Waits(k *engine.Kind, document engine.DocumentID, of engine.SiteID) bool
	// Halted is why requests to the service do not go out now; nil: they do.
	Halted(k *engine.Kind) *engine.Wait
	// Reads reports whether the service may be asked what it shows.
	Reads(k *engine.Kind) bool
	// Looked takes in that a look at the object of a resource has found it, or has not. Remake says why one that is gone is not to be made anew
	// now, or does not count as ended; empty: it is.
	Looked(k *engine.Kind, document engine.DocumentID, there bool)
	Remake(k *engine.Kind, document engine.DocumentID, ends bool) string
	// Respite is how long the application wants to be left alone, by an answer; zero: it does not say.
	Respite(r engine.Reply) time.Duration
	// Backoff is the wait after a number of tries.
	Backoff(tries int) time.Duration

	// Mismatch says which sites have other rules for a kind than others; empty: none has.
	Mismatch(k *engine.Kind, sites []engine.SiteID) string
	// Reachable reports whether another site can be reached; Nearest orders sites by distance.
	Reachable(s engine.SiteID) bool
	Nearest(ids []engine.SiteID) []engine.SiteID
	// Met reports whether this site has been compared, since it was started, with all of some others, or need not be.
	Met(sites []engine.SiteID) bool
	HasBlob(ref engine.BlobRef) bool

	// Rivals are the claims of other resources of the same name. TakeName takes the name for a request; false: it is taken, and
	// the replica is woken when it is free. FreeName gives it back.
	Rivals(k *engine.Kind, key engine.ResourceID, but engine.DocumentID) []view.Claim
	TakeName(k *engine.Kind, key engine.ResourceID, by engine.DocumentID) bool
	FreeName(k *engine.Kind, key engine.ResourceID, by engine.DocumentID)
	// Making reports whether a request is out that makes the object of another resource, whose identifier the application gives.
	Making(k *engine.Kind) bool
	// Claimed reports whether the resource is asked to give up its object, which is in the way of an earlier one of its name; Claim asks for that, or no more.
	Claimed(document engine.DocumentID) bool
	Claim(document engine.DocumentID, asks bool)

	// LetDelete reports whether a late deletion may run unconfirmed. HoldDelete and ReleaseDelete tell that one waits, or no more.
	LetDelete(o *engine.Operation) bool
	HoldDelete(document engine.DocumentID)
	ReleaseDelete(document engine.DocumentID)
	HearDelete(o *engine.Operation)
	// Clock is the machine's clock, corrected by those of other sites; Ahead is how far an operation's time may be ahead of it before it waits.
	Clock() time.Time
	Ahead() time.Duration
}

// Limits are the times and numbers that a replica goes by.
type Limits struct {
	LookAfter, LookEvery time.Duration
	// RetryMin is the wait before the first new try.
	RetryMin time.Duration
	// CallTimeout bounds one call: a request may be under way for so long.
	CallTimeout time.Duration
	// LeaveWithin is how long the others wait for a site that was removed.
	LeaveWithin time.Duration
	// History is how many operations are kept one by one once every site has settled them, Epoch how many a document takes.
	History, Epoch int
	// MaxBlob is the most bytes of a body that this site takes in.
	MaxBlob int64
}
