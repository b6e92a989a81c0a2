package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// The kinds of containers and of what lies in them. Crates are spread over sites. Some of what is in them is replicated, and a resource
// like any other; the rest are things that lie at one part each.
const (
	crate = "crate"
	item  = "item"
)

// names is how many names things in one crate have, so that sites give the same ones.
const names = 3

func newContainers(r *rand.Rand) []*engine.Kind {
	id := engine.IDRule{From: engine.IDFromBody, At: "/id", Settable: true}
	c := &engine.Kind{Service: "model", Name: crate, Collection: "/crates", Item: "/crates/{id}", ID: id, HonoursKey: r.IntN(3) == 0, MergePatch: r.IntN(2) == 0}
	i := &engine.Kind{Service: "model", Name: item, Collection: "/crates/{crate}/items", Item: "/crates/{crate}/items/{id}", Within: crate,
		ID: id, HonoursKey: r.IntN(3) == 0, MergePatch: r.IntN(2) == 0}
	switch r.IntN(3) {
	case 0:
		c.ID.Settable = false
	case 1:
		c.ID = engine.IDRule{From: engine.IDFromPath, At: "/id"}
	}
	if r.IntN(2) == 0 {
		i.ID = engine.IDRule{From: engine.IDFromPath, At: "/id"}
	}
	return []*engine.Kind{c, i}
}

// drawContainers makes the crates of a world, and what of their contents is replicated.
func (w *world) drawContainers(r *rand.Rand) {
	for n := range 1 + r.IntN(2) {
		c := &resource{tag: fmt.Sprint("x", n), kind: w.kindOf(crate), cross: true}
		for _, i := range r.Perm(len(w.sites))[:2+r.IntN(len(w.sites)-1)] {
			c.placement = append(c.placement, w.sites[i])
		}
		if c.kind.Natural() {
			c.id = c.tag
		}
		w.resources = append(w.resources, c)
		for i := range r.IntN(3) {
			in := &resource{tag: fmt.Sprint(c.tag, "i", i), kind: w.kindOf(item), within: c}
			for _, at := range r.Perm(len(c.placement))[:2+r.IntN(len(c.placement)-1)] {
				in.placement = append(in.placement, c.placement[at])
			}
			w.resources = append(w.resources, in)
		}
		for i := range names {
			for _, at := range c.placement {
				w.things = append(w.things, &resource{tag: fmt.Sprint(c.tag, "t", i, ".", at.n), kind: w.kindOf(item), within: c, placement: []*site{at}})
			}
		}
	}
}

// thing reports whether r lies at one part of a container.
func (r *resource) thing() bool { return r.within != nil && len(r.placement) == 1 }

// name is what a thing is called, at whichever part.
func (r *resource) name() string { return named(r.tag) }

// named returns the name of the resource with a tag.
func named(tag string) string {
	name, _, _ := strings.Cut(tag, ".")
	return name
}

func (w *world) isThing(tag string) bool {
	return slices.ContainsFunc(w.things, func(r *resource) bool { return r.tag == tag })
}

// holdsReplicas reports whether something that is replicated is to lie in a resource.
func (w *world) holdsReplicas(c *resource) bool {
	return slices.ContainsFunc(w.resources, func(r *resource) bool { return r.within == c })
}

// wishOfContainer draws what a client wants of a crate. One that holds what is replicated is not deleted.
func (w *world) wishOfContainer(c *resource, wishes []string) string {
	if w.knobs.deletes && w.chance(6) && !w.holdsReplicas(c) {
		wishes = append(wishes, "delete")
	}
	if c.kind.Natural() && w.chance(3) {
		wishes = append(wishes, "create")
	}
	return wishes[w.rng.IntN(len(wishes))]
}

// askInside sends a request for a thing to some site.
func (w *world) askInside() {
	thing, at := w.things[w.rng.IntN(len(w.things))], w.anySite()
	if w.chance(2) {
		at = thing.placement[0]
	}
	p := at.now
	if p == nil || thing.within.id == "" || p.busy[thing.name()] || p.stepping() {
		return
	}
	k, own := thing.kind, thing.name()
	if made := len(thing.placement[0].shown(thing.within)) > 0; !made && !w.chance(4) {
		return
	}
	q := &request{n: len(w.requests), at: at, resource: thing, kind: []string{"create", "create", "create", "merge", "delete"}[w.rng.IntN(5)]}
	e := engine.Request{Kind: k, Path: k.Item, Within: thing.within.id, Target: engine.Inside(thing.within.id, own),
		Header: map[string]string{"Content-Type": "application/json"}, Placement: []engine.SiteID{thing.placement[0].id}}
	body := map[string]any{q.mark(): q.n}
	switch q.kind {
	case "create":
		body["id"], body["tag"] = own, thing.tag
		if e.Type, e.Method, e.Path, e.Target = engine.TypeCreate, http.MethodPost, k.Collection, ""; k.ID.From == engine.IDFromPath {
			e.Type, e.Method, e.Path, e.Target = engine.TypeReplace, http.MethodPut, k.Item, engine.Inside(thing.within.id, own)
		}
	case "merge":
		e.Type, e.Method, e.Header["Content-Type"] = engine.TypeMerge, http.MethodPatch, mergePatch
	case "delete":
		e.Type, e.Method, body = engine.TypeDelete, http.MethodDelete, nil
	}
	if body != nil {
		e.Body = encode(body)
	}
	q.sent = e
	w.requests, w.did = append(w.requests, q), true
	w.send(q, p)
}

