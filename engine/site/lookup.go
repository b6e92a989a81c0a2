package site

import (
	"context"
	"errors"

	"github.com/skerry/skerry/engine"
)

// names is where resources are found by what clients and the application call them. It is safe for concurrent use.
type names struct {
	self  engine.SiteID
	kinds *kinds
	store engine.Store
}

// Lookup finds a resource that is shared here by its meta-identifier or this site's own identifier. ErrNotFound: there is none, or it
// was deleted.
func (n *names) Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
	row, err := n.Known(ctx, k, id)
	if err == nil && (row.State.Past() || row.GoneAt(n.self)) {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	return row, err
}

// Known is Lookup that finds what was deleted as well, as long as it is in the index.
func (n *names) Known(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
	if id == "" || !n.Replicates(k) {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	row, err := n.store.ResourceByID(ctx, k.Service, k.Name, engine.ResourceID(n.Everywhere(ctx, k, id)))
	if errors.Is(err, engine.ErrNotFound) {
		row, err = n.store.ResourceByLocal(ctx, k.Service, k.Name, n.Here(ctx, k, id))
	}
	return row, err
}

// Replicates reports whether resources of a kind are shared here, or were.
func (n *names) Replicates(k *engine.Kind) bool {
	known := n.kinds.known(k.Service, k.Name)
	return known != nil && known.replicated.Load()
}

// Local implements engine.Identifiers.
func (n *names) Local(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.LocalID, bool) {
	known := n.kinds.known(service, kind)
	if known == nil || !known.replicated.Load() {
		return "", false
	}
	row, err := n.store.ResourceByID(ctx, service, kind, id)
	return row.Local, err == nil && row.Local != ""
}

// Meta implements engine.Identifiers.
func (n *names) Meta(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.LocalID) (engine.ResourceID, bool) {
	known := n.kinds.known(service, kind)
	if known == nil || !known.replicated.Load() {
		return "", false
	}
	row, err := n.store.ResourceByLocal(ctx, service, kind, id)
	return row.ID, err == nil
}

// Translated implements engine.Identifiers.
func (n *names) Translated(service engine.ServiceName, kind engine.KindName) bool {
	known := n.kinds.known(service, kind)
	return known != nil && known.translated.Load()
}

// Containers returns what others and what this site call a container of things of this kind.
func (n *names) Containers(ctx context.Context, k *engine.Kind, container string) (meta, local string) {
	c := n.kinds.get(k.Service, k.Within)
	if c == nil {
		return container, container
	}
	row, err := n.Lookup(ctx, c, c.FromContainer(container))
	if err != nil {
		return container, container
	}
	meta, local = c.AsContainer(string(row.ID)), container
	if row.Local != "" {
		local = c.AsContainer(string(row.Local))
	}
	return meta, local
}

// Everywhere returns an identifier with its container's meta-identifier in it.
func (n *names) Everywhere(ctx context.Context, k *engine.Kind, id string) string {
	if k.Within == "" || id == "" {
		return id
	}
	container, own := k.Split(id)
	meta, _ := n.Containers(ctx, k, container)
	return engine.Inside(meta, own)
}

// Here returns an identifier that clients have chosen as this site's application knows it: inside its own container.
func (n *names) Here(ctx context.Context, k *engine.Kind, id string) engine.LocalID {
	if k.Within == "" || id == "" {
		return engine.LocalID(id)
	}
	container, own := k.Split(id)
	_, local := n.Containers(ctx, k, container)
	return engine.LocalID(engine.Inside(local, own))
}

// Addressed returns what the application gets for an identifier in a request: target, or where that is empty the container that
// something is to be made in.
func (n *names) Addressed(ctx context.Context, k *engine.Kind, target, within string) engine.LocalID {
	if target == "" && k.Within != "" {
		target = engine.Inside(within, "")
	}
	return n.Here(ctx, k, target)
}

// Kind returns a kind of the catalog, nil when there is none of that name.
func (n *names) Kind(service engine.ServiceName, name engine.KindName) *engine.Kind {
	return n.kinds.get(service, name)
}

// Kinds returns all kinds of the catalog.
func (n *names) Kinds() []*engine.Kind { return n.kinds.set.Load().all }

// Contained lists the kinds of what lies in containers of a kind.
func (n *names) Contained(k *engine.Kind) []*engine.Kind { return n.kinds.contained(k) }
