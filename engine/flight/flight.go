package flight

import (
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
)

// Flight is one request in flight at this site's application: from before it goes out until it is certain what came of it. It is
// durable before the request goes out.
type Flight struct {
	Operation engine.Operation `cbor:"1,keyasint"`
	// Line and Epoch are those of Operation, which its encoding leaves out.
	Line  engine.Line `cbor:"2,keyasint"`
	Epoch uint64      `cbor:"3,keyasint,omitempty"`
	Stage Stage       `cbor:"4,keyasint"`
	// Key is the Idempotency-Key that it went out under, Since when, in Unix microseconds, Attempt how often.
	Key     string `cbor:"5,keyasint"`
	Since   int64  `cbor:"6,keyasint"`
	Attempt int    `cbor:"7,keyasint,omitempty"`
	// Why says why its fate is not known.
	Why string `cbor:"8,keyasint,omitempty"`

	// Making is what a request settles that makes the object anew; nil: it is another one.
	Making *Making `cbor:"9,keyasint,omitempty"`

	// The rest is of a client's request. Creates says that it makes the resource.
	Creates     bool                `cbor:"10,keyasint,omitempty"`
	Credentials *engine.Credentials `cbor:"11,keyasint,omitempty"`
	// Within is the container that something is made in.
	Within string `cbor:"12,keyasint,omitempty"`
	// Sent is the body that the application gets where that is another one than the operation's: this part's share.
	Sent []byte `cbor:"13,keyasint,omitempty"`
	// Shown is what the application showed before, where what the operation sets is to be seen from that.
	Shown []byte `cbor:"14,keyasint,omitempty"`
	// Grows are sites that the request's scope has added, by an operation called Placing, Forced as the caller said.
	Grows   []engine.SiteID    `cbor:"15,keyasint,omitempty"`
	Placing engine.OperationID `cbor:"16,keyasint,omitempty"`
	Forced  bool               `cbor:"17,keyasint,omitempty"`
	Keys    Keys               `cbor:"18,keyasint"`
	// After is a time that the operation comes after, in Unix microseconds.
	After int64 `cbor:"19,keyasint,omitempty"`
	// Reply is the answer that came and could not be seen to whole; nil: none came.
	Reply *Landed `cbor:"20,keyasint,omitempty"`
	// Answered says that an answer came to the last try: it is not under way any more.
	Answered bool `cbor:"21,keyasint,omitempty"`
	// Looking says that it goes out only if nothing has its name, and that nobody has seen that yet.
	Looking bool `cbor:"22,keyasint,omitempty"`
	// Early says that its client is answered as soon as the application has done it, before that is on disk.
	Early bool `cbor:"23,keyasint,omitempty"`
}

// Of is the request of this site's own that takes a step: o, which has come from another site, or makes the object anew.
func Of(step plan.Step, o *engine.Operation, key string, now time.Time) *Flight {
	f := &Flight{Operation: *o, Line: o.Line, Epoch: o.Epoch, Stage: Declared, Key: key, Since: now.UnixMicro()}
	if step.Kind == plan.StepMake {
		f.Making = &Making{IDs(step.Operations), IDs(step.Again), IDs(step.Voided)}
	}
	return f
}

// IDs names operations.
func IDs(ops []*engine.Operation) []engine.OperationID {
	var list []engine.OperationID
	for _, o := range ops {
		list = append(list, o.ID)
	}
	return list
}

// UnderWay reports whether the application may still be doing it.
func (f *Flight) UnderWay(now time.Time, callTimeout time.Duration) bool {
	return !f.Answered && now.Sub(engine.Time(f.Since)) < callTimeout
}

// Stage says how far a request in flight has come.
type Stage uint8

const (
	// Declared: it is on disk, and going out.
	Declared Stage = iota + 1
	// Unknown: it had no certain answer. What came of it is found out.
	Unknown
	// Asked: nothing tells what came of it. A person is asked.
	Asked
	// Again: a person has said that it is to be sent again.
	Again
)

// Landed is what is kept of an answer.
type Landed struct {
	Status int            `cbor:"1,keyasint"`
	Body   []byte         `cbor:"2,keyasint,omitempty"`
	Local  engine.LocalID `cbor:"3,keyasint,omitempty"`
}

// Making is what a request that makes an object anew settles when it is done, by operation; see plan.Step.
type Making struct {
	Operations []engine.OperationID `cbor:"1,keyasint,omitempty"`
	Again      []engine.OperationID `cbor:"2,keyasint,omitempty"`
	Voided     []engine.OperationID `cbor:"3,keyasint,omitempty"`
}

// Open reports whether nobody knows what came of the request.
func (f *Flight) Open() bool { return f != nil && f.Stage != Declared }

// Question says what a person is asked about it.
func (f *Flight) Question() string {
	return fmt.Sprintf("nobody knows whether %s ran: %s", plan.Told(f.Operation.Type, f.Operation.Path), f.Why)
}

// Unanswered says that nobody is asked about it yet.
func (f *Flight) Unanswered() string {
	return fmt.Sprintf("%s %s has had no certain answer yet: %s", f.Operation.Type, f.Operation.ID, f.Why)
}

// Body is the operation as this site's application gets it.
func (f *Flight) Body() *engine.Operation {
	if f.Sent == nil {
		return &f.Operation
	}
	o := f.Operation
	o.Body, o.Blob = f.Sent, nil
	return &o
}
