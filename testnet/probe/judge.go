package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/testnet/env"
	agents "github.com/skerry/skerry/testnet/site"
)

// shown is an object as an application shows it.
type shown struct {
	ID, Name, Colour string
	Count, Rolls     int
}

// said is what an agent says.
type said struct {
	// resources are by kind and identifier, asks what a person is asked, likewise.
	resources map[string]agents.Resource
	asks      map[string]question
}

// question is what a person is asked about a resource: a conflict as the API gives it.
type question struct{ Service, Kind, Resource, About, Type, Site, Reason string }

// hear asks a site's agent what it knows, all of it.
func hear(ctx context.Context, s *env.Site) (said, error) {
	k := said{map[string]agents.Resource{}, map[string]question{}}
	for cursor := ""; ; {
		var page struct {
			Items []agents.Resource
			Next  string
		}
		if err := s.Client().Call(ctx, http.MethodGet, "/api/v1/resources?limit=1000&cursor="+url.QueryEscape(cursor), nil, &page); err != nil {
			return k, err
		}
		for _, x := range page.Items {
			k.resources[x.Service+" "+x.ID] = x
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	var list struct{ Items []question }
	if err := s.Client().Call(ctx, http.MethodGet, "/api/v1/conflicts?limit=1000", nil, &list); err != nil {
		return k, err
	}
	for _, c := range list.Items {
		k.asks[c.Service+" "+c.Resource] = c
	}
	return k, nil
}

// isAsked reports whether a person is asked about a resource.
func (k said) isAsked(resource string) bool {
	for id := range k.asks {
		if strings.HasSuffix(id, " "+resource) {
			return true
		}
	}
	return false
}

// atRest says why the agents are not through yet, nil once everything is converged or waits for a person.
func (p *probe) atRest() error {
	for _, s := range p.env.Sites() {
		k, err := hear(p.t.Context(), s)
		if err != nil {
			return err
		}
		for id, r := range k.resources {
			if _, asks := k.asks[id]; r.State != "converged" && !asks {
				return fmt.Errorf("%s says that %s is %s: %s", s.Name(), id, r.State, r.Reason)
			}
		}
		operations, err := s.Client().Operations(p.t.Context(), "")
		if err != nil {
			return err
		}
		for _, o := range operations {
			if o.State == "pending" && !k.isAsked(o.Resource) {
				return fmt.Errorf("%s says that %s %s of %s is pending", s.Name(), o.Type, o.ID, o.Resource)
			}
		}
	}
	return nil
}

// shows is what a site's application shows of a kind, asked past the agent.
func (p *probe) shows(s *env.Site, k kind) []shown {
	var list []shown
	if err := json.Unmarshal([]byte(s.Application(p.t, k.service, "GET /"+k.collection, "").Must(p.t, 200).Body), &list); err != nil {
		p.t.Fatal(err)
	}
	return list
}

// judge compares what the applications show with what clients were told and what agents say.
func (p *probe) judge() {
	sites := p.env.Sites()
	says := make([]said, len(sites))
	asked := map[string]question{}
	for i, s := range sites {
		var err error
		if says[i], err = hear(p.t.Context(), s); err != nil {
			p.t.Fatal(err)
		}
		maps.Copy(asked, says[i].asks)
	}
	for _, k := range kinds {
		holds := make([]map[string][]shown, len(sites))
		for i, s := range sites {
			holds[i] = map[string][]shown{}
			belongs := map[string]string{}
			for id, r := range says[i].resources {
				if local := r.Sites[s.Name()].LocalID; r.Service == k.service && local != "" {
					belongs[local] = id
				}
			}
			for _, x := range p.shows(s, k) {
				holds[i][x.Name] = append(holds[i][x.Name], x)
				if o := p.named(x.Name); belongs[x.ID] == "" && (o == nil || !p.waits(o, asked)) {
					p.fail("%s: %s %s (%s) belongs to nothing", s.Name(), k.service, x.Name, x.ID)
				}
				delete(belongs, x.ID)
			}
			for local, id := range belongs {
				if _, asks := asked[id]; !asks {
					p.fail("%s: %s, which its agent calls %s, is not there", s.Name(), id, local)
				}
			}
		}
		for _, o := range p.objects {
			if o.kind.service == k.service {
				failed := p.failed
				if p.compare(o, holds, asked); p.failed > failed {
					p.explain(o)
				}
			}
		}
	}
	p.questions(asked)
}

// compare looks at one object at all sites.
func (p *probe) compare(o *object, holds []map[string][]shown, asked map[string]question) {
	var first *shown
	for i, s := range p.env.Sites() {
		of := holds[i][o.name]
		switch {
		case len(of) > 1:
			p.fail("%s has %d objects called %s", s.Name(), len(of), o.name)
			return
		case p.waits(o, asked):
			continue
		case len(of) == 0 && o.is == there:
			p.fail("%s lacks %s, which was acknowledged", s.Name(), o.name)
			return
		case len(of) == 1 && o.is == absent:
			p.fail("%s has %s, which was deleted or refused", s.Name(), o.name)
			return
		case i > 0 && (len(of) == 1) != (first != nil):
			p.fail("%s: %s is at %s, or there alone", o.name, o.kind.service, s.Name())
			return
		}
		if len(of) == 0 {
			continue
		}
		x := of[0]
		if x.ID = ""; first == nil && i == 0 {
			first = &x
		}
		if x != *first {
			p.fail("%s: one site shows %+v, %s %+v", o.name, *first, s.Name(), x)
		}
		if !o.again && (x.Count < o.count.least || x.Count > o.count.most || x.Rolls < o.roll.least || x.Rolls > o.roll.most) {
			p.fail("%s: %s shows %+v, and clients have added %+v to count, %+v to rolls", o.name, s.Name(), x, o.count, o.roll)
		}
	}
}

func (p *probe) fail(format string, args ...any) {
	p.t.Helper()
	p.failed++
	p.t.Errorf(format, args...)
}

// explain logs what the agents say of an object.
func (p *probe) explain(o *object) {
	for _, s := range p.env.Sites() {
		var r json.RawMessage
		if err := s.Client().Call(p.t.Context(), http.MethodGet, "/api/v1/resources?limit=10&q="+url.QueryEscape(o.id), nil, &r); err != nil {
			p.t.Log(err)
		}
		p.t.Logf("%s says of %s: %s", s.Name(), o.name, r)
		operations, err := s.Client().Operations(p.t.Context(), o.id)
		if err != nil {
			p.t.Log(err)
		}
		for _, x := range operations {
			p.t.Logf("  %s %s from %s: %s %+v", x.Type, x.ID, x.Origin, x.State, x.Sites)
		}
	}
}

// waits reports whether a person is asked about an object.
func (p *probe) waits(o *object, asked map[string]question) bool {
	_, asks := asked[o.kind.service+" "+o.id]
	return asks || p.undeclared(o)
}

func (p *probe) named(name string) *object {
	if i := slices.IndexFunc(p.objects, func(o *object) bool { return o.name == name }); i >= 0 {
		return p.objects[i]
	}
	return nil
}

// undeclared reports whether nobody can say what came of the create of an object without an answer.
func (p *probe) undeclared(o *object) bool { return o != nil && o.lost && !o.kind.findable() }

// questions wants a person to be asked only where the catalog does not say what something does.
func (p *probe) questions(asked map[string]question) {
	for id, q := range asked {
		// A create that nothing finds again is one, whatever its resource is called.
		ok := slices.ContainsFunc(kinds, func(k kind) bool {
			return k.service == q.Service && !k.findable() && q.About == "uncertain" && q.Type == "create"
		})
		for _, o := range p.objects {
			changed := q.About == "refused" && q.Type == "delete" || o.lost && q.About == "uncertain" && q.Type == "create"
			ok = ok || id == o.kind.service+" "+o.id && (o.roll.most > o.roll.least || o.after && changed)
		}
		if !ok {
			p.fail("a person is asked about %s, whose effects are declared: %s %s at %s: %s", id, q.Type, q.About, q.Site, q.Reason)
		}
	}
}
