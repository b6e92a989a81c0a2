package intercept

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/glue"
)

// request is one request on its way, with what has been found out about it.
type request struct {
	*http.Request
	w http.ResponseWriter
	// path is the escaped path without the scope's prefix, query the raw query with its question mark, if any.
	path, query string
	// localPath is the path as this site's application knows it, where containers have another identifier here; empty otherwise.
	localPath string
	carried
	// from is the site whose agent sent it, empty for a client. Via, operation, user, aggregate and content are told by
	// agents only.
	from      engine.SiteID
	via       []engine.SiteID
	operation engine.OperationID
	again     bool // it may have come before
	user      string
	// aggregate are the sites of the list that a part is asked for of; page says that this goes on with one.
	aggregate []engine.SiteID
	page      bool
	content   bool
	gather    bool // a part of a list or a watch is asked for
	oneItem   bool // a list or a watch is of one cross item, at all of its parts
	// match is what it is about; known says whether the path belongs to a kind at all.
	match glue.Match
	known bool
	// choice is where the scope sends it, without sites when there is none; choices are all alternatives of the scope when
	// there are several. Scope is its canonical form.
	choice
	choices []choice
	scope   string
	// container is the cross resource that it lies in, nil for none.
	container *engine.ResourceRow
	// ids are its correlation ids; inherited says that the scope was remembered under one of them.
	ids       []string
	inherited bool
	// written says that the scope is from the body.
	written bool
	// certain is set when no answer came and it is certain that no application was asked.
	certain bool
	// parsed is the scope as a tree, nil without one and for what agents ask; warnings are for the answer.
	parsed   *scope.Scope
	warnings []string
}

// aggregated reports whether the answers of several sites can be made one.
func (q *request) aggregated() bool {
	return q.known && q.match.Verb == glue.VerbList && q.Method == http.MethodGet
}

// target returns the path and the query of a request as they were sent. The query keeps its question mark.
func target(r *http.Request) (path, query string) {
	uri := r.RequestURI
	if !strings.HasPrefix(uri, "/") { // absolute form, or a request made in this process
		uri = r.URL.RequestURI()
	}
	if i := strings.IndexByte(uri, '?'); i >= 0 {
		return uri[:i], uri[i:]
	}
	return uri, ""
}

// readInline reads a body of at most limit bytes. Whole is false when there is more: then the request's body begins
// again with what was read.
func (q *request) readInline(limit int64) (body []byte, whole bool, err error) {
	if q.Body == nil || q.Body == http.NoBody {
		return nil, true, nil
	}
	if q.ContentLength > limit {
		return nil, false, nil
	}
	body, err = io.ReadAll(io.LimitReader(q.Body, limit+1))
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

// partsOf returns the sites of each part, as far as is known here.
func partsOf(row engine.ResourceRow) engine.Parts {
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

// setBody replaces the body that the application gets.
func (q *request) setBody(body []byte) {
	r := q.Request.WithContext(q.Context())
	r.Header = r.Header.Clone()
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if len(body) == 0 {
		r.Body = http.NoBody
	}
	r.Header.Del("Content-Length")
	q.Request = r
}

// choice is one alternative of a scope.
type choice struct {
	sites []engine.SiteID
	// parts are those sites part by part where the scope says cross, nil otherwise.
	parts engine.Parts
	// agreement says how many of them must agree before there is an answer.
	agreement engine.Agreement
	// exactlyOne says that what a name stands for is at one of the sites, the same for everybody.
	exactlyOne bool
	// either says that it and the one before are equals: the nearest counts.
	either bool
}
