package peer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/typing"
	"github.com/skerry/skerry/web/world"
)

// askBytes is the most bytes of a representation that is read to type a reference.
const askBytes = 1 << 20

// NewChecker returns what types the requests of a site's listeners. Visibility is the catalog's.
func NewChecker(client *glue.Client, shared typing.Resources, m engine.Membership, peer http.RoundTripper, visibility func(*engine.Kind) glue.Visibility) *typing.Checker {
	a := asker{client, shared, m, peer}
	return &typing.Checker{Self: m.Self(), Resources: shared, Kind: client.Kind, Visibility: visibility, Ask: a.ask,
		Name: func(id engine.SiteID) string { return world.Name(m, id) }}
}

// asker reads single resources at this site's application and through the agents of others.
type asker struct {
	client *glue.Client
	shared typing.Resources
	mesh   engine.Membership
	peer   http.RoundTripper
}

// ask implements typing.Ask.
func (a asker) ask(ctx context.Context, at engine.SiteID, k *engine.Kind, id string, header http.Header) (typing.Shown, error) {
	if at == a.mesh.Self() {
		return a.askHere(ctx, k, id, header)
	}
	path, ok := glue.ExpandPath(k.Item, id)
	if !ok {
		return typing.Shown{Status: http.StatusNotFound}, nil
	}
	h := header.Clone()
	if h == nil {
		h = http.Header{}
	}
	glue.StripAgent(h)
	h.Del("Accept-Encoding")
	h.Set("Accept", "application/json")
	h.Set(HeaderService, string(k.Service))
	h.Set(HeaderVia, string(a.mesh.Self()))
	h.Set(HeaderPlacement, string(at))
	r := (&http.Request{Method: http.MethodGet, Header: h, Host: string(at), URL: glue.Target(&url.URL{Scheme: "http", Host: string(at)}, path, "")}).WithContext(ctx)
	resp, err := AskAgain(a.peer, r)
	if err != nil {
		return typing.Shown{}, fmt.Errorf("ask %s for %s %s: %w", world.Name(a.mesh, at), k.Name, id, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, askBytes+1))
	if err != nil {
		return typing.Shown{}, fmt.Errorf("ask %s for %s %s: %w", world.Name(a.mesh, at), k.Name, id, err)
	}
	return seenIn(resp.StatusCode, body, k, id)
}

func (a asker) askHere(ctx context.Context, k *engine.Kind, id string, header http.Header) (typing.Shown, error) {
	local := engine.LocalID(id)
	if row, err := a.shared.Lookup(ctx, k, id); err == nil && row.Local != "" {
		local = row.Local
	}
	reply, err := a.client.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Item, Local: local, Credentials: &engine.Credentials{Header: header}})
	if err != nil {
		return typing.Shown{}, fmt.Errorf("ask the application for %s %s: %w", k.Name, id, err)
	}
	return seenIn(reply.Status, reply.Body, k, id)
}

// seenIn tells what an answer says; an error when it does not tell whether there is such a resource.
func seenIn(status int, body []byte, k *engine.Kind, id string) (typing.Shown, error) {
	switch {
	case status == http.StatusOK && len(body) <= askBytes:
		return typing.Shown{Status: http.StatusOK, Body: body}, nil
	case status == http.StatusNotFound, status == http.StatusGone:
		return typing.Shown{Status: http.StatusNotFound}, nil
	}
	return typing.Shown{}, fmt.Errorf("ask for %s %s: status %d, %d bytes", k.Name, id, status, len(body))
}
