package request

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/carry"
)

// Request is one request on its way, with what has been found out about it.
type Request struct {
	*http.Request
	W http.ResponseWriter // where the answer goes
	// Path is the escaped path without the scope's prefix, Query the raw query with its question mark, if any.
	Path, Query string
	// LocalPath is the path as this site's application knows it, where containers have another identifier here; empty otherwise.
	LocalPath string
	carry.Carried
	// From is the site whose agent sent it, empty for a client. Via, Operation, User, Aggregate and Content are told by
	// agents only.
	From      engine.SiteID
	Via       []engine.SiteID
	Operation engine.OperationID
	// Proposed is what it is to be called as an operation, empty for anything. Began is the trace that the agent has begun with it.
	Proposed engine.OperationID
	Began    string
	Again    bool      // it may have come before
	Since    time.Time // it has waited at another site since then
	User     string
	// Client is the address of the client, as far as it is known.
	Client string
	// Aggregate are the sites of the list that a part is asked for of; Page says that this goes on with one.
	Aggregate []engine.SiteID
	Page      bool
	Content   bool // content beside a representation is read for a site that was added
	Gather    bool // a part of a list or a watch is asked for
	OneItem   bool // a list or a watch is of one cross item, at all of its parts
	// Match is what it is about; Known says whether the path belongs to a kind at all.
	Match glue.Match
	Known bool
	// Choice is where the scope sends it, without sites when there is none; Choices are all alternatives of the scope when
	// there are several. Scope is its canonical form.
	Choice
	Choices []Choice
	Scope   string
	// After are the writes that it is to come after, at the site that answers it.
	After []engine.After
	// Container is the cross resource that it lies in, nil for none.
	Container *engine.ResourceRow
	// IDs are its correlation ids; Inherited says that the scope was remembered under one of them.
	IDs       []carry.ID
	Inherited bool
	// Written says that the scope is from the body.
	Written bool
	// Bodies bounds the memory that its body takes, until Release; nil: nothing does.
	Bodies *Bodies
	held   int64
	// Certain is set when no answer came and it is certain that no application was asked.
	Certain bool
	// Parsed is the scope as a tree, nil without one and for what agents ask; Warnings are for the answer.
	Parsed   *scope.Scope
	Warnings []string
	// Unnamed says that the scope does not name the service, which so runs it here alone; empty: it does.
	Unnamed string
}

// Aggregated reports whether the answers of several sites can be made one.
func (q *Request) Aggregated() bool {
	return q.Known && q.Match.Verb == glue.VerbList && q.Method == http.MethodGet
}

// Target returns the path and the query of a request as they were sent. The query keeps its question mark.
func Target(r *http.Request) (path, query string) {
	uri := r.RequestURI
	if !strings.HasPrefix(uri, "/") { // absolute form, or a request made in this process
		uri = r.URL.RequestURI()
	}
	if i := strings.IndexByte(uri, '?'); i >= 0 {
		return uri[:i], uri[i:]
	}
	return uri, ""
}

// ReadInline reads a body of at most limit bytes. Whole is false when there is more: then the request's body begins
// again with what was read.
func (q *Request) ReadInline(limit int64) (body []byte, whole bool, err error) {
	if q.Body == nil || q.Body == http.NoBody {
		return nil, true, nil
	}
	if q.ContentLength > limit {
		return nil, false, nil
	}
	body, err = q.readAll(limit + 1)
	if err != nil {
		return nil, false, err
	}
	if int64(len(body)) > limit {
		q.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(string(body)), q.Body), q.Body}
		return nil, false, nil
	}
	return body, true, nil
}

// PartsOf returns the sites of each part, as far as is known here.
func PartsOf(row engine.ResourceRow) engine.Parts {
	var parts engine.Parts
	for id, st := range row.Sites {
		if st.Part == 0 || st.State == engine.StateLeaving {
			continue
		}
		for len(parts) < st.Part {
			parts = append(parts, nil)
		}
		parts[st.Part-1] = append(parts[st.Part-1], id)
	}
	return parts
}

// SetBody replaces the body that the application gets.
func (q *Request) SetBody(body []byte) {
	r := q.Request.WithContext(q.Context())
	r.Header = r.Header.Clone()
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if len(body) == 0 {
		r.Body = http.NoBody
	}
	r.Header.Del("Content-Length")
	q.Request = r
}

// Choice is one alternative of a scope.
type Choice struct {
	Sites []engine.SiteID
	// Parts are those sites part by part where the scope says cross, nil otherwise.
	Parts engine.Parts
	// Agreement says how many of them must agree before there is an answer.
	Agreement engine.Agreement
	// ExactlyOne says that what a name stands for is at one of the sites, the same for everybody.
	ExactlyOne bool
	// Either says that it and the one before are equals: the nearest counts.
	Either bool
}
