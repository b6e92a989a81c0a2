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

// inside compares a list with what this site has told.
func (r *Replica) inside(in *Inside) {
	if !r.Holds(r.Self) || r.Mine.Local == "" {
		return
	}
	seen := map[string]engine.Inner{}
	for _, item := range in.Items {
		now, ok := view.ContentOf(r.Document, in.Kind, "", item, r.env.Now())
		if !ok {
			continue
		}
		now.Resource = r.env.Meta(in.Kind, engine.LocalID(engine.Inside(in.Within, now.Local)))
		seen[now.Local] = now
	}
	var entries []engine.Entry
	for _, local := range slices.Sorted(maps.Keys(seen)) {
		now := seen[local]
		entries = append(entries, r.Contents.News(r.Self, now, now.Resource == "")...)
	}
	for _, i := range r.View.Inside(in.Kind.Name) {
		if _, there := seen[i.Local]; i.Site == r.Self && !there {
			entries = append(entries, r.Contents.Gone(r.Self, in.Kind.Name, i.Local)...)
		}
	}
	r.write(entries...)
}

func (r *Replica) made(in *Made) {
	switch {
	case !r.Holds(r.Self): // it has been removed meanwhile
		return
	case in.Gone:
		r.write(r.Contents.Gone(r.Self, in.Kind.Name, in.Local)...)
		return
	}
	if now, ok := view.ContentOf(r.Document, in.Kind, in.Local, in.Representation, r.env.Now()); ok {
		now.Resource = in.Resource
		r.write(r.Contents.News(r.Self, now, false)...)
	}
}
