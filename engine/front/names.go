package front

import (
	"context"
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// Names knows who holds what clients have given a name that is to be at exactly one of several sites ("A ^ B"). The candidates share a
// document for each name, in which each says what it holds. Nothing else is replicated: the object is its site's, and requests for it
// are forwarded there.
type Names struct{ *around }

// holders returns who holds a name, whichever candidates it was to choose from.
func (n *Names) holders(ctx context.Context, k *engine.Kind, id engine.ResourceID) (map[engine.SiteID]engine.Holding, error) {
	documents, err := n.Store.Names(ctx, k.Service, k.Name, id)
	if err != nil {
		return nil, fmt.Errorf("look up who holds %s: %w", id, err)
	}
	all := map[engine.SiteID]engine.Holding{}
	for _, document := range documents {
		err := n.Site.Look(ctx, document, func(r *replica.Replica) {
			for site, h := range r.Holding() {
				if old, known := all[site]; !known || h.At < old.At {
					all[site] = h
				}
			}
		})
		if _, err := found(err); err != nil {
			return nil, fmt.Errorf("look up who holds %s: %w", id, err)
		}
	}
	return all, nil
}

// Chosen returns the site at which what a name stands for is, empty when none is known here; and whether this site holds something
// under it, though the name may be another's.
func (n *Names) Chosen(ctx context.Context, k *engine.Kind, id string) (at engine.SiteID, here bool, err error) {
	if !k.Natural() || id == "" {
		return "", false, nil
	}
	holders, err := n.holders(ctx, k, engine.ResourceID(id))
	_, here = holders[n.self]
	return view.OwnerOf(holders), here, err
}

// hold says that this site holds something under a name. Said twice of one operation it is said once.
func (n *Names) hold(ctx context.Context, about engine.About, h engine.Holding) error {
	_, id, err := n.Documents.Identify(about)
	if err != nil {
		return fmt.Errorf("make the document of the name %s: %w", about.Key, err)
	}
	said := false
	err = n.Site.Look(ctx, id, func(r *replica.Replica) {
		mine, holds := r.Holding()[n.self]
		said = holds && mine.Operation == h.Operation
	})
	if _, err := found(err); said || err != nil {
		return err
	}
	return n.tell(ctx, id, &about, h)
}

// end says that this site holds nothing under a name any more.
func (n *Names) end(ctx context.Context, k *engine.Kind, id engine.ResourceID) error {
	documents, err := n.Store.Names(ctx, k.Service, k.Name, id)
	if err != nil {
		return fmt.Errorf("look up who holds %s: %w", id, err)
	}
	for _, document := range documents {
		var mine engine.Holding
		holds := false
		err := n.Site.Look(ctx, document, func(r *replica.Replica) { mine, holds = r.Holding()[n.self] })
		if _, err := found(err); err != nil {
			return fmt.Errorf("look up who holds %s: %w", id, err)
		}
		if !holds {
			continue
		}
		mine.Gone = true
		if err := n.tell(ctx, document, nil, mine); err != nil {
			return err
		}
	}
	return nil
}

func (n *Names) tell(ctx context.Context, id engine.DocumentID, about *engine.About, h engine.Holding) error {
	if err := n.Site.Tell(ctx, id, about, &replica.Hold{Holding: h}); err != nil {
		return fmt.Errorf("say who holds what operation %s has made: %w", h.Operation, err)
	}
	return nil
}
