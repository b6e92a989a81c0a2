package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Rejected tells what came of deletions that were rejected at a site.
type Rejected struct {
	Site string `json:"site"`
	// Back are the resources that were made again, of the objects that were to be deleted or of what is remembered of those that were.
	Back []Back `json:"back"`
	// Refused are deletions of which nothing came, each with the reason.
	Refused []Undone `json:"refused"`
}

// Back is a resource that was made again.
type Back struct {
	Operation string `json:"operation"` // the deletion
	Resource  string `json:"resource"`
	Service   string `json:"service"`
	Kind      string `json:"kind"`
}

// Undone is a deletion that stays as it is, and why.
type Undone struct {
	Operation string `json:"operation"`
	Reason    string `json:"reason"`
}

// maxRejected is how many deletions are rejected at once.
const maxRejected = 1000

func (a *API) postReject(c echo.Context) error {
	var q DeletionsRequest
	if _, err := params(c); err != nil {
		return err
	}
	if err := decode(c, &q); err != nil {
		return err
	}
	site, err := a.siteParam(c)
	if err != nil {
		return err
	}
	v, err := a.Reject(c.Request().Context(), a.asker(c), site, q)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// Reject brings back what deletions have taken away that came in while a site was away, or would take away: of what is held there the object stays,
// and is a resource of the same sites again; what has run is made anew, as it was. What the site from has no part in is refused.
func (a *API) Reject(ctx context.Context, from, site engine.SiteID, q DeletionsRequest) (Rejected, error) {
	here, err := a.here(from, site)
	if err != nil {
		return Rejected{}, err
	}
	if len(q.Operations) == 0 || len(q.Operations) > maxRejected {
		return Rejected{}, badRequest("operations names %d deletions: give from 1 to %d", len(q.Operations), maxRejected)
	}
	v := Rejected{Site: a.names().Of(site), Back: []Back{}, Refused: []Undone{}}
	a.note(ctx, chosen("reject", q.Operations), a.decider(ctx, from))
	if !here {
		err := a.askSite(ctx, site, http.MethodPost, "/sites/"+url.PathEscape(string(site))+"/reject", q, &v)
		return v, err
	}
	for _, id := range q.Operations {
		back, err := a.reject(ctx, from, id)
		refusal := AsRefusal(err)
		switch {
		case err == nil:
			v.Back = append(v.Back, back)
		case refusal.Type == "internal" || ctx.Err() != nil:
			return v, err
		default:
			v.Refused = append(v.Refused, Undone{string(id), refusal.Detail})
		}
	}
	return v, nil
}

// reject brings back what one deletion has taken away here, or would.
func (a *API) reject(ctx context.Context, from engine.SiteID, id engine.OperationID) (Back, error) {
	row, err := a.operationFor(ctx, string(id), from)
	if err != nil {
		return Back{}, err
	}
	id = row.ID // the beginning of it may have been given
	if row.Type != engine.TypeDelete {
		return Back{}, refuse(http.StatusUnprocessableEntity, "settle", "%s %s is no deletion: there is nothing to reject", row.Type, id)
	}
	held := row.Sites[a.Mesh.Self()].State == engine.StateHeld
	if from != a.Mesh.Self() {
		w := engine.Wish{From: from, Service: row.Service, Kind: row.Kind, Scope: a.collaborationOf(ctx, row.Document), Act: engine.ActCreate}
		if held {
			w.Act = engine.ActChange
		}
		if err := a.lets(w, !held); err != nil {
			return Back{}, err
		}
	}
	b := Back{Operation: string(id), Resource: string(row.Resource), Service: string(row.Service), Kind: string(row.Kind)}
	if held {
		made, err := a.Operator.Reject(ctx, id, a.decider(ctx, from))
		b.Resource = string(made)
		return b, err
	}
	if now, err := a.row(ctx, ResourceRef{b.Resource, b.Service, b.Kind}); err == nil && !now.State.Past() && now.Document != row.Document {
		return Back{}, refuse(http.StatusConflict, "exists", "there is another %s %s by now", row.Kind, row.Resource)
	}
	request, err := a.BringBack(ctx, string(id))
	if err != nil {
		return Back{}, err
	}
	if k := a.kind(row.Service, row.Kind); bytes.Contains(request.Body, []byte(shape.Hidden)) && len(k.Sensitive) > 0 {
		return Back{}, refuse(http.StatusConflict, "settle", "%s has fields that are hidden here: make it again with the composer, and fill them in", row.Resource)
	}
	got, err := a.Issue(ctx, request, "back-"+string(id), "")
	if err != nil {
		return Back{}, err
	}
	if s := got.Answer.Status; s >= 300 {
		return Back{}, refuse(http.StatusConflict, "settle", "the application answers %d to making %s again", s, row.Resource)
	}
	b.Resource = got.Answer.Resource
	return b, nil
}

// chosen says which deletions somebody has chosen.
func chosen(what string, ids []engine.OperationID) string {
	if ids == nil {
		return what + " all"
	}
	return fmt.Sprintf("%s %d: %v", what, len(ids), shape.Texts(ids))
}
