package replica

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// Inside takes in what the application lists inside this site's part of a container, of one kind: what is new is told, and what is gone.
type Inside struct {
	Kind  *engine.Kind
	Items [][]byte
	// Within is the container as this site's application calls it.
	Within string
}

// Made tells of one thing that a request has made or changed inside this site's part, Gone of one that it has ended.
type Made struct {
	Kind           *engine.Kind
	Local          string
	Representation []byte
	Resource       engine.ResourceID
	Gone           bool
}

func (*Inside) input() {}
func (*Made) input()   {}

// entries compare a list with what this site has told.
func (in *Inside) entries(v *view.View, env Env) (entries []engine.Entry) {
	if !v.Holds(v.Self) || v.Mine.Local == "" || v.About.Collaboration != engine.Cross {
		return nil
	}
	seen := map[string]engine.Inner{}
	for _, item := range in.Items {
		now, ok := view.ContentOf(v.Document, in.Kind, "", item, env.Now())
		if !ok {
			continue
		}
		now.Resource = env.Meta(in.Kind, engine.LocalID(engine.Inside(in.Within, now.Local)))
		seen[now.Local] = now
	}
	for _, local := range slices.Sorted(maps.Keys(seen)) {
		now := seen[local]
		entries = append(entries, v.Contents.News(v.Self, now, now.Resource == "")...)
	}
	for _, i := range v.Inside(in.Kind.Name) {
		if _, there := seen[i.Local]; i.Site == v.Self && !there {
			entries = append(entries, v.Contents.Gone(v.Self, in.Kind.Name, i.Local)...)
		}
	}
	return entries
}

// entries tell of one thing.
func (in *Made) entries(v *view.View, env Env) []engine.Entry {
	switch {
	case !v.Holds(v.Self), v.About.Collaboration != engine.Cross: // it has been removed meanwhile, or its document has no place for it
		return nil
	case in.Gone:
		return v.Contents.Gone(v.Self, in.Kind.Name, in.Local)
	}
	now, ok := view.ContentOf(v.Document, in.Kind, in.Local, in.Representation, env.Now())
	if !ok {
		return nil
	}
	now.Resource = in.Resource
	return v.Contents.News(v.Self, now, false)
}
