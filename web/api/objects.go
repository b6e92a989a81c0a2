package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/web/shape"
)

// ObjectList is what this site's application has of one kind and nobody replicates.
type ObjectList struct {
	Items []Object `json:"items"`
	// Whole is false where the application has more than was looked at.
	Whole bool `json:"whole"`
}

// Object is one of them: its identifier here, and what people call it.
type Object struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

func (a *API) getObjects(c echo.Context) error {
	q, err := params(c, "service", "kind", "q")
	if err != nil {
		return err
	}
	v, err := a.Objects(c.Request().Context(), q.Get("service"), q.Get("kind"), q.Get("q"))
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// Objects lists what this site's application has of a kind and nobody replicates, as far as its name or identifier has a text. The
// application is asked with the agent's own credentials.
func (a *API) Objects(ctx context.Context, service, kind, text string) (ObjectList, error) {
	v := ObjectList{Items: []Object{}}
	if service == "" || kind == "" {
		return v, badRequest("give service and kind")
	}
	if err := a.checkKind(service, kind); err != nil {
		return v, err
	}
	list, whole, err := a.Operator.Objects(ctx, engine.ServiceName(service), engine.KindName(kind))
	if err != nil {
		return v, fmt.Errorf("list the %ss that only this site has: %w", kind, err)
	}
	v.Whole = whole
	text = strings.ToLower(text)
	for _, o := range list {
		if strings.Contains(strings.ToLower(string(o.Local)+" "+o.Label), text) {
			v.Items = append(v.Items, Object{string(o.Local), o.Label})
		}
	}
	return v, nil
}

// Likeness returns the body of a request that makes another object like one that is there, a resource or not: without what the application
// has given it, and with its sensitive fields hidden, which whoever sends it has to fill in.
func (a *API) Likeness(ctx context.Context, ref ResourceRef) (json.RawMessage, error) {
	if err := a.checkKind(ref.Service, ref.Kind); err != nil {
		return nil, err
	}
	if row, err := a.row(ctx, ref); err == nil { // else it may be an object of this site alone
		ref.ID = string(row.ID)
	}
	k := a.kind(engine.ServiceName(ref.Service), engine.KindName(ref.Kind))
	body, err := a.Operator.Object(ctx, k.Service, k.Name, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", k.Name, ref.ID, err)
	}
	v, ok := shape.DecodeJSON(body)
	if !ok {
		return nil, refuse(http.StatusUnprocessableEntity, "not-json", "the application shows %s %s as something else than JSON", k.Name, ref.ID)
	}
	for _, p := range append([]engine.Pointer{k.ID.At, k.Marker}, k.Ignore...) {
		if p != "" {
			tree.UnsetAt(v, p)
		}
	}
	for _, l := range k.Links {
		tree.UnsetAt(v, l.At)
	}
	if k.Natural() && k.ID.At != "" {
		v = tree.SetPath(v, k.ID.At, json.RawMessage(`""`))
	}
	text, err := json.MarshalIndent(shape.Hide(k, v), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", k.Name, ref.ID, err)
	}
	return text, nil
}
