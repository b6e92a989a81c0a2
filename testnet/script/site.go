package script

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/accept"
	"github.com/skerry/skerry/glue"
	net "github.com/skerry/skerry/testnet/world"
)

// site is one location as the script has it.
type site struct {
	*net.Site
	world *world
	app   *application
	saved saved
	// doom says where its agent dies; nil: nowhere.
	doom func(s *site, d net.Deed) bool
	// told is what it has told last of each resource, open are its conflicts that wait for a person.
	told map[engine.DocumentID]*engine.Status
	open map[engine.ConflictID]engine.Conflict
}

// prepare makes the application of a site.
func (w *world) prepare(n *net.Site) {
	s := &site{Site: n, world: w, app: newApplication(string(n.Name), w.trace, n.Clock), told: map[engine.DocumentID]*engine.Status{},
		open: map[engine.ConflictID]engine.Conflict{}}
	n.Instead, n.Log = s.app, handler{w.trace, n}
	n.Fetched = func(from *net.Site, _ []byte) error {
		w.trace.add(string(n.Name), "fetches from "+string(from.Name))
		return nil
	}
	w.trace.names[string(n.ID)] = string(n.Name)
	w.sites = append(w.sites, s)
	w.err = s.use(w.catalog)
}

// use gives a site a catalog, which counts from the next start on.
func (s *site) use(catalog *glue.Catalog) error {
	kinds := catalog.Services[service].Kinds
	up, err := url.Parse("http://" + s.name() + ".invalid") // only paths and bodies are asked of the glue
	if err != nil {
		return err
	}
	client, err := glue.NewClient(glue.ClientConfig{Upstreams: []glue.Upstream{{Service: service, URL: up, Kinds: kinds}}})
	if err != nil {
		return err
	}
	client.Use(identifiers{s.Site})
	s.Kinds, s.Catalog, s.app.glue = kinds, client, client
	return nil
}

func (s *site) name() string { return string(s.Name) }

// identifiers are those that the agent knows; none while it does not run. It implements engine.Identifiers.
type identifiers struct{ at *net.Site }

// Local implements engine.Identifiers.
func (i identifiers) Local(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.LocalID, bool) {
	if i.at.Proc == nil {
		return "", false
	}
	return i.at.Proc.Site.Local(ctx, service, kind, id)
}

// Meta implements engine.Identifiers.
func (i identifiers) Meta(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.LocalID) (engine.ResourceID, bool) {
	if i.at.Proc == nil {
		return "", false
	}
	return i.at.Proc.Site.Meta(ctx, service, kind, id)
}

// Translated implements engine.Identifiers.
func (i identifiers) Translated(service engine.ServiceName, kind engine.KindName) bool {
	return i.at.Proc != nil && i.at.Proc.Site.Translated(service, kind)
}

// accepts configures what other sites may do there.
func (s *site) accepts(text string) error {
	s.Accept = nil
	for _, words := range strings.Split(text, ",") {
		r := accept.Rule{}
		for i, word := range strings.Fields(words) {
			switch {
			case i == 0:
				r.From = word
			case !slices.Contains(engine.Acts, engine.Act(word)):
				return fmt.Errorf("there is no operation %q", word)
			default:
				r.Acts = append(r.Acts, engine.Act(word))
			}
		}
		if r.From != "" {
			s.Accept = append(s.Accept, r)
		}
	}
	return nil
}

// do has the agent of a site do something for somebody who waits for it, and then whatever else is due there. Other sites do what is due
// until he has his answer. It reports whether he has.
func (s *site) do(f func()) (over bool) {
	p, w := s.Proc, s.world
	if p == nil {
		return false
	}
	w.Do(p, func() {
		f()
		over = true
	})
	s.WorkOff()
	for did := true; did && !over && !p.Dead(); {
		did = false
		for _, other := range w.sites {
			did = !over && other.Step() || did
		}
	}
	s.WorkOff()
	return over
}

// restart starts the agent anew from what is on its disk, and does what it finds to do.
func (s *site) restart() error {
	s.stop()
	if err := s.Start(); err != nil {
		return err
	}
	s.WorkOff()
	return nil
}

// stop ends the agent.
func (s *site) stop() {
	if s.Proc != nil {
		s.Proc.Die()
	}
	s.doom = nil
}

// dooms are the ends that a script can name, by what an agent does not live to see.
var dooms = map[string]func(s *site, d net.Deed) bool{
	"intent":  func(s *site, d net.Deed) bool { return s.commits(d, false, false) },
	"request": func(_ *site, d net.Deed) bool { return !d.Done && changes(d) },
	"answer":  func(_ *site, d net.Deed) bool { return d.Done && changes(d) },
	"commit":  func(s *site, d net.Deed) bool { return s.commits(d, true, false) },
	"merge":   func(s *site, d net.Deed) bool { return s.commits(d, false, true) },
	"publish": func(_ *site, d net.Deed) bool {
		l, ok := d.What.(*engine.Letter)
		return ok && !d.Done && slices.ContainsFunc(l.Parcels, func(p engine.Parcel) bool { return len(p.Changes) > 0 })
	},
	"drop": func(_ *site, d net.Deed) bool {
		b, ok := d.What.(*engine.Batch)
		return ok && !d.Done && len(b.Ended) > 0 && len(b.Changes) == 0
	},
	"hearing": func(_ *site, d net.Deed) bool {
		_, ok := d.What.(*engine.Request)
		return ok && d.Done
	},
}

// commits tells of a deed that is still to be done whether it is a commit with changes of the site's own and of others.
func (s *site) commits(d net.Deed, own, others bool) bool {
	b, ok := d.What.(*engine.Batch)
	if !ok || d.Done || len(b.Records)+len(b.Errands) == 0 {
		return false
	}
	mine := func(c *engine.Change) bool { return c.Author() == s.ID }
	theirs := func(c *engine.Change) bool { return c.Author() != s.ID }
	return slices.ContainsFunc(b.Changes, mine) == own && slices.ContainsFunc(b.Changes, theirs) == others
}

// changes reports whether a deed is a request to the application that changes something.
func changes(d net.Deed) bool {
	c, ok := d.What.(engine.Call)
	return ok && c.Method != "GET"
}

// fate tells what a process does, and ends it where the script has named that.
func (w *world) fate(n *net.Site, d net.Deed) bool {
	i := slices.IndexFunc(w.sites, func(s *site) bool { return s.Site == n })
	s := w.sites[i]
	if d.Done {
		w.tell(s, d.What)
	}
	if s.doom == nil || !s.doom(s, d) {
		return false
	}
	s.doom = nil
	w.trace.add(s.name(), "dies")
	return true
}

// resource finds what a site says of a resource.
func (s *site) resource(ctx context.Context, name string) (engine.ResourceRow, error) {
	rows, _, err := s.Disk.Resources(ctx, engine.ResourceFilter{ID: engine.ResourceID(s.world.identify(name))})
	if err != nil || len(rows) == 0 {
		return engine.ResourceRow{}, fmt.Errorf("%s has no %s: %w", s.Name, name, err)
	}
	return rows[0], nil
}
