package engine

import (
	"io"
	"net/http"
	"time"
	"unicode/utf8"
)

// Body is the body of a request that is not held in memory.
type Body interface {
	// Open returns its bytes from the first on. Only the reader that was opened last can be relied upon.
	Open() (io.ReadCloser, error)
	// Size is how many they are, -1 when that is not known yet.
	Size() int64
}

// Request is one request of a client that changes something, read and classified by the glue.
type Request struct {
	// Operation is its identifier, when another site gave it one already; empty otherwise.
	Operation OperationID
	// Proposed is what its identifier is to be where it gets one here; empty: any.
	Proposed OperationID `json:"-"`
	Kind     *Kind
	Type     Type
	Method   string
	// Path has {id} in place of the identifier of the resource, Target is that identifier as the client wrote it:
	// a meta-identifier or this site's own. Empty for a create whose identifier the application assigns.
	Path   string
	Target string
	// Within is the container of what is asked for, whose identifier Target begins with; empty for none.
	Within string
	Query  string
	// Header are the content headers that travel with the operation.
	Header map[string]string
	// Body has at most MaxLooked bytes. Large, unless nil, is the body in its place, of more than MaxInlineBody bytes: nobody
	// looks into it.
	Body  []byte
	Large Body `json:"-"`
	// Placement are the sites that the scope resolved to; nil when the request came without a scope.
	Placement []SiteID
	// ExactlyOne says that it is to be at one of the sites of Placement, the same for everybody.
	ExactlyOne bool
	// Alternatives are all that the scope resolved to, when there are several, in the order in which they are to be tried.
	// Placement is the one that is tried now.
	Alternatives []Alternative
	// Agreement says how many sites must have applied it before it is answered.
	Agreement Agreement
	// Async says that the caller wants an answer before it has run, as soon as it is durable; with Wait, unless it runs within that.
	// Wait alone is how long the answer may take at most (0: as long as it is sensible).
	Async bool
	Wait  time.Duration
	// Parts are the sites of each part where the scope says cross, nil otherwise.
	Parts Parts
	// Scope is the canonical scope, empty without one.
	Scope string
	User  string
	// Asker is who asks, as far as that has been found out here for certain; nil: nobody knows.
	Asker *Asker `json:",omitempty"`
	// After are what the request is to come after, wherever it runs.
	After []After `json:",omitempty"`
	// Forced says that sites which the scope adds may lack what undeclared actions have done (ForceActions), ForcedReliance that what others rely
	// on is deleted all the same (ForceReliedOn).
	Forced, ForcedReliance bool
	// Key is the caller's Idempotency-Key, empty without one. Caller tells callers apart, for it and for what is kept.
	Key, Caller string
	// Anonymous says that the caller has shown nothing of who they are.
	Anonymous bool `json:",omitempty"`
	// Bound are the sites that the scope binds other services to, as far as their resources can be referred to.
	Bound map[ServiceName][]SiteID
	// Credentials are the caller's own headers.
	Credentials *Credentials
	// Via are the sites that passed the request on, in order. Again: the last of them may have done so before. Since: it has waited there since then.
	Via   []SiteID
	Again bool      `json:"-"`
	Since time.Time `json:",omitzero"`
}

// From is the site whose agent has passed the request on, as its connection proves; empty: it is of this site's own client.
func (r *Request) From() SiteID {
	if len(r.Via) == 0 {
		return ""
	}
	return r.Via[len(r.Via)-1]
}

// Creates reports whether the request makes what it names where that is not there: what is put below an item makes none.
func (r *Request) Creates() bool {
	if r.Type == TypeCreate {
		return true
	}
	return r.Kind.Natural() && r.Path == r.Kind.Item && (r.Method == http.MethodPut && (r.Type == TypeReplace || r.Type == TypeAbsolute) ||
		r.Type == TypePatch && r.Kind.CreatesByPatch(r.Header["Content-Type"]))
}

// Alternative is one way in which a request may run.
type Alternative struct {
	Placement  []SiteID
	Parts      Parts
	Agreement  Agreement
	ExactlyOne bool
}

// Agreement says how many sites of a placement must have applied an operation before it is answered.
type Agreement string

const (
	AgreeOne    Agreement = "" // the site where it runs first
	AgreeQuorum Agreement = "quorum"
	AgreeSync   Agreement = "sync"
)

// Of returns how many of n sites it asks for.
func (a Agreement) Of(n int) int {
	switch a {
	case AgreeQuorum:
		return n/2 + 1
	case AgreeSync:
		return n
	}
	return 1
}

// What a caller says to have something done all the same.
const (
	// ForceActions: sites are added though actions have run whose effect nothing brings to them.
	ForceActions = "actions"
	// ForceReliedOn: what others rely on is deleted.
	ForceReliedOn = "relied-on"
)

// Answer is what a client gets for a Request or a read.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Content, unless nil, stands in the place of Body, of Length bytes or -1; whoever gets it closes it.
	Content io.ReadCloser
	Length  int64
	// Operation and Resource are empty where there is none.
	Operation OperationID
	Resource  ResourceID
	// Site answered.
	Site SiteID
}

// HeaderSettled tells, beside content that another agent reads (TypeContent), what was settled where it was read: a Vector as
// JSON.
const HeaderSettled = "Skerry-Settled"

// Credentials are the headers by which an application knows who asks. A nil *Credentials stands for the agent's own account
// from the configuration; one without headers for a caller who has shown none.
type Credentials struct {
	Header http.Header `cbor:"1,keyasint,omitempty" json:"header,omitempty"`
}

// TextHeader returns a header with values that can be stored: bytes of them that are no UTF-8 are read as Latin-1, as HTTP once had it.
func TextHeader(h http.Header) http.Header {
	text := h.Clone()
	for _, values := range text {
		for i, v := range values {
			if utf8.ValidString(v) {
				continue
			}
			runes := make([]rune, len(v))
			for j := range len(v) {
				runes[j] = rune(v[j])
			}
			values[i] = string(runes)
		}
	}
	return text
}
