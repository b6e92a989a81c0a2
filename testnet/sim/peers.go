package sim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/problem"
)

// present puts the meta-identifier in the place of the application's own, and takes the marker out.
func present(ctx context.Context, ids engine.Identifiers, k *engine.Kind, r engine.Reply) (engine.Reply, error) {
	var o map[string]any
	if len(r.Body) == 0 || json.Unmarshal(r.Body, &o) != nil {
		return r, nil
	}
	if id, ok := o["id"].(string); ok {
		if meta, ok := ids.Meta(ctx, k.Service, k.Name, engine.LocalID(id)); ok {
			o["id"] = string(meta)
		}
	}
	unmark(o)
	r.Body = encode(o)
	return r, nil
}

// peers answers the requests of other agents: what the interception of a service does with them, without the service.
type peers struct{ p *process }

func (h peers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.p.Mesh.IsMember(engine.SiteID(r.RemoteAddr)) {
		problem.Write(w, http.StatusForbidden, "stranger", "", nil)
		return
	}
	media := r.Header.Get("Content-Type")
	k, path, target, t, ok := route(r.Method, r.URL.Path, media)
	body, err := io.ReadAll(r.Body)
	if !ok || err != nil {
		problem.Write(w, http.StatusBadRequest, "body", "", nil)
		return
	}
	a, err := h.p.Front.Submit(r.Context(), engine.Request{
		Operation: engine.OperationID(r.Header.Get("Skerry-Operation")), Kind: k, Type: t, Method: r.Method, Path: path,
		Target: target, Query: r.URL.RawQuery, Header: map[string]string{"Content-Type": media}, Body: body, Placement: list(r.Header.Get("Skerry-Placement")),
		Scope: r.Header.Get("Scope"), Via: list(r.Header.Get("Skerry-Via")), Again: r.Header.Get(peer.HeaderAgain) != "", Since: peer.Since(r.Header),
	})
	if h.p.dead.Load() || r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the other side gets no answer
	}
	if err != nil {
		refusal := &engine.Refusal{Status: http.StatusInternalServerError, Type: "internal", Detail: err.Error()}
		errors.As(err, &refusal)
		if refusal.Operation != "" {
			w.Header().Set("Skerry-Operation", string(refusal.Operation))
		}
		problem.Write(w, refusal.Status, refusal.Type, refusal.Detail, nil)
		return
	}
	w.Header().Set("Skerry-Operation", string(a.Operation))
	w.Header().Set("Skerry-Resource", string(a.Resource))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

func list(header string) []engine.SiteID {
	var ids []engine.SiteID
	for part := range strings.SplitSeq(header, ",") {
		if part != "" {
			ids = append(ids, engine.SiteID(part))
		}
	}
	return ids
}
