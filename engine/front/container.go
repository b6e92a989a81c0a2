package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/tree"
)

// Containers knows what lies inside containers that are spread over sites. Names inside one are unique over its parts, as far as this
// site knows.
type Containers struct {
	*around
	turns turns
	queue *queue
}

// of returns the cross resource that things of a kind lie in, when this site holds a part of it.
func (c *Containers) of(ctx context.Context, k *engine.Kind, within string) (engine.ResourceRow, bool, error) {
	kind := c.Site.Kind(k.Service, k.Within)
	if kind == nil || within == "" {
		return engine.ResourceRow{}, false, nil
	}
	row, err := c.Site.Lookup(ctx, kind, kind.FromContainer(within))
	there, err := found(err)
	if err != nil {
		return row, false, fmt.Errorf("look for container %s: %w", within, err)
	}
	return row, there && row.Collaboration == engine.Cross && row.Sites[c.self].Part > 0, nil
}

// Contents returns what the parts of a container are known here to hold, of one kind, oldest first. ErrNotFound: the document is not
// here.
func (c *Containers) Contents(ctx context.Context, id engine.DocumentID, kind engine.KindName) (list []engine.Contained, err error) {
	err = c.Site.Look(ctx, id, func(r *replica.Replica) { list = r.View.Inside(kind) })
	if err != nil {
		return nil, fmt.Errorf("contents of a container: %w", err)
	}
	return list, nil
}

// Changed has this site's part of a container looked into: something inside may have changed.
func (c *Containers) Changed(id engine.DocumentID) { c.queue.Add(job{contents: id}, ours, 0) }

// claimedName returns the name that a request wants to give inside a container, empty for one that creates nothing.
func claimedName(r engine.Request) string {
	if !r.Creates() {
		return ""
	}
	_, own := r.Kind.Split(r.Target)
	return tree.NameIn(r.Kind, r.Body, own)
}

// claim takes a name inside a container for a request that creates something, unless it is given already, as far as this site knows.
// Release gives it back once the request is over. Key is the resource that is created, empty for what is not replicated.
func (c *Containers) claim(ctx context.Context, container engine.ResourceRow, k *engine.Kind, name string, key engine.ResourceID) (release func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	taken := func(site engine.SiteID) error {
		return &engine.Refusal{Status: http.StatusConflict, Type: "name-taken", Detail: fmt.Sprintf(
			"%s %q exists already in %s %s, at %s; nothing has happened", k.Name, name, container.Kind, container.ID, c.name(site))}
	}
	release, _ = c.turns.Try(turn{"inside " + string(container.Document), k.Service, k.Name, name})
	if release == nil {
		return nil, taken(c.self)
	}
	all, err := c.Contents(ctx, container.Document, k.Name)
	if err != nil {
		release()
		return nil, err
	}
	for _, i := range all {
		// An application that gives identifiers only once says so itself.
		if i.Name == name && !i.Own && (key == "" || i.Resource != key) && (i.Site != c.self || k.Unique != "") {
			release()
			return nil, taken(i.Site)
		}
	}
	return release, nil
}

// claimFor is claim for a request that concerns this site's part alone. A PUT of what is there creates nothing.
func (c *Containers) claimFor(ctx context.Context, container engine.ResourceRow, r engine.Request) (release func(), err error) {
	name := claimedName(r)
	if _, own := r.Kind.Split(r.Target); name != "" && own != "" {
		all, err := c.Contents(ctx, container.Document, r.Kind.Name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(i engine.Contained) bool { return i.Site == c.self && i.Local == own }) {
			name = ""
		}
	}
	return c.claim(ctx, container, r.Kind, name, "")
}

// tell tells the other parts of a container of something in this site's part. What is told to a container that is no more is lost.
func (c *Containers) tell(ctx context.Context, container engine.DocumentID, made *replica.Made) error {
	err := c.Site.Tell(ctx, container, nil, made)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("tell of %s %s: %w", made.Kind.Name, made.Local, err)
	}
	return nil
}

// Contents returns what the parts of a container are known here to hold, of one kind, oldest first. ErrNotFound: the document is not
// here.
func (f *Front) Contents(ctx context.Context, id engine.DocumentID, kind engine.KindName) ([]engine.Contained, error) {
	return f.containers.Contents(ctx, id, kind)
}

// ContentsChanged is to be called when a request that changes something inside a container has passed through this site.
func (f *Front) ContentsChanged(container engine.DocumentID) { f.containers.Changed(container) }

// createInside is create, for what may lie in a container that is spread over sites.
func (f *Front) createInside(ctx context.Context, r engine.Request, k keys.Keeper) (engine.Answer, error) {
	container, inside, err := f.containers.of(ctx, r.Kind, r.Within)
	if err != nil {
		return engine.Answer{}, err
	}
	if err := f.takeLarge(ctx, r); err != nil {
		return engine.Answer{}, err
	}
	if !inside {
		return f.create(ctx, r, k)
	}
	release, err := f.containers.claim(ctx, container, r.Kind, claimedName(r), engine.ResourceID(tree.ChosenName(r)))
	if err != nil {
		return engine.Answer{}, err
	}
	defer release()
	a, err := f.create(ctx, r, k)
	if err != nil || a.Resource == "" {
		return a, err
	}
	_, own := r.Kind.Split(string(a.Resource))
	if row, err := f.Site.Lookup(ctx, r.Kind, string(a.Resource)); err == nil && row.Local != "" {
		_, own = r.Kind.Split(string(row.Local))
	}
	told := &replica.Made{Kind: r.Kind, Local: own, Representation: a.Body, Resource: a.Resource}
	if err := f.containers.tell(ctx, container.Document, told); err != nil { // it has been made all the same: a look tells
		f.Log.Error("tell of what was made inside a container", "resource", string(a.Resource), "err", err)
		f.containers.Changed(container.Document)
	}
	return a, nil
}
