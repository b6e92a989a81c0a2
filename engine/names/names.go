package names

import (
	"context"
	"errors"

	"github.com/skerry/skerry/engine"
)

// Store is what is read of the engine's store.
type Store interface {
	ResourceByID(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.ResourceRow, error)
	ResourceByLocal(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.LocalID) (engine.ResourceRow, error)
	Resources(ctx context.Context, f engine.ResourceFilter) (rows []engine.ResourceRow, next string, err error)
}

// Names is where resources are found by what clients and the application call them. It is safe for concurrent use.
type Names struct {
	self  engine.SiteID
	store Store
	kinds kinds
}

// New returns the names of a site that knows no kinds yet.
func New(self engine.SiteID, store Store) *Names {
	n := &Names{self: self, store: store}
	n.kinds.set.Store(&kindSet{})
	return n
}

// Lookup finds a resource that is shared here by its meta-identifier or this site's own identifier. ErrNotFound: there is none, or it
// was deleted.
func (n *Names) Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
	row, err := n.Known(ctx, k, id)
	if err == nil && (row.State.Past() || row.GoneAt(n.self)) {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	return row, err
}

// Known is Lookup that finds what was deleted as well, as long as it is in the index.
func (n *Names) Known(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
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
func (n *Names) Replicates(k *engine.Kind) bool {
	known := n.known(k.Service, k.Name)
	return known != nil && known.replicated.Load()
}

// Local implements engine.Identifiers.
func (n *Names) Local(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.LocalID, bool) {
	known := n.known(service, kind)
	if known == nil || !known.replicated.Load() {
		return "", false
	}
	row, err := n.store.ResourceByID(ctx, service, kind, id)
	return row.Local, err == nil && row.Local != ""
}

// Meta implements engine.Identifiers.
func (n *Names) Meta(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.LocalID) (engine.ResourceID, bool) {
	known := n.known(service, kind)
	if known == nil || !known.replicated.Load() {
		return "", false
	}
	row, err := n.store.ResourceByLocal(ctx, service, kind, id)
	return row.ID, err == nil
}

// Translated implements engine.Identifiers.
func (n *Names) Translated(service engine.ServiceName, kind engine.KindName) bool {
	known := n.known(service, kind)
	return known != nil && known.translated.Load()
}

// Containers returns what others and what this site call a container of things of this kind.
func (n *Names) Containers(ctx context.Context, k *engine.Kind, container string) (meta, local string) {
	c := n.Kind(k.Service, k.Within)
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
func (n *Names) Everywhere(ctx context.Context, k *engine.Kind, id string) string {
	if k.Within == "" || id == "" {
		return id
	}
	container, own := k.Split(id)
	meta, _ := n.Containers(ctx, k, container)
	return engine.Inside(meta, own)
}

// Here returns an identifier that clients have chosen as this site's application knows it: inside its own container.
func (n *Names) Here(ctx context.Context, k *engine.Kind, id string) engine.LocalID {
	if k.Within == "" || id == "" {
		return engine.LocalID(id)
	}
	container, own := k.Split(id)
	_, local := n.Containers(ctx, k, container)
	return engine.LocalID(engine.Inside(local, own))
}

// Addressed returns what the application gets for an identifier in a request: target, or where that is empty the container that
// something is to be made in.
func (n *Names) Addressed(ctx context.Context, k *engine.Kind, target, within string) engine.LocalID {
	if target == "" && k.Within != "" {
		target = engine.Inside(within, "")
	}
	return n.Here(ctx, k, target)
}
