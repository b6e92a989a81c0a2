package names

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/skerry/skerry/engine"
)

// kindOf names a kind.
type kindOf struct {
	service engine.ServiceName
	kind    engine.KindName
}

// kinds is what a site knows of the kinds of its application. Each set is never changed: what is learnt makes another one. It is
// safe for concurrent use.
type kinds struct {
	changing sync.Mutex // held by who makes another set
	set      atomic.Pointer[kindSet]
}

type kindSet struct {
	all []*engine.Kind
	by  map[kindOf]*knownKind
}

type knownKind struct {
	*engine.Kind
	// replicated tells whether any resource of it is shared here, translated whether any has another identifier here than its
	// meta-identifier. They only ever become true.
	replicated, translated atomic.Bool
}

// Kind returns a kind of the catalog, nil when there is none of that name.
func (n *Names) Kind(service engine.ServiceName, name engine.KindName) *engine.Kind {
	if known := n.known(service, name); known != nil {
		return known.Kind
	}
	return nil
}

func (n *Names) known(service engine.ServiceName, kind engine.KindName) *knownKind {
	return n.kinds.set.Load().by[kindOf{service, kind}]
}

// Kinds returns all kinds of the catalog.
func (n *Names) Kinds() []*engine.Kind { return n.kinds.set.Load().all }

// Contained lists the kinds of what lies in containers of a kind.
func (n *Names) Contained(k *engine.Kind) []*engine.Kind {
	var list []*engine.Kind
	for _, other := range n.Kinds() {
		if other.Service == k.Service && other.Within == k.Name {
			list = append(list, other)
		}
	}
	return list
}

// Index takes note of a row that the index has.
func (n *Names) Index(row *engine.ResourceRow) {
	known := n.known(row.Service, row.Kind)
	if known == nil {
		return
	}
	known.replicated.Store(true)
	if row.Local != "" && engine.ResourceID(row.Local) != row.ID {
		known.translated.Store(true)
	}
}

// Learn takes in kinds that the application has got since the agent was started, and reports whether there were any that are not known. What
// other sites have of them comes with the next comparison.
func (n *Names) Learn(ctx context.Context, more []*engine.Kind) (news bool, err error) {
	n.kinds.changing.Lock()
	defer n.kinds.changing.Unlock()
	old := n.kinds.set.Load()
	next := &kindSet{slices.Clone(old.all), map[kindOf]*knownKind{}}
	maps.Copy(next.by, old.by)
	for _, kind := range more {
		key := kindOf{kind.Service, kind.Name}
		if next.by[key] != nil {
			continue
		}
		known := &knownKind{Kind: kind}
		rows, _, err := n.store.Resources(ctx, engine.ResourceFilter{Service: kind.Service, Kind: kind.Name, Limit: 1})
		if err != nil {
			return false, fmt.Errorf("read the index of %s.%s: %w", kind.Service, kind.Name, err)
		}
		if len(rows) > 0 {
			known.replicated.Store(true)
			known.translated.Store(!kind.Natural())
		}
		next.all, next.by[key], news = append(next.all, kind), known, true
	}
	n.kinds.set.Store(next)
	return news, nil
}
