package site

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/skerry/skerry/engine"
)

// kindOf names a kind.
type kindOf struct {
	service engine.ServiceName
	kind    engine.KindName
}

// kindSet is what a site knows of the kinds of its application. Each set is never changed: what is learnt makes another one. It is
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

func (k *kinds) get(service engine.ServiceName, kind engine.KindName) *engine.Kind {
	if known := k.known(service, kind); known != nil {
		return known.Kind
	}
	return nil
}

func (k *kinds) known(service engine.ServiceName, kind engine.KindName) *knownKind {
	return k.set.Load().by[kindOf{service, kind}]
}

// contained lists the kinds of what lies in containers of a kind.
func (k *kinds) contained(of *engine.Kind) []*engine.Kind {
	var list []*engine.Kind
	for _, other := range k.set.Load().all {
		if other.Service == of.Service && other.Within == of.Name {
			list = append(list, other)
		}
	}
	return list
}

// learn takes in kinds that are not known yet, and reports whether there were any.
func (k *kinds) learn(ctx context.Context, store engine.Store, more []*engine.Kind) (news bool, err error) {
	k.changing.Lock()
	defer k.changing.Unlock()
	old := k.set.Load()
	if old == nil {
		old = &kindSet{}
	}
	next := &kindSet{slices.Clone(old.all), map[kindOf]*knownKind{}}
	maps.Copy(next.by, old.by)
	for _, kind := range more {
		key := kindOf{kind.Service, kind.Name}
		if next.by[key] != nil {
			continue
		}
		known := &knownKind{Kind: kind}
		rows, _, err := store.Resources(ctx, engine.ResourceFilter{Service: kind.Service, Kind: kind.Name, Limit: 1})
		if err != nil {
			return false, fmt.Errorf("read the index of %s.%s: %w", kind.Service, kind.Name, err)
		}
		if len(rows) > 0 {
			known.replicated.Store(true)
			known.translated.Store(!kind.Natural())
		}
		next.all, next.by[key], news = append(next.all, kind), known, true
	}
	k.set.Store(next)
	return news, nil
}

// admits classifies an operation again: what its origin says must be what this site's catalog says, of the resource of its document
// and no other, and its headers must be of those that travel and can be sent.
func (s *Site) admits(k *engine.Kind, o *engine.Operation) bool {
	if o.Type == engine.TypePlace {
		return o.Method == "" && o.Path == "" && o.Query == "" && len(o.Header) == 0 && len(o.Body) == 0 && o.Blob == nil && o.Edit == nil
	}
	if rest, ok := strings.CutPrefix(o.Path, k.Item); !ok && (o.Type != engine.TypeCreate || o.Path != k.Collection) ||
		ok && (rest != "" && rest[0] != '/' || strings.Contains(rest, "{id}")) {
		return false
	}
	kind, t, ok := s.cfg.Catalog.Classify(k.Service, o.Method, o.Path, o.Header)
	if !ok || kind != k.Name {
		return false
	}
	if n := k.Named(o.Method, o.Path); n != nil {
		o.Name = n.Name
	}
	return t == o.Type || (t == engine.TypeReplace || t == engine.TypeAbsolute) && o.Type == engine.TypeCreate ||
		t == engine.TypePatch && o.Type == engine.TypeCreate && k.CreatesByPatch(o.Header["Content-Type"]) ||
		t == engine.TypeReplace && o.Type == engine.TypeAbsolute || (t == engine.TypeMerge || t == engine.TypePatch) && o.Type == engine.TypeAction
}
