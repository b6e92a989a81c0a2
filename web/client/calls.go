package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
)

// Filter says which resources, operations or conflicts are listed. What is empty leaves out nothing; what a list does not know the agent refuses.
type Filter struct {
	Service, Kind, Site, State string
	// Resource is the identifier of the one that operations or conflicts are about.
	Resource string
	// About is what conflicts are about.
	About string
	// Text is what they have to show (q).
	Text string
	// Limit is the most of them; 0: all.
	Limit int
}

func (f Filter) list(path string) List {
	return List{Path: path, Cursor: "cursor", Limit: f.Limit, Query: url.Values{
		"service": {f.Service}, "kind": {f.Kind}, "site": {f.Site}, "state": {f.State}, "resource": {f.Resource}, "q": {f.Text}, "about": {f.About}}}
}

// Sites lists the sites of the mesh, the one that is asked first.
func (c *Client) Sites(ctx context.Context) ([]Site, error) {
	b, err := c.Get(ctx, "/sites", nil)
	if err != nil {
		return nil, err
	}
	return Decode[[]Site](b)
}

// Resources lists resources, the newest first. Pages are asked for on the way; an error is the last of the list.
func (c *Client) Resources(ctx context.Context, f Filter) iter.Seq2[Resource, error] {
	return each[Resource](ctx, c, f.list("/resources"))
}

// Operations lists operations likewise.
func (c *Client) Operations(ctx context.Context, f Filter) iter.Seq2[Operation, error] {
	return each[Operation](ctx, c, f.list("/operations"))
}

// Conflicts lists what waits for a person likewise.
func (c *Client) Conflicts(ctx context.Context, f Filter) iter.Seq2[Conflict, error] {
	return each[Conflict](ctx, c, f.list("/conflicts"))
}

// Resource is one resource, by its identifier.
func (c *Client) Resource(ctx context.Context, id string) (Resource, error) {
	return got[Resource](c.Get(ctx, "/resources/"+url.PathEscape(id), nil))
}

// Operation is one operation.
func (c *Client) Operation(ctx context.Context, id string) (Operation, error) {
	return got[Operation](c.Get(ctx, "/operations/"+url.PathEscape(id), nil))
}

// Place has a resource live at these sites, all of them, and returns the operation that brings that about; one without an identifier where it lives
// there already.
func (c *Client) Place(ctx context.Context, id string, sites []string) (Operation, error) {
	o, err := got[Operation](c.Call(ctx, http.MethodPatch, "/resources/"+url.PathEscape(id), map[string]any{"sites": sites}))
	if o.Type == "" { // it is the resource
		return Operation{}, err
	}
	return o, err
}

// Request is one request of the application, to be issued as a client of its listener would issue it.
type Request struct {
	Service string            `json:"service"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
	Scope   string            `json:"scope,omitempty"`
}

// Issued is what came of a request: an operation, or the application's own answer where it became none.
type Issued struct {
	Operation
	Answer json.RawMessage `json:"answer"`
}

// Issue issues a request.
func (c *Client) Issue(ctx context.Context, r Request) (Issued, error) {
	return got[Issued](c.Post(ctx, "/operations", r))
}

// Resolve decides about a conflict: action is one of those that it names, site the one that "keep" is about, empty for others.
func (c *Client) Resolve(ctx context.Context, id, action, site string) error {
	body := map[string]string{"action": action}
	if site != "" {
		body["site"] = site
	}
	_, err := c.Post(ctx, "/conflicts/"+url.PathEscape(id)+"/resolve", body)
	return err
}

func got[T any](b json.RawMessage, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return Decode[T](b)
}
