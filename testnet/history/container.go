package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/world"
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
	c := &engine.Kind{Service: "model", Name: crate, Collection: "/crates", Item: "/crates/{id}", Contains: true, ID: id, HonoursKey: r.IntN(3) == 0, MergePatch: r.IntN(2) == 0}
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
func (w *play) drawContainers(r *rand.Rand) {
	for n := range 1 + r.IntN(2) {
		c := &resource{tag: fmt.Sprint("x", n), kind: w.Kind(crate), cross: true}
		for _, i := range r.Perm(len(w.sites))[:2+r.IntN(len(w.sites)-1)] {
			c.placement = append(c.placement, w.sites[i])
		}
		if c.kind.Natural() {
			c.id = c.tag
		}
		w.resources = append(w.resources, c)
		for i := range r.IntN(3) {
			in := &resource{tag: fmt.Sprint(c.tag, "i", i), kind: w.Kind(item), within: c}
			for _, at := range r.Perm(len(c.placement))[:2+r.IntN(len(c.placement)-1)] {
				in.placement = append(in.placement, c.placement[at])
			}
			w.resources = append(w.resources, in)
		}
		for i := range names {
			for _, at := range c.placement {
				w.things = append(w.things, &resource{tag: fmt.Sprint(c.tag, "t", i, ".", at.N), kind: w.Kind(item), within: c, placement: []*site{at}})
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

func (w *play) isThing(tag string) bool {
	return slices.ContainsFunc(w.things, func(r *resource) bool { return r.tag == tag })
}

// holdsReplicas reports whether something that is replicated is to lie in a resource.
func (w *play) holdsReplicas(c *resource) bool {
	return slices.ContainsFunc(w.resources, func(r *resource) bool { return r.within == c })
}

// wishOfContainer draws what a client wants of a crate. One that holds what is replicated is not deleted.
func (w *play) wishOfContainer(c *resource, wishes []string) string {
	if w.knobs.deletes && w.chance(6) && !w.holdsReplicas(c) {
		wishes = append(wishes, "delete")
	}
	if c.kind.Natural() && w.chance(3) {
		wishes = append(wishes, "create")
	}
	return wishes[w.rng.IntN(len(wishes))]
}

// askInside sends a request for a thing to some site.
func (w *play) askInside() {
	thing, at := w.things[w.rng.IntN(len(w.things))], w.anySite()
	if w.chance(2) {
		at = thing.placement[0]
	}
	if at.Proc == nil || thing.within.id == "" {
		return
	}
	k, own := thing.kind, thing.name()
	if made := len(w.shown(thing.placement[0], thing.within)) > 0; !made && !w.chance(4) {
		return
	}
	q := &request{n: len(w.requests), at: at, resource: thing, kind: []string{"create", "create", "create", "merge", "delete"}[w.rng.IntN(5)]}
	e := engine.Request{Kind: k, Path: k.Item, Within: thing.within.id, Target: engine.Inside(thing.within.id, own),
		Header: map[string]string{"Content-Type": "application/json"}, Placement: []engine.SiteID{thing.placement[0].ID}}
	body := map[string]any{q.mark(): q.n}
	switch q.kind {
	case "create":
		body["id"], body["tag"] = own, thing.tag
		if e.Type, e.Method, e.Path, e.Target = engine.TypeCreate, http.MethodPost, k.Collection, ""; k.ID.From == engine.IDFromPath {
			e.Type, e.Method, e.Path, e.Target = engine.TypeReplace, http.MethodPut, k.Item, engine.Inside(thing.within.id, own)
		}
	case "merge":
		e.Type, e.Method, e.Header["Content-Type"] = engine.TypeMerge, http.MethodPatch, world.MergePatch
	case "delete":
		e.Type, e.Method, body = engine.TypeDelete, http.MethodDelete, nil
	}
	if body != nil {
		e.Body = encode(body)
	}
	q.sent = e
	w.requests, w.did = append(w.requests, q), true
	w.send(q)
}

// letBe lets an operator accept conflicts of a kind: that two things have one name, or that two orders of a list were wanted.
func (w *play) letBe(s *site, p *world.Process, kind engine.ConflictKind) {
	list, _, err := s.Disk.Conflicts(w.Ctx, engine.ConflictFilter{Kind: kind})
	if err != nil {
		w.Problem("list conflicts at %s: %v", s.Name, err)
	}
	for _, c := range list {
		if p.Dead() {
			return
		}
		if c.Open() {
			w.did = true
			w.Do(p, func() {
				w.expect(s, p, p.Desk.Resolve(w.Ctx, c.ID, engine.ActionDismiss, "", person), "dismiss "+string(c.ID), engine.ErrSettled, engine.ErrNotFound)
			})
		}
	}
}

// checkContents sees to it that every site knows what each part of a crate holds, and tells of names that were given twice.
func (c *checker) checkContents(res *resource) {
	for _, s := range c.w.sites {
		row, err := s.Disk.ResourceByID(c.w.Ctx, res.kind.Service, crate, engine.ResourceID(res.id))
		if err != nil || row.State.Past() || c.spoiled[row.Document] || c.yieldsAnywhere(row.Document) {
			continue
		}
		all, err := s.Proc.Front.Contents(c.w.Ctx, row.Document, item)
		if err != nil {
			c.say("%s: contents of %s: %v", s.Name, res.tag, err)
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
		conflicts, _ := s.Disk.ConflictsOf(c.w.Ctx, row.Document)
		told := len(slices.DeleteFunc(conflicts, func(x engine.Conflict) bool { return x.Kind != engine.ConflictNameTaken }))
		if told != twice {
			c.say("%s: in %s %d names are given twice, and it tells of %d", s.Name, res.tag, twice, told)
		}
		for id := range row.Sites {
			c.comparePart(s, c.w.siteOf(id), res, row, known[id])
		}
	}
	c.checkThings(res)
}

// comparePart compares what a site knows of the part of another with what is there.
func (c *checker) comparePart(s, other *site, res *resource, row engine.ResourceRow, known map[string]engine.Inner) {
	there := other.App.Inside(item, string(c.w.local(other, row)))
	if told, is := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(there)); !slices.Equal(told, is) {
		c.say("%s: the part of %s at %s holds %v, and is known to hold %v", s.Name, res.tag, other.Name, is, told)
		return
	}
	for own, o := range there {
		if i := known[own]; i.Summary != nil && len(encode(o.Fields)) <= 512 && string(i.Summary) != string(encode(o.Fields)) {
			c.say("%s: %s in %s at %s is %s, and known as %s", s.Name, own, res.tag, other.Name, encode(o.Fields), i.Summary)
		}
		meta, replicated := other.Proc.Site.Meta(c.w.Ctx, "model", item, engine.LocalID(engine.Inside(string(c.w.local(other, row)), own)))
		if replicated && known[own].Resource != meta {
			c.say("%s: %s in %s at %s is a replica of %s, and known as one of %q", s.Name, own, res.tag, other.Name, meta, known[own].Resource)
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
		for _, o := range at.App.Objects(item) {
			there = there || o.Fields["tag"] == thing.tag
		}
		switch {
		case put != nil && !deleted && !there && !c.w.emptied[emptied{at, engine.ResourceID(res.id)}]:
			c.say("%s: %s is not there", at.Name, put)
		case !asked && there:
			c.say("%s: %s is there, and nobody has put it there", at.Name, thing.tag)
		}
	}
}
