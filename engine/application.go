package engine

import (
	"context"
	"io"
	"net/http"
)

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
	// Content, unless nil, is the body in the place of Body, Length bytes, -1 when that is not known. It is read once, and perhaps a little longer than Do takes.
	Content io.Reader
	Length  int64
	// Stream asks for the body of an answer of status 200 as Reply.Content.
	Stream bool
	// Key is sent as Idempotency-Key, unless empty.
	Key string
	// Credentials are the caller's; nil: the agent's own. As, beside these alone, is the user that the application is to do it for, with that
	// user's rights; nil: with the agent's.
	Credentials *Credentials
	As          *Asker
}

// Reply is what the application answered.
type Reply struct {
	Status int
	Header http.Header
	// Body is as the application sent it. Content, unless nil, stands in its place, of Length bytes or -1; whoever gets it closes the spool.
	Body    []byte
	Content io.ReadCloser
	Length  int64
	// Local is the identifier of the resource that a creating call made, empty when the answer does not tell it.
	Local LocalID
	// Within is the container of what Body represents, as clients or as this site call it; empty for none.
	Within string
	Closed bool // it makes nothing more in a container, since that is being deleted
}

// Gone reports whether an answer says that there is no such object.
func (r Reply) Gone() bool { return r.Status == http.StatusNotFound || r.Status == http.StatusGone }

// Answer is what a client gets of it.
func (r Reply) Answer() Answer {
	return Answer{Status: r.Status, Header: r.Header, Body: r.Body, Content: r.Content, Length: r.Length}
}

// Application runs requests at this site's instance of the application. It is safe for concurrent use.
type Application interface {
	// Do sends c, with the meta-identifiers in its path, query and body translated to this site's. ErrUnreachable: it is certain that the application did not get
	// it. Any other error: it is not known. Of a call with Content or Stream, Do itself bounds how long nothing may move; of others the caller bounds the time.
	Do(ctx context.Context, c Call) (Reply, error)
	// Present returns r as clients see it: the identifiers of replicated resources translated to meta-identifiers, in the
	// body and in Location, and markers taken off.
	Present(ctx context.Context, k *Kind, r Reply) (Reply, error)
	// Find lists the objects of a kind whose marker is that of a request, with their Local and as a GET shows them in a list.
	// It reads the whole list, with the agent's credentials. ErrUntellable: lists do not show the field.
	Find(ctx context.Context, k *Kind, request string) ([]Reply, error)
	// Items takes the answer to a GET on the collection of a kind apart.
	Items(k *Kind, body []byte) ([][]byte, error)
}

// Catalog is what this site's own catalog says of requests. It is safe for concurrent use.
type Catalog interface {
	// Classify tells the kind and type of a request, so that a peer cannot pass one thing off as another. Path has {id}.
	Classify(service ServiceName, method, path string, header map[string]string) (KindName, Type, bool)
}

// Identifiers translates between the meta-identifiers of replicated resources and this site's own identifiers. It is safe for concurrent use.
type Identifiers interface {
	// Local returns ok false when the id names no resource that is replicated here.
	Local(ctx context.Context, service ServiceName, kind KindName, id ResourceID) (local LocalID, ok bool)
	Meta(ctx context.Context, service ServiceName, kind KindName, id LocalID) (meta ResourceID, ok bool)
	// Translated reports whether any resource of the kind has another identifier here than its meta-identifier.
	Translated(service ServiceName, kind KindName) bool
}
