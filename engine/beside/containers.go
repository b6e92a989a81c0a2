package beside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// lister is what lists what lies in a container at this site's application: an engine.Application.
type lister interface {
	Do(ctx context.Context, c engine.Call) (engine.Reply, error)
	Items(k *engine.Kind, body []byte) ([][]byte, error)
}

// containing is what containers work with.
type containing struct {
	self  engine.SiteID
	known directory
	app   lister
	// look lets f look at a replica: Site.Look.
	look func(ctx context.Context, id engine.DocumentID, f func(*replica.Replica)) error
	// tell hands an input to a replica, and does not wait.
	tell    func(engine.DocumentID, replica.Input)
	now     func() time.Time
	backoff func(tries int) time.Duration
	timeout time.Duration // of one list
	after   time.Duration // how long after a change is looked, so that others are seen with it
	log     *slog.Logger
}

// containers tells what lies in this site's parts of the containers that are spread over sites. It is safe for concurrent use.
type containers struct {
	containing
	due *agenda[containerKey]
}

// containerKey names a container: by its document, or by what this site or others call it.
type containerKey struct {
	document engine.DocumentID
	kind
	id string
}

// kind names a kind.
type kind struct {
	service engine.ServiceName
	name    engine.KindName
}

func newContainers(c containing) *containers {
	return &containers{containing: c, due: newAgenda[containerKey](c.now, c.backoff, 1)}
}

// changed is to be called when what lies in a container may be something else.
func (c *containers) changed(document engine.DocumentID) {
	c.due.add(containerKey{document: document}, 0)
}

// kept is to be called when the row of a resource was stored, in place of another or none: its container may have more or less now.
func (c *containers) kept(before, now *engine.ResourceRow) {
	k := c.known.Kind(now.Service, now.Kind)
	if k == nil || k.Within == "" || before.Local == now.Local && (now.State != engine.StateConverged || before.State == engine.StateConverged) {
		return
	}
	of := c.known.Kind(k.Service, k.Within)
	if of == nil || !c.known.Replicates(of) {
		return
	}
	container, _ := k.Split(string(now.ID))
	c.due.add(containerKey{kind: kind{of.Service, of.Name}, id: of.FromContainer(container)}, c.after)
}

// holds reports whether this site holds a part of a container that is spread over sites.
func (c *containers) holds(row *engine.ResourceRow) bool {
	return row.Collaboration == engine.Cross && row.Sites[c.self].Part > 0
}

// step does one thing that is due, and returns when the next is due; zero: nothing is.
func (c *containers) step(ctx context.Context, now time.Time) time.Time {
	return c.due.step(now, func(k containerKey) (again bool) {
		err := c.find(ctx, k)
		if err == nil || errors.Is(err, engine.ErrNotFound) {
			return false
		}
		if ctx.Err() == nil {
			c.log.Error("see what lies in a container", "document", string(k.document), "resource", k.id, "err", err)
		}
		return true
	})
}

// find looks into a container, or finds out first which one it is.
func (c *containers) find(ctx context.Context, k containerKey) error {
	if k.document != "" {
		return c.list(ctx, k.document)
	}
	of := c.known.Kind(k.service, k.name)
	if of == nil {
		return nil
	}
	row, err := c.known.Lookup(ctx, of, k.id)
	if err != nil {
		return fmt.Errorf("look for container %s: %w", k.id, err)
	}
	if c.holds(&row) {
		c.changed(row.Document)
	}
	return nil
}

// partOf returns what this site's application calls the part that it has of a container which is spread over sites; empty: it has none, or one of
// a resource that began as a replicated one, whose document tells of nothing inside it.
func partOf(r *replica.Replica) engine.LocalID {
	if r.About.Collaboration != engine.Cross || r.Placement().Parts == nil || !r.Holds(r.Self) {
		return ""
	}
	return r.Mine.Local
}

// list has what the application lists in a container compared with what was told of it. What cannot be listed the next look tells.
func (c *containers) list(ctx context.Context, id engine.DocumentID) error {
	var of *engine.Kind
	var local engine.LocalID
	if err := c.look(ctx, id, func(r *replica.Replica) { of, local = r.Kind, partOf(r) }); err != nil {
		return fmt.Errorf("see what lies in document %s: %w", id, err)
	}
	if local == "" {
		return nil
	}
	within := of.AsContainer(string(local))
	for _, k := range c.known.Kinds() {
		if k.Service != of.Service || k.Within != of.Name {
			continue
		}
		if items, ok := c.items(ctx, k, within); ok {
			c.tell(id, &replica.Inside{Kind: k, Items: items, Within: within})
		}
	}
	return nil
}

// items lists what lies in a container, of one kind. An answer that is no list tells nothing: it is not taken for an empty one.
func (c *containers) items(ctx context.Context, k *engine.Kind, within string) ([][]byte, bool) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	reply, err := c.app.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Collection, Local: engine.LocalID(engine.Inside(within, "")),
		Header: map[string]string{"Accept": "application/json"}})
	if err != nil || reply.Status != http.StatusOK {
		return nil, false
	}
	items, err := c.app.Items(k, reply.Body)
	return items, err == nil
}