// letBe lets an operator accept that two things have one name.
func (w *world) letBe(s *site, p *process) {
	list, _, err := s.disk.Conflicts(w.ctx, engine.ConflictFilter{Kind: engine.ConflictNameTaken})
	if err != nil {
		w.problem("list conflicts at %s: %v", s.name, err)
	}
	for _, c := range list {
		if p.dead {
			return
		}
		if c.Open() {
			w.did = true
			p.enter(func() {
				s.expect(p.Resolve(w.ctx, c.ID, engine.ActionDismiss, ""), "dismiss "+string(c.ID), engine.ErrSettled, engine.ErrNotFound)
			})
		}
	}
}

// items takes a list of an application apart.
func items(_ *engine.Kind, body []byte) ([][]byte, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	var all [][]byte
	for _, i := range list {
		all = append(all, i)
	}
	return all, nil
}

// inside lists what an application has in a container, by its own identifier.
func (a *application) inside(k engine.KindName, container string) map[string]*object {
	all := map[string]*object{}
	for id, o := range a.objects[k] {
		if own, ok := strings.CutPrefix(id, engine.Inside(container, "")); ok {
			all[own] = o
		}
	}
	return all
}

func (a *application) list(k engine.KindName, container string) []byte {
	list, all := []any{}, a.inside(k, container)
	for _, own := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[own].fields)
	}
	return encode(list)
}

// empty removes what was in a container that is no more.
func (a *application) empty(k engine.KindName, id string) {
	if k == crate {
		maps.DeleteFunc(a.objects[item], func(other string, _ *object) bool { return strings.HasPrefix(other, engine.Inside(id, "")) })
	}
}

// checkContents sees to it that every site knows what each part of a crate holds, and tells of names that were given twice.
func (c *checker) checkContents(res *resource) {
	for _, s := range c.w.sites {
		row, err := s.disk.ResourceByID(c.w.ctx, res.kind.Service, crate, engine.ResourceID(res.id))
		if err != nil || row.State.Past() || c.spoiled[row.Document] || c.yieldsAnywhere(row.Document) {
			continue
		}
		all, err := s.now.Contents(c.w.ctx, row.Document, item)
		if err != nil {
			c.say("%s: contents of %s: %v", s.name, res.tag, err)
			continue
		}
		known := map[engine.SiteID]map[string]engine.Inner{}
		first, twice := map[string]engine.Contained{}, 0
		for _, i := range all {
			if known[i.Site] == nil {
				known[i.Site] = map[string]engine.Inner{}
			}
			known[i.Site][i.Local] = i.Inner
			if i.Own || i.Name == "" {
				continue
			}
			if f, taken := first[i.Name]; !taken {
				first[i.Name] = i
			} else if i.Resource == "" || i.Resource != f.Resource {
				twice++
			}
		}
		conflicts, _ := s.disk.ConflictsOf(c.w.ctx, row.Document)
		told := len(slices.DeleteFunc(conflicts, func(x engine.Conflict) bool { return x.Kind != engine.ConflictNameTaken }))
		if told != twice {
			c.say("%s: in %s %d names are given twice, and it tells of %d", s.name, res.tag, twice, told)
		}
		for id := range row.Sites {
			c.comparePart(s, c.w.siteOf(id), res, row, known[id])
		}
	}
	c.checkThings(res)
}

// comparePart compares what a site knows of the part of another with what is there.
func (c *checker) comparePart(s, other *site, res *resource, row engine.ResourceRow, known map[string]engine.Inner) {
	there := other.app.inside(item, string(other.local(row)))
	if told, is := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(there)); !slices.Equal(told, is) {
		c.say("%s: the part of %s at %s holds %v, and is known to hold %v", s.name, res.tag, other.name, is, told)
		return
	}
	for own, o := range there {
		if i := known[own]; i.Summary != nil && len(encode(o.fields)) <= 512 && string(i.Summary) != string(encode(o.fields)) {
			c.say("%s: %s in %s at %s is %s, and known as %s", s.name, own, res.tag, other.name, encode(o.fields), i.Summary)
		}
		meta, replicated := other.now.Meta(c.w.ctx, "model", item, engine.LocalID(engine.Inside(string(other.local(row)), own)))
		if replicated && known[own].Resource != meta {
			c.say("%s: %s in %s at %s is a replica of %s, and known as one of %q", s.name, own, res.tag, other.name, meta, known[own].Resource)
		}
	}
}

// checkThings sees to it that what was put into a crate is there, and that nothing is that nobody has put there.
func (c *checker) checkThings(res *resource) {
	for _, q := range c.w.requests {
		if q.resource == res && q.kind == "delete" && !q.refused {
			return
		}
	}
	for _, thing := range c.w.things {
		if thing.within != res {
			continue
		}
		put, asked, deleted := (*request)(nil), false, false
		for _, q := range c.w.requests {
			switch {
			case q.resource != thing || q.refused:
			case q.kind == "delete":
				deleted = true
			case q.kind == "create":
				asked = true
				if q.acknowledged() && !q.undone && q.status != http.StatusAccepted {
					put = q
				}
			}
		}
		at := thing.placement[0]
		there := false
		for _, o := range at.app.objects[item] {
			there = there || o.fields["tag"] == thing.tag
		}
		switch {
		case put != nil && !deleted && !there:
			c.say("%s: %s is not there", at.name, put)
		case !asked && there:
			c.say("%s: %s is there, and nobody has put it there", at.name, thing.tag)
		}
	}
}
