package site

import (
	"context"
	"errors"

	"github.com/skerry/skerry/engine"
)

// Lookup finds a resource that is shared here by its meta-identifier or this site's own identifier. ErrNotFound: there is none, or it
// was deleted.
func (s *Site) Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
	if id == "" || !s.Replicates(k) {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	row, err := s.cfg.Store.ResourceByID(ctx, k.Service, k.Name, engine.ResourceID(s.Everywhere(ctx, k, id)))
	if errors.Is(err, engine.ErrNotFound) {
		row, err = s.cfg.Store.ResourceByLocal(ctx, k.Service, k.Name, s.Here(ctx, k, id))
	}
	if err == nil && (row.State.Past() || row.GoneAt(s.cfg.Self)) {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	return row, err
}

// Replicates reports whether resources of a kind are shared here, or were.
func (s *Site) Replicates(k *engine.Kind) bool {
	known := s.kinds.known(k.Service, k.Name)
	return known != nil && known.replicated.Load()
}

// Local implements engine.Identifiers.
func (s *Site) Local(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.LocalID, bool) {
	known := s.kinds.known(service, kind)
	if known == nil || !known.replicated.Load() {
		return "", false
	}
	row, err := s.cfg.Store.ResourceByID(ctx, service, kind, id)
	return row.Local, err == nil && row.Local != ""
}

// Meta implements engine.Identifiers.
func (s *Site) Meta(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.LocalID) (engine.ResourceID, bool) {
	known := s.kinds.known(service, kind)
	if known == nil || !known.replicated.Load() {
		return "", false
	}
	row, err := s.cfg.Store.ResourceByLocal(ctx, service, kind, id)
	return row.ID, err == nil
}

// Translated implements engine.Identifiers.
func (s *Site) Translated(service engine.ServiceName, kind engine.KindName) bool {
	known := s.kinds.known(service, kind)
	return known != nil && known.translated.Load()
}

// Containers returns what others and what this site call a container of things of this kind.
func (s *Site) Containers(ctx context.Context, k *engine.Kind, container string) (meta, local string) {
	c := s.kinds.get(k.Service, k.Within)
	if c == nil {
		return container, container
	}
	row, err := s.Lookup(ctx, c, c.FromContainer(container))
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
func (s *Site) Everywhere(ctx context.Context, k *engine.Kind, id string) string {
	if k.Within == "" || id == "" {
		return id
	}
	container, own := k.Split(id)
	meta, _ := s.Containers(ctx, k, container)
	return engine.Inside(meta, own)
}

// Here returns an identifier that clients have chosen as this site's application knows it: inside its own container.
func (s *Site) Here(ctx context.Context, k *engine.Kind, id string) engine.LocalID {
	if k.Within == "" || id == "" {
		return engine.LocalID(id)
	}
	container, own := k.Split(id)
	_, local := s.Containers(ctx, k, container)
	return engine.LocalID(engine.Inside(local, own))
}

// Addressed returns what the application gets for an identifier in a request: target, or where that is empty the container that
// something is to be made in.
func (s *Site) Addressed(ctx context.Context, k *engine.Kind, target, within string) engine.LocalID {
	if target == "" && k.Within != "" {
		target = engine.Inside(within, "")
	}
	return s.Here(ctx, k, target)
}
