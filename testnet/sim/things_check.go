package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/lab"
)

// shownAt is what the application of one site shows: objects by the tag of their thing, without what differs between instances.
type shownAt map[string][]object

// shown reads everything.
func (l *labSite) shown() shownAt {
	all := shownAt{}
	add := func(kind engine.KindName, in string, items []map[string]any) {
		for _, o := range items {
			tag := tagOf(kind, func(member string) string { return fmt.Sprint(o[member]) })
			if kind == "image" {
				if status, body := l.ask(lab.Images, "/images/"+fmt.Sprint(o["id"])+"/file"); status == http.StatusOK {
					sum := sha256.Sum256(body)
					o["file"] = hex.EncodeToString(sum[:])
				}
			}
			local := fmt.Sprint(o["id"])
			if in != "" {
				local = engine.Inside(in, local)
			}
			for _, own := range []string{"id", "updated_at", "image"} {
				delete(o, own)
			}
			all[tag] = append(all[tag], object{kind, local, o})
		}
	}
	add("image", "", l.list(lab.Images, "/images"))
	add("server", "", l.list(lab.Servers, "/servers"))
	keys := l.list(lab.Servers, "/keys")
	for _, k := range keys {
		in := fmt.Sprint(k["id"])
		add("use", in, l.list(lab.Servers, "/keys/"+in+"/uses"))
	}
	add("key", "", keys)
	networks := l.list(lab.Networks, "/networks")
	for _, n := range networks {
		in := fmt.Sprint(n["id"])
		add("port", in, l.list(lab.Networks, "/networks/"+in+"/ports"))
	}
	add("network", "", networks)
	return all
}

// checkThings returns all that is not as it must be.
func (r *run) checkThings(ctx context.Context) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	shown := make([]shownAt, len(r.sites))
	r.report.Contended = 0
	for i, s := range r.sites {
		shown[i] = s.lab.shown()
		lost := r.yielded(ctx, s, say)
		r.report.Contended += len(lost)
		r.checkSite(ctx, s, lost, say)
		if shown[i]["nonsense"] != nil {
			say("%s has taken what makes no sense", s.name)
		}
	}
	r.report.Operations = r.operations(ctx, say)
	for i, t := range r.plan.Things {
		r.checkThing(ctx, i, t, shown, say)
		if t.Kind == "network" && strings.Contains(t.Location, "%") {
			r.checkNames(ctx, i, shown, say)
		}
	}
	return problems
}

// yielded are the resources at a site of which a conflict about a name is told: their own, or that of something inside them.
func (r *run) yielded(ctx context.Context, s *site, say func(string, ...any)) yields {
	list, _, err := s.now.Load().store.Conflicts(ctx, engine.ConflictFilter{Limit: 1000})
	if err != nil {
		say("%s: %v", s.name, err)
	}
	found := yields{}
	for _, c := range list {
		if c.Kind == engine.ConflictName || c.Kind == engine.ConflictNameTaken {
			found[c.Document] = true
		}
	}
	return found
}

// asks are what clients asked for a thing.
type asks struct {
	made, maybe    bool // a create was acknowledged with its result, or may have happened
	at             engine.SiteName
	deleted, ended bool // a delete was done, or may have been
}

func (r *run) asksFor(i int) (a asks) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.made, a.maybe = i == 0, i == 0
	for _, q := range r.requests {
		if q.step.Resource != i || q.refused {
			continue
		}
		switch q.step.Kind {
		case StepCreate:
			a.maybe = true
			if q.acknowledged() && q.status != http.StatusAccepted {
				a.made, a.at = true, q.site
			}
		case StepDelete:
			a.ended, a.deleted = true, a.deleted || q.status == http.StatusNoContent
		}
	}
	return a
}

// row finds what the sites know of a thing as a resource, as the first of them that has it shows it: by the identifier that clients
// were told, or by what is there.
func (r *run) row(ctx context.Context, i int, shown []shownAt, say func(string, ...any)) (first engine.ResourceRow, ok bool) {
	t := r.plan.Things[i]
	id := engine.ResourceID(r.target(i))
	if t.Kind == "port" {
		id = engine.ResourceID(engine.Inside(r.target(t.In), r.target(i)))
	}
	for n, s := range r.sites {
		row, err := s.now.Load().store.ResourceByID(ctx, t.service(), t.Kind, id)
		for _, o := range shown[n][t.Tag] {
			if errors.Is(err, engine.ErrNotFound) {
				row, err = s.now.Load().store.ResourceByLocal(ctx, t.service(), t.Kind, engine.LocalID(o.local))
			}
		}
		if err != nil || row.State.Past() {
			continue
		}
		if _, here := row.Sites[s.id]; !here {
			continue
		}
		if !ok {
			first, ok = row, true
		}
		if a, b := slices.Sorted(maps.Keys(first.Sites)), slices.Sorted(maps.Keys(row.Sites)); first.Document == row.Document && !slices.Equal(a, b) {
			say("%s lives at %v, as %s sees it at %v", t.Tag, a, s.name, b)
		}
	}
	return first, ok
}

