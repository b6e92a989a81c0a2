package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// service is the one service of the application.
const service = engine.ServiceName("app")

// standard is the catalog of scripts that bring none.
const standard = `  kinds:
    image:
      collection: /images
      item: /images/{id}
      id: {from: path, at: /id}
`

// world is several sites in one process, and the time.
type world struct {
	dir       string
	sites     []*site
	catalog   *glue.Catalog
	cut       map[*site]bool
	now       time.Time
	trace     *trace
	abouts    map[engine.DocumentID]engine.About
	described map[string]*described // by resource
	history   int                   // how many operations of a resource a site keeps; 0: the default
	epoch     int                   // how many operations a document takes; 0: the default
	keeping   time.Duration         // how long operations that all sites have settled are listed; 0: the default
	leaving   time.Duration         // how long sites that were removed are waited for; 0: the default
	deletions int                   // how many deletions run unconfirmed at a site that was away; 0: the default
}

// Run plays a script with files in dir, which is empty, and returns it with the traces of what happened. An error says
// that the script makes no sense.
func Run(ctx context.Context, dir, text string) (string, error) {
	w := &world{dir: dir, cut: map[*site]bool{}, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), trace: newTrace(),
		abouts: map[engine.DocumentID]engine.About{}, described: map[string]*described{}}
	if err := w.read(standard); err != nil {
		return "", err
	}
	var played strings.Builder
	var err error
	for _, p := range parse(text) {
		if p.command != "" {
			if err = w.command(ctx, p); err != nil {
				err = fmt.Errorf("%s: %w", p.command, err)
				break
			}
		}
		p.write(&played, w.trace.take())
	}
	for _, s := range w.sites {
		err = errors.Join(err, s.stop())
	}
	return played.String(), err
}

// read takes the catalog of the application's service.
func (w *world) read(yaml string) (err error) {
	w.catalog, err = parseCatalog(yaml)
	return err
}

// found makes a mesh of sites.
func (w *world) found(ctx context.Context, names []string) error {
	keys, ids, err := identities(len(names))
	if err != nil {
		return err
	}
	for i, name := range names {
		s := &site{world: w, name: name, id: ids[i], key: keys[i], dir: w.directory(name), app: newApplication(name, w.trace),
			spoken: map[string][]engine.Entry{}}
		w.trace.names[string(s.id)] = name
		w.sites = append(w.sites, s)
		if err := s.start(ctx); err != nil {
			return err
		}
		if err := w.join(ctx, s); err != nil {
			return err
		}
	}
	if err := w.deliver(ctx, nil, nil); err != nil {
		return err
	}
	w.trace.take()
	for _, s := range w.sites {
		s.ids = 0
	}
	return nil
}

// record is what a site says of itself.
func (w *world) record(s *site) engine.SiteRecord {
	return engine.SiteRecord{Name: engine.SiteName(w.trace.names[string(s.id)]), Catalog: w.catalog.Digest}
}

func (w *world) join(ctx context.Context, s *site) error {
	record := w.record(s)
	first := w.sites[0]
	if s == first {
		return s.Found(ctx, record)
	}
	i, secret, err := first.Invite(ctx, time.Hour, 1)
	if err != nil {
		return err
	}
	e, err := first.Admit(ctx, engine.JoinRequest{Invitation: i.ID, Secret: secret, Site: s.id, Record: record})
	if err != nil {
		return err
	}
	if err := s.Adopt(ctx, e); err != nil {
		return err
	}
	return s.Announce(ctx, record)
}

// compare puts documents in the order in which the script has come to their resources; the mesh's is before all.
func (w *world) compare(a, b engine.DocumentID) int {
	number := func(id engine.DocumentID) int {
		if d := w.described[w.resource(id)]; d != nil {
			return d.number
		}
		return -1
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(w.abouts[a].Epoch, w.abouts[b].Epoch))
}

// resource tells apart the resources that documents are of.
func (w *world) resource(id engine.DocumentID) string {
	about := w.abouts[id]
	about.Epoch = 0
	return fmt.Sprint(about)
}

