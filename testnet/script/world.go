package script

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/skerry/skerry/engine"
	enginesite "github.com/skerry/skerry/engine/site"
	"github.com/skerry/skerry/glue"
	net "github.com/skerry/skerry/testnet/world"
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

// world is several sites in one process, and what the script says of all of them.
type world struct {
	*net.World
	sites   []*site
	catalog *glue.Catalog
	trace   *trace
	limits  enginesite.Limits
	numbers map[numbered]engine.OperationID
	// published are the changes that sites have written, by their hashes.
	published map[[32]byte]bool
	err       error // of making the sites
}

// Run plays a script and returns it with the traces of what happened. An error says that the script makes no sense, or that something
// has happened that never may.
func Run(ctx context.Context, text string) (string, error) {
	w := &world{trace: newTrace(), numbers: map[numbered]engine.OperationID{}, published: map[[32]byte]bool{}, limits: enginesite.Limits{LookAfter: lookAfter, LookEvery: 24 * time.Hour}}
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
	if w.World != nil {
		for _, problem := range w.Problems {
			err = errors.Join(err, errors.New(problem))
		}
		w.Close()
	}
	return played.String(), err
}

// read takes the catalog of the application's service.
func (w *world) read(yaml string) (err error) {
	w.catalog, err = parseCatalog(yaml)
	return err
}

// parseCatalog reads the catalog of the application's service.
func parseCatalog(yaml string) (*glue.Catalog, error) {
	var text strings.Builder
	text.WriteString("application: script\nservices:\n  " + string(service) + ":\n")
	for line := range strings.Lines(yaml) {
		text.WriteString("  " + line)
	}
	return glue.ParseCatalog("catalog", []byte(text.String()))
}

// found makes a mesh of sites.
func (w *world) found(names []string) (err error) {
	o := net.Options{Sites: len(names), Prepare: w.prepare, Fate: w.fate, RTT: func(a, b *net.Site) time.Duration { return time.Millisecond }, Limits: func(*net.Site) enginesite.Limits { return w.limits },
		Rng: rand.New(rand.NewPCG(1, 1)), Luck: rand.New(rand.NewPCG(1, 2)), Log: slog.New(forwards{w.trace})}
	for _, name := range names {
		o.Names = append(o.Names, engine.SiteName(name))
	}
	if o.Seeds, err = rising(len(names)); err != nil {
		return err
	}
	w.World, err = net.New(o)
	w.trace.take()
	return errors.Join(err, w.err)
}

// rising are seeds of n keys, so that the identifiers of the sites rise.
func rising(n int) (seeds []byte, err error) {
	by := map[string]byte{}
	for seed := range byte(n) {
		key, err := crypto.UnmarshalEd25519PrivateKey(ed25519.NewKeyFromSeed(append([]byte{seed + 1}, make([]byte, ed25519.SeedSize-1)...)))
		if err != nil {
			return nil, err
		}
		id, err := peer.IDFromPrivateKey(key)
		if err != nil {
			return nil, err
		}
		by[id.String()] = seed + 1
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		seeds = append(seeds, by[id])
	}
	return seeds, nil
}

func (w *world) site(name string) (*site, error) {
	i := slices.IndexFunc(w.sites, func(s *site) bool { return s.name() == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no site %q", name)
	}
	return w.sites[i], nil
}

// cutOff cuts a site off from all others.
func (w *world) cutOff(s *site) {
	for _, other := range w.sites {
		w.Link(s.Site, other.Site, true)
		w.Link(other.Site, s.Site, true)
	}
}

// deliver lets letters arrive and sites take from others what they lack and do what is due, until all is quiet. Nil: any site.
func (w *world) deliver(from, to *site) {
	before := ""
	for rounds, again := 0, true; again; rounds++ {
		if rounds == 100 {
			w.Problem("sites do not come to rest")
			return
		}
		again = false
		for _, b := range w.sites {
			if to != nil && b != to {
				continue
			}
			for w.DeliverFirst(func(f, t *net.Site) bool { return t == b.Site && (from == nil || f == from.Site) }) {
				again = true
			}
			for _, a := range w.sites {
				if a != b && (from == nil || a == from) && w.Reaches(b.Site, a.Site) && (rounds == 0 || w.differ(b, a) > 0) {
					w.Pull(b.Site, a.Site, 0, false)
				}
			}
			b.WorkOff()
		}
		now := w.differences()
		again, before = again || now != before, now
	}
	if from == nil && to == nil {
		w.compareAll()
	}
}

// differences tells how many documents each two sites show each other differently.
func (w *world) differences() string {
	var all []int
	for i, a := range w.sites {
		for _, b := range w.sites[i+1:] {
			all = append(all, w.differ(a, b))
		}
	}
	return fmt.Sprint(all)
}

// differ counts what two sites show each other differently.
func (w *world) differ(a, b *site) int {
	if a.Proc == nil || b.Proc == nil {
		return 0
	}
	return len(w.Differ(a.Site, b.Site))
}

// compareAll tells which sites, when they have taken from each other what they lack, still show each other something different, which
// they would compare again and again.
func (w *world) compareAll() {
	for i, a := range w.sites {
		for _, b := range w.sites[i+1:] {
			if a.Proc != nil && w.Reaches(a.Site, b.Site) && a.Proc.Mesh.IsMember(b.ID) && b.Proc.Mesh.IsMember(a.ID) && w.differ(a, b) > 0 {
				w.trace.add(a.name(), "and "+b.name()+" show each other different documents")
			}
		}
	}
}

// wait lets time pass: sites do what becomes due.
func (w *world) wait(d time.Duration) {
	for until := w.Now.Add(d); w.Now.Before(until); {
		w.Pass(until.Sub(w.Now))
		for _, s := range w.sites {
			s.WorkOff()
		}
	}
}

// lookAfter is so long that sites look at what their applications show only when a script says "look".
const lookAfter = 10 * time.Minute

// look lets so much time pass that every site looks at what its application shows, and looks again where sites differ.
func (w *world) look() {
	for _, d := range []time.Duration{lookAfter, 5 * lookAfter, 10 * lookAfter} {
		w.Now = w.Now.Add(d)
		w.Settle()
		w.deliver(nil, nil)
	}
}

// forwards tells of requests that one site hands to another.
type forwards struct{ trace *trace }

// Enabled implements slog.Handler.
func (f forwards) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (f forwards) WithAttrs([]slog.Attr) slog.Handler { return f }

// WithGroup implements slog.Handler.
func (f forwards) WithGroup(string) slog.Handler { return f }

// Handle implements slog.Handler.
func (f forwards) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "forward" {
		return nil
	}
	said := map[string]string{}
	r.Attrs(func(a slog.Attr) bool {
		said[a.Key] = a.Value.String()
		return true
	})
	f.trace.add(said["from"], "hands the request to "+said["to"])
	return nil
}
