package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// inner names a thing inside a site's part of a container.
type inner struct {
	site  engine.SiteID
	kind  engine.KindName
	local string
}

// Contents are what sites tell of the things inside their parts of a container.
type Contents map[inner]told

type told struct {
	engine.Inner
	in place
}

// take takes in what a site tells of a thing inside its part, in a place.
func (all *Contents) take(site engine.SiteID, c engine.Inner, in place) error {
	if c.Kind == "" || c.Local == "" || len(c.Summary) > engine.MaxContentSummary || c.Summary != nil && !json.Valid(c.Summary) {
		return fmt.Errorf("%w: a thing inside a container that is none", engine.ErrRefused)
	}
	if *all == nil {
		*all = Contents{}
	}
	if at := (inner{site, c.Kind, c.Local}); in.after((*all)[at].in) {
		(*all)[at] = told{c, in}
	}
	return nil
}

// Inside lists what the parts of a container are known to hold, of one kind, or of all for an empty one, oldest first.
func (v *View) Inside(kind engine.KindName) []engine.Contained {
	var all []engine.Contained
	for at, c := range v.Contents {
		if !c.Gone && v.Holds(at.site) && (kind == "" || c.Kind == kind) {
			all = append(all, engine.Contained{Site: at.site, Inner: c.Inner})
		}
	}
	slices.SortFunc(all, func(a, b engine.Contained) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Local, b.Local))
	})
	return all
}

// ContentOf describes a representation of what lies in the container that a document is of; ok is false for one that shows no identifier. Local is its
// identifier here where that is known already.
func ContentOf(in engine.DocumentID, k *engine.Kind, local string, representation []byte, now time.Time) (c engine.Inner, ok bool) {
	t, err := tree.ParseJSON(representation)
	if err == nil && local == "" {
		local, _ = tree.IDAt(t, k.ID.At)
	}
	if local == "" {
		return c, false
	}
	c = engine.Inner{Kind: k.Name, Local: local, Name: tree.NameIn(k, representation, local), At: now.UnixMicro()}
	if err != nil {
		return c, true
	}
	for _, p := range slices.Concat(k.Sensitive, k.Ignore) {
		tree.UnsetAt(t, p)
	}
	whole := tree.Compact(t)
	c.Digest, c.Summary = tree.KeyedDigest(in, "content", whole), whole
	if len(whole) > engine.MaxContentSummary {
		var short any = map[string]any{}
		for _, p := range []engine.Pointer{k.ID.At, k.Unique} {
			if value, has := tree.ValueAt(t, p); has && p != "" {
				short = tree.SetAt(short, p, value)
			}
		}
		if c.Summary = tree.Compact(short); len(c.Summary) > engine.MaxContentSummary {
			c.Summary = nil
		}
	}
	return c, true
}

// News is a site's entry of a thing that it holds, none where all of it is known. Own says that no request made it that came through
// the agent.
func (all Contents) News(site engine.SiteID, now engine.Inner, own bool) []engine.Entry {
	old, known := all[inner{site, now.Kind, now.Local}]
	if known = known && !old.Gone; known {
		now.At, own = old.At, old.Own && own
		now.Resource = cmp.Or(now.Resource, old.Resource)
	} else if all.count(site) >= engine.MaxContents {
		return nil
	}
	if now.Own = own; known && sameInner(now, old.Inner) {
		return nil
	}
	return []engine.Entry{{Map: engine.MapContents, Value: engine.Encode(&now)}}
}

func sameInner(c, d engine.Inner) bool {
	return c.Name == d.Name && c.Resource == d.Resource && c.Digest == d.Digest && c.Own == d.Own && (c.Summary == nil) == (d.Summary == nil)
}

// Gone is a site's entry that a thing which it held is no more.
func (all Contents) Gone(site engine.SiteID, kind engine.KindName, local string) []engine.Entry {
	old, known := all[inner{site, kind, local}]
	if !known || old.Gone {
		return nil
	}
	return []engine.Entry{{Map: engine.MapContents, Value: engine.Encode(&engine.Inner{Kind: kind, Local: local, At: old.At, Gone: true})}}
}

// count counts what a site tells of.
func (all Contents) count(site engine.SiteID) (n int) {
	for at, c := range all {
		if at.site == site && !c.Gone {
			n++
		}
	}
	return n
}

// kept is what a checkpoint keeps of the contents: without summaries where there are many.
func (all Contents) kept() map[engine.SiteID][]engine.Inner {
	size, kept := 0, map[engine.SiteID][]engine.Inner{}
	for at, c := range all {
		if !c.Gone {
			kept[at.site] = append(kept[at.site], c.Inner)
			size += len(c.Local) + len(c.Summary) + 256
		}
	}
	for _, site := range slices.Sorted(maps.Keys(kept)) {
		slices.SortFunc(kept[site], func(a, b engine.Inner) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Local, b.Local)) })
		if size < engine.MaxCheckpoint/2 {
			continue
		}
		for i := range kept[site] {
			kept[site][i].Summary = nil
		}
	}
	return kept
}