// checkThing sees to it that a thing is where it was asked for, and the same at all sites where it is to be.
func (r *run) checkThing(ctx context.Context, i int, t Thing, shown []shownAt, say func(string, ...any)) {
	asked := r.asksFor(i)
	if t.Kind == "use" && r.asksFor(t.In).ended { // it goes with the key
		asked.ended = true
	}
	var held []int
	for n := range r.sites {
		objects := shown[n][t.Tag]
		if len(objects) > 1 && !t.Moves { // a site that is taken out keeps its object, and makes another when it is added again
			say("%s is there %d times at site%d: %s", t.Tag, len(objects), n, encode(fieldsOf(objects)))
		}
		if len(objects) > 0 {
			held = append(held, n)
		}
	}
	row, managed := r.row(ctx, i, shown, say)
	switch {
	case !asked.maybe && len(held) > 0:
		say("%s is at %v, and nobody was told that it may be", t.Tag, held)
	case asked.made && !asked.ended && len(held) == 0:
		say("%s was made and is gone", t.Tag)
	case asked.deleted && t.Kind != "key" && len(held) > 0 && !t.Moves:
		say("%s was deleted and is at %v", t.Tag, held)
	}
	switch {
	case strings.Contains(t.Location, "^") && t.Kind == "key":
		if len(held) > 1 && !r.askedAbout(ctx, t) {
			say("%s is at %v, and nobody is asked about it", t.Tag, held)
		}
	case managed:
		r.checkReplicas(i, row, held, shown, say)
	case t.Location == "" && t.Kind != "port" && asked.made && !asked.ended && (len(held) != 1 || r.sites[held[0]].name != asked.at):
		say("%s was made at %s without a location and is at %v", t.Tag, asked.at, held)
	case len(held) > 1 && !t.Moves:
		say("%s is no resource of ours and is at %v", t.Tag, held)
	}
}

// checkReplicas compares the objects of one resource.
func (r *run) checkReplicas(i int, row engine.ResourceRow, held []int, shown []shownAt, say func(string, ...any)) {
	t := r.plan.Things[i]
	var first map[string]any
	sum, of := 0.0, 0
	for n, s := range r.sites {
		st, has := row.Sites[s.id]
		if !has {
			if slices.Contains(held, n) && !t.Moves {
				say("%s is at site%d, which is not in its placement", t.Tag, n)
			}
			continue
		}
		if !slices.Contains(held, n) {
			say("%s is not at site%d (%s: %s)", t.Tag, n, st.State, st.Reason)
			continue
		}
		o := maps.Clone(shown[n][t.Tag][len(shown[n][t.Tag])-1].fields)
		if t.Kind == "server" && row.Collaboration == engine.Cross {
			if share, _ := o["count"].(float64); st.Part > 0 && firstOfPart(row, s.id, r.sites) {
				sum, of = sum+share, of+1
			}
			delete(o, "count")
		}
		if first == nil {
			first = o
		} else if a, b := encode(first), encode(o); string(a) != string(b) {
			say("%s differs: %s, and site%d shows %s", t.Tag, a, n, b)
		}
	}
	if want, last := r.last[i]; last && of > 0 && int(sum) != want {
		say("the %d parts of %s add up to %v, and %d was asked for last", of, t.Tag, sum, want)
	}
}

// firstOfPart reports whether a site is the first of those that hold its part.
func firstOfPart(row engine.ResourceRow, id engine.SiteID, sites []*site) bool {
	for _, s := range sites {
		if st, has := row.Sites[s.id]; has && st.Part == row.Sites[id].Part {
			return s.id == id
		}
	}
	return false
}

// askedAbout reports whether a person is asked about the name of a thing, at any site.
func (r *run) askedAbout(ctx context.Context, t Thing) bool {
	for _, s := range r.sites {
		list, _, err := s.now.Load().store.Conflicts(ctx, engine.ConflictFilter{Kind: engine.ConflictName, Limit: 1000})
		if err == nil && slices.ContainsFunc(list, func(c engine.Conflict) bool { return string(c.Resource) == t.Tag }) {
			return true
		}
	}
	return false
}

