package storage

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
)

// kindName names a kind of a service.
type kindName struct {
	service engine.ServiceName
	kind    engine.KindName
}

// dictionary gives numbers to what many rows have in common. It belongs to the writer; readers ask the tables.
type dictionary[K comparable] struct {
	find, add statement
	args      func(K) []driver.Value
	numbers   recent[K, int64]
}

func newDictionary[K comparable](find, add statement, args func(K) []driver.Value) dictionary[K] {
	return dictionary[K]{find: find, add: add, args: args, numbers: recent[K, int64]{most: 1024}}
}

// number returns the number of k, and whether this has given it. That of the zero K is 0.
func (d *dictionary[K]) number(w *writer, k K) (n int64, added bool, err error) {
	var none K
	if k == none {
		return 0, false, nil
	}
	if n, ok := d.numbers.get(k); ok {
		return n, false, nil
	}
	n, err = w.number(d.find, d.args(k)...)
	if errors.Is(err, engine.ErrNotFound) {
		added = true
		_, n, err = w.run(d.add, d.args(k)...)
	}
	if err != nil {
		return 0, false, fmt.Errorf("number of %v: %w", k, err)
	}
	d.numbers.put(k, n)
	return n, added, nil
}

func (w *writer) kind(service engine.ServiceName, kind engine.KindName) (int64, error) {
	n, _, err := w.kinds.number(w, kindName{service, kind})
	return n, err
}

func (w *writer) site(id engine.SiteID) (int64, error) {
	n, _, err := w.sites.number(w, id)
	return n, err
}

func (w *writer) line(l engine.Line) (int64, error) {
	n, _, err := w.lines.number(w, l)
	return n, err
}

// placement returns the number of a set of sites, which are sorted.
func (w *writer) placement(sorted []engine.SiteID) (int64, error) {
	w.room.short = appendLines(w.room.short[:0], sorted)
	if n, ok := w.placements.numbers.young[string(w.room.short)]; ok {
		return n, nil
	}
	n, added, err := w.placements.number(w, lines(sorted))
	if err != nil || !added {
		return n, err
	}
	for i, id := range sorted {
		site, err := w.site(id)
		if err != nil {
			return 0, err
		}
		if err := w.exec(addPlacementSite, n, int64(i+1), site); err != nil {
			return 0, fmt.Errorf("number of the placement of %s: %w", id, err)
		}
	}
	return n, nil
}

// sitesOf returns the sites of which something is known, sorted.
func sitesOf[V any](by map[engine.SiteID]V) []engine.SiteID {
	sites := make([]engine.SiteID, 0, len(by))
	for id := range by {
		sites = append(sites, id)
	}
	slices.Sort(sites)
	return sites
}

// sorted returns sites in order, each once.
func sorted(sites []engine.SiteID) []engine.SiteID {
	for i := range sites {
		if i > 0 && sites[i-1] >= sites[i] {
			return slices.Compact(slices.Sorted(slices.Values(sites)))
		}
	}
	return sites
}

// recent remembers what it was told last: at least most entries, at most twice as many.
type recent[K comparable, V any] struct {
	most       int
	young, old map[K]V
}

func (r *recent[K, V]) get(k K) (V, bool) {
	if v, ok := r.young[k]; ok {
		return v, true
	}
	v, ok := r.old[k]
	if ok {
		r.put(k, v)
	}
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	if len(r.young) >= r.most || r.young == nil {
		r.young, r.old = map[K]V{}, r.young
	}
	r.young[k] = v
}

func (r *recent[K, V]) forget(k K) {
	delete(r.young, k)
	delete(r.old, k)
}

func (r *recent[K, V]) clear() { r.young, r.old = nil, nil }
