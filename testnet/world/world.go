package world

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/site"
)

// Options say what a world is like.
type Options struct {
	// Sites is how many there are. Their names are site0, site1 and so on, unless Names has others.
	Sites int
	Names []engine.SiteName
	// Seeds make the keys of the sites, and so their identifiers; nil: 1, 2 and so on.
	Seeds []byte
	Kinds []*engine.Kind
	// Prepare, unless nil, is handed each site before it first starts.
	Prepare func(s *Site)
	// RTT is how long a round trip between two sites takes; nil: between 1 and 3 ms.
	RTT func(a, b *Site) time.Duration
	// Limits are those of a site.
	Limits func(s *Site) site.Limits
	// Rng draws what becomes of letters and requests, Luck what the engine draws: what it asks for does not change the former.
	Rng, Luck *rand.Rand
	// Store opens the disk of a site when its process starts, in place of the one in memory; nil: that one.
	Store func(s *Site) (engine.Store, error)
	// Fate, unless nil, is told of each effect of a process, before it and once it is done, and says whether the process dies there.
	Fate func(s *Site, d Deed) (dies bool)
	Log  *slog.Logger
}

// World is a mesh of sites.
type World struct {
	Options
	Ctx   context.Context
	Now   time.Time
	Sites []*Site
	// Loss says that one in so many letters and requests is lost, 0: none; Latency how long a request to an application takes at most.
	Loss    int
	Latency time.Duration
	// Silent says that whatever one site asks another has no answer until that is over, and is lost then.
	Silent bool
	// Problems are what went wrong in a way that nothing may.
	Problems []string
	Deaths   int

	cut     [][]bool // from one site to another
	wire    []letter
	tasks   []*task
	idle    []*coroutine // that wait for a task
	current *task
	ids     int
	catalog catalog
}

// New returns a world whose sites run and know each other.
func New(o Options) (*World, error) {
	w := &World{Options: o, Ctx: context.Background(), Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), catalog: catalog(o.Kinds)}
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	for n := range o.Sites {
		s, err := newSite(w, n)
		if err != nil {
			return nil, err
		}
		if w.Prepare != nil {
			w.Prepare(s)
		}
		w.Sites = append(w.Sites, s)
		w.cut = append(w.cut, make([]bool, o.Sites))
	}
	for _, s := range w.Sites {
		if err := s.Start(); err != nil {
			return nil, err
		}
		if err := w.join(s); err != nil {
			return nil, err
		}
	}
	for range 2 {
		w.DeliverAll()
		w.Reconcile()
	}
	return w, nil
}

// join lets a site into the mesh.
func (w *World) join(s *Site) error {
	first := w.Sites[0].Proc.Mesh
	if s.N == 0 {
		if err := first.Found(w.Ctx, s.record()); err != nil {
			return err
		}
		return s.Proc.announce()
	}
	i, secret, err := first.Invite(w.Ctx, time.Hour, 1, 0)
	if err != nil {
		return err
	}
	records, err := first.Admit(w.Ctx, engine.JoinRequest{Invitation: i.ID, Secret: secret, Site: s.ID, Record: s.record()})
	if err != nil {
		return err
	}
	if err := s.Proc.Mesh.Adopt(w.Ctx, first.MeshID(), first.Founder(), records); err != nil {
		return err
	}
	return s.Proc.announce()
}

// Problem notes what must not be.
func (w *World) Problem(format string, args ...any) {
	w.Problems = append(w.Problems, fmt.Sprintf(format, args...))
}

// Chance is true once in n times; never for 0.
func (w *World) Chance(n int) bool { return n > 0 && w.Rng.IntN(n) == 0 }

// SiteOf returns the site of an identifier.
func (w *World) SiteOf(id engine.SiteID) *Site {
	for _, s := range w.Sites {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Kind returns a kind by its name.
func (w *World) Kind(name engine.KindName) *engine.Kind {
	for _, k := range w.Kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// newID makes a UUID of version 7, which sorts by time.
func (w *World) newID() string {
	w.ids++
	ms := w.Now.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, w.ids)
}

// random fills b for the engine.
func (w *World) random(b []byte) {
	for i := range b {
		b[i] = byte(w.Luck.Uint32())
	}
}

// Due is when something is to be done next; false: nothing ever.
func (w *World) Due() (at time.Time, ok bool) {
	earlier := func(other time.Time) {
		if !ok || other.Before(at) {
			at, ok = other, true
		}
	}
	for _, s := range w.Sites {
		if s.Proc == nil {
			continue
		}
		if due, is := s.Proc.Due(); is {
			earlier(due.Add(-s.Skew))
		}
	}
	for _, t := range w.tasks {
		if !t.wakes.IsZero() {
			earlier(t.wakes)
		}
	}
	return at, ok
}

// Pass lets time pass until somebody has something to do, most at most.
func (w *World) Pass(most time.Duration) {
	next := w.Now.Add(most)
	if due, ok := w.Due(); ok && due.Before(next) {
		next = due
	}
	if next.After(w.Now) {
		w.Now = next
	}
	w.Settle()
}