// checkNames sees to it that a name inside a container was given once, or that a person is asked about each time more.
func (r *run) checkNames(ctx context.Context, network int, shown []shownAt, say func(string, ...any)) {
	given := map[string]map[string]bool{} // tags by name
	for _, t := range r.plan.Things {
		if t.Kind != "port" || t.In != network || strings.HasPrefix(t.Name, "dhcp-") {
			continue
		}
		for n := range r.sites {
			if shown[n][t.Tag] != nil {
				if given[t.Name] == nil {
					given[t.Name] = map[string]bool{}
				}
				given[t.Name][t.Tag] = true
			}
		}
	}
	for name, tags := range given {
		if len(tags) == 1 {
			continue
		}
		told := false
		for _, s := range r.sites {
			list, _, err := s.now.Load().store.Conflicts(ctx, engine.ConflictFilter{Kind: engine.ConflictNameTaken, Limit: 1000})
			told = told || err == nil && slices.ContainsFunc(list, func(c engine.Conflict) bool {
				return string(c.Resource) == r.target(network) && strings.HasPrefix(c.Reason, "port "+name+" ")
			})
		}
		if !told {
			say("%v in %s all have the name %s, and nobody is asked about it", slices.Sorted(maps.Keys(tags)), r.plan.Things[network].Tag, name)
		}
	}
}

// lastWord asks, when all is quiet, for another number of every spread server, at any site that has a part.
func (r *run) lastWord(ctx context.Context) {
	for i, t := range r.plan.Things {
		if t.Kind != "server" || !strings.Contains(t.Location, "%") {
			continue
		}
		row, ok := r.row(ctx, i, make([]shownAt, len(r.sites)), func(string, ...any) {})
		for _, s := range r.sites {
			if _, has := row.Sites[s.id]; !ok || !has {
				continue
			}
			want := 10 + 3*i
			a := s.lab.call(ctx, lab.Servers, http.MethodPatch, r.path(i, r.ids[i]), encode(map[string]any{"count": want}))
			if a.status != http.StatusOK {
				r.problem("all is quiet, and a change of %s at %s is answered with %d %s (%v)", t.Tag, s.name, a.status, a.body, a.err)
			} else {
				r.last[i] = want
			}
			break
		}
	}
}

// reads sees to it that clients see, at every site, what there is: each resource in the list of all sites, once, and spread servers
// as one of the size that was asked for.
func (r *run) reads(ctx context.Context) {
	there := map[string]bool{}
	for _, s := range r.sites {
		for _, o := range s.lab.list(lab.Images, "/images") {
			there[fmt.Sprint(o["name"])] = true
		}
	}
	for _, s := range r.sites {
		a := s.lab.call(ctx, lab.Images, http.MethodGet, "/images", nil, "Scope", "{images: *}")
		for begin := time.Now(); a.header.Get("Skerry-Missing") != "" && time.Since(begin) < 10*time.Second; { // a link has only just healed
			time.Sleep(time.Second)
			a = s.lab.call(ctx, lab.Images, http.MethodGet, "/images", nil, "Scope", "{images: *}")
		}
		var items []struct{ Name string }
		if err := json.Unmarshal(a.body, &items); err != nil || a.status != http.StatusOK {
			r.problem("the list of all images at %s: %d %s", s.name, a.status, a.body)
		}
		var listed []string
		for _, o := range items {
			listed = append(listed, o.Name)
		}
		slices.Sort(listed)
		if want := slices.Sorted(maps.Keys(there)); !slices.Equal(listed, want) && !r.unmanaged() {
			r.problem("%s lists the images %v (missing: %q), and there are %v", s.name, listed, a.header.Get("Skerry-Missing"), want)
		}
		for i, want := range r.last {
			row, err := s.now.Load().store.ResourceByID(ctx, lab.Servers, "server", r.ids[i])
			if err != nil || row.Sites[s.id].Part == 0 {
				continue
			}
			if a := s.lab.call(ctx, lab.Servers, http.MethodGet, r.path(i, r.ids[i]), nil); a.text("count") != fmt.Sprint(want) {
				r.problem("%s shows %s as %d %s, and %d was asked for last", s.name, r.plan.Things[i].Tag, a.status, a.body, want)
			}
		}
	}
}

// unmanaged reports whether images were taken out of a site, which keeps what it has: then it is listed beside.
func (r *run) unmanaged() bool {
	return slices.ContainsFunc(r.plan.Steps, func(s Step) bool {
		return s.Kind == StepRemove && r.plan.Things[s.Resource].Kind == "image"
	})
}