func (w *world) site(name string) (*site, error) {
	i := slices.IndexFunc(w.sites, func(s *site) bool { return s.name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no site %q", name)
	}
	return w.sites[i], nil
}

func (w *world) connected(a, b *site) bool {
	return !w.cut[a] && !w.cut[b] && !a.dead && !b.dead && a.IsMember(b.id) && b.IsMember(a.id)
}

// changed tells the sites who reaches whom.
func (w *world) changed(ctx context.Context) {
	for _, a := range w.sites {
		for _, b := range w.sites {
			if a.id != b.id && !a.dead {
				a.SiteChanged(ctx, b.id, w.connected(a, b))
			}
		}
	}
}

// deliver lets sites take from others what they lack and do what is due, until all is quiet. Nil: any site.
func (w *world) deliver(ctx context.Context, from, to *site) error {
	again := true
	for rounds := 0; again; rounds++ {
		if rounds == 100 {
			w.trace.add("sites", "do not come to rest")
			return nil
		}
		again = false
		for _, b := range w.sites {
			for _, a := range w.sites {
				if a.id == b.id || from != nil && a != from || to != nil && b != to || !w.connected(a, b) {
					continue
				}
				took, err := b.pull(ctx, a)
				if err != nil {
					return err
				}
				again = again || took
			}
			if !b.dead && (to == nil || b == to) {
				again = b.work(ctx) && to == nil || again
			}
		}
		again = again && to == nil
	}
	if from != nil || to != nil {
		return nil
	}
	return w.compareAll(ctx)
}

// gossip brings one site late what another has published, also what it does not have any more since it was set back.
func (w *world) gossip(ctx context.Context, from, to *site) error {
	for _, e := range from.published {
		if err := to.Receive(ctx, from.id, e); err != nil && !errors.Is(err, engine.ErrMissing) {
			return err
		}
	}
	to.work(ctx)
	return nil
}

// compareAll tells which sites, when they have taken from each other what they lack, still show each other different documents, which
// they would compare again and again. One may have dropped what the other drops later; one that has stopped writing takes nothing.
func (w *world) compareAll(ctx context.Context) error {
	for i, a := range w.sites {
		for _, b := range w.sites[i+1:] {
			if !w.connected(a, b) || a.Writable() != nil || b.Writable() != nil {
				continue
			}
			mine, err := a.Summaries(ctx, b.id, "", "")
			if err != nil {
				return err
			}
			theirs, err := b.Summaries(ctx, a.id, "", "")
			if err != nil {
				return err
			}
			for _, d := range mine {
				of := func(o engine.Summary) bool { return o.Document == d.Document }
				switch i := slices.IndexFunc(theirs, of); {
				case i < 0:
					w.trace.add(a.name, fmt.Sprintf("shows %s a document of epoch %d, and is shown none", b.name, w.abouts[d.Document].Epoch))
				case theirs[i] != d:
					w.trace.add(a.name, fmt.Sprintf("and %s show each other different documents of epoch %d", b.name, w.abouts[d.Document].Epoch))
				}
			}
			for _, d := range theirs {
				if !slices.ContainsFunc(mine, func(o engine.Summary) bool { return o.Document == d.Document }) {
					w.trace.add(b.name, fmt.Sprintf("shows %s a document of epoch %d, and is shown none", a.name, w.abouts[d.Document].Epoch))
				}
			}
		}
	}
	return nil
}

// deliverEpoch lets one site take from another what it lacks of the documents of one epoch, as where the letters that brought the others were
// lost.
func (w *world) deliverEpoch(ctx context.Context, from, to *site, epoch string) error {
	n, err := strconv.ParseUint(epoch, 10, 64)
	if err != nil {
		return err
	}
	if _, err := to.take(ctx, from, func(d engine.DocumentID) bool { return w.abouts[d].Epoch == n }); err != nil {
		return err
	}
	to.work(ctx)
	return nil
}

// tick is how exactly time passes.
const tick = 100 * time.Millisecond

// wait lets time pass: sites do what becomes due.
func (w *world) wait(ctx context.Context, d time.Duration) {
	for until := w.now.Add(d); w.now.Before(until); {
		w.now = w.now.Add(tick)
		for _, s := range w.sites {
			if !s.dead {
				s.work(ctx)
			}
		}
	}
}

// lookAfter is so long that sites look at what their applications show only when a script says "look".
const lookAfter = 10 * time.Minute

// look lets so much time pass that every site looks at what its application shows, and looks again where sites differ.
func (w *world) look(ctx context.Context) error {
	for _, d := range []time.Duration{lookAfter, 5 * lookAfter, 10 * lookAfter} {
		w.now = w.now.Add(d)
		if err := w.deliver(ctx, nil, nil); err != nil {
			return err
		}
	}
	return nil
}
