package typing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/glue"
)

const (
	// wait bounds the time for all questions of one check.
	wait = 2 * time.Second
	// maxChecked is how many references of one request are typed; the rest is left to the application.
	maxChecked = 64
)

// Resources looks up what this site shares; engine.ErrNotFound when it does not share it.
type Resources interface {
	Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error)
}

// Shown is what a site's application shows of a resource.
type Shown struct {
	Status int // 200, or 404 where there is none
	Body   []byte
}

// Ask reads a resource at a site, this one among them, under an identifier as clients of this site write it. The header
// has the credentials. An error says that it cannot be known now.
type Ask func(ctx context.Context, site engine.SiteID, k *engine.Kind, id string, header http.Header) (Shown, error)

// Checker types requests. It is safe for concurrent use; all fields must be set before the first check.
type Checker struct {
	Self       engine.SiteID
	Resources  Resources
	Kind       func(engine.ServiceName, engine.KindName) *engine.Kind // nil when the catalog has none
	Visibility func(*engine.Kind) glue.Visibility
	Ask        Ask
	Name       func(engine.SiteID) string
}

// Request is a request that is to be typed.
type Request struct {
	Kind    *engine.Kind
	Method  string
	Path    string // as people read it
	Creates bool   // it makes something new
	// Relations are its references, by meta-identifiers.
	Relations []engine.Relation
	// Sites are all that may run it.
	Sites []engine.SiteID
	Scope *scope.Scope
	// Bound are the sites that the scope binds a service to, nil when it does not.
	Bound func(engine.ServiceName) []engine.SiteID
	// Header has the caller's credentials; nil: this site asks its application with its own.
	Header http.Header
}

// Result is what is wrong with a request. Unreachable are sites that could not be asked though the scope names them for
// what the request refers to: whether it is well typed is not known then.
type Result struct {
	Problems    []scope.Problem
	Unreachable []string
	// Lacking says of each reliance where the request runs without a replica of it, Warnings what else is to be known.
	Lacking, Warnings []string
}

// Check types the references of a request. It asks other sites only about what may be local to its owner.
func (c *Checker) Check(ctx context.Context, r Request) (Result, error) {
	var out Result
	relations := slices.Clone(r.Relations)
	if err := c.lacking(ctx, r, relations, &out); err != nil {
		return out, err
	}
	relations = slices.DeleteFunc(relations, func(to engine.Relation) bool {
		k := c.Kind(to.Service, to.Kind)
		return k == nil || c.Visibility(k).Scope == glue.VisibilityGlobal || to.Type == engine.RelationComposition
	})
	if len(relations) > maxChecked {
		out.Warnings = append(out.Warnings, fmt.Sprintf("only the first %d references to what may be local are checked", maxChecked))
		relations = relations[:maxChecked]
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for _, to := range relations {
		k := c.Kind(to.Service, to.Kind)
		found, err := c.find(ctx, r, k, string(to.ID))
		if err != nil {
			return out, err
		}
		if len(found.silent) > 0 && found.shown == nil && found.bound {
			out.Unreachable = append(out.Unreachable, c.names(found.silent)...)
			continue
		}
		if p := r.Scope.CheckReference(scope.Reference{
			Request: r.Method + " " + r.Path, Service: string(r.Kind.Service), At: string(to.At), To: string(to.Service), Kind: string(to.Kind),
			ID: string(to.ID), Sites: c.names(r.Sites), Owners: c.names(found.owners), Local: found.local, Creates: r.Creates,
		}); p != nil {
			if len(found.silent) > 0 { // one of them may have an instance of its own
				out.Warnings = append(out.Warnings, fmt.Sprintf("%s %s is local to %s; whether %s has one of its own is not known now",
					to.Kind, to.ID, strings.Join(c.names(found.owners), ", "), strings.Join(c.names(found.silent), ", ")))
				continue
			}
			out.Problems = append(out.Problems, *p)
		}
	}
	slices.Sort(out.Unreachable)
	out.Unreachable = slices.Compact(out.Unreachable)
	return out, nil
}

// whereabouts is what is known of what a reference names.
type whereabouts struct {
	owners []engine.SiteID
	shown  []byte // what an owner shows; nil: nobody could be asked, or it was not needed
	local  string // why it is local to its owners; empty: it is not, or nobody has it
	silent []engine.SiteID
	bound  bool // the scope says where it is
}

// find tells who holds what a reference names, and whether it is local: a replica where it is replicated, else where the scope
// binds its service, else here or where the request runs.
func (c *Checker) find(ctx context.Context, r Request, k *engine.Kind, id string) (w whereabouts, err error) {
	row, err := c.Resources.Lookup(ctx, k, id)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return w, fmt.Errorf("find %s %s: %w", k.Name, id, err)
	}
	candidates := r.Bound(k.Service)
	w.bound = len(candidates) > 0
	switch {
	case err == nil:
		id = string(row.ID)
		for site, st := range row.Sites {
			if st.State != engine.StateLeaving {
				w.owners = append(w.owners, site)
			}
		}
		if c.everywhere(r.Sites, w.owners) {
			return w, nil
		}
		c.judge(ctx, &w, r, k, id, c.hereFirst(w.owners))
		return w, nil
	case w.bound:
	default:
		candidates = []engine.SiteID{c.Self}
	}
	found := c.ask(ctx, candidates, k, id, r.Header)
	w.take(found)
	if len(w.owners) == 0 && !w.bound { // what the sites that run it call so
		w.take(c.ask(ctx, without(r.Sites, c.Self), k, id, r.Header))
	}
	if w.shown != nil {
		w.local = c.Visibility(k).Local(k, w.shown)
	}
	if w.local != "" && !w.bound && k.Natural() { // each site may have its own under the name
		shown := w.shown
		w.take(c.ask(ctx, without(r.Sites, w.owners...), k, id, r.Header))
		w.shown = shown
	}
	return w, nil
}

// judge reads a replicated resource at one of its sites to see whether it is local.
func (c *Checker) judge(ctx context.Context, w *whereabouts, r Request, k *engine.Kind, id string, sites []engine.SiteID) {
	v := c.Visibility(k)
	if !v.Conditional() {
		w.local = v.Local(k, nil)
		return
	}
	for _, site := range sites {
		a := c.ask(ctx, []engine.SiteID{site}, k, id, r.Header)[0]
		if a.err == nil && a.shown.Status == http.StatusOK {
			w.shown, w.local, w.silent = a.shown.Body, v.Local(k, a.shown.Body), nil
			return
		}
		w.silent = append(w.silent, site)
	}
	w.bound = true
}

type answered struct {
	site  engine.SiteID
	shown Shown
	err   error
}

// ask asks sites at once. The answers are in the order of the sites.
func (c *Checker) ask(ctx context.Context, sites []engine.SiteID, k *engine.Kind, id string, header http.Header) []answered {
	all := make([]answered, len(sites))
	var asking sync.WaitGroup
	for i, site := range sites {
		asking.Go(func() {
			shown, err := c.Ask(ctx, site, k, id, header)
			all[i] = answered{site, shown, err}
		})
	}
	asking.Wait()
	return all
}

// take adds what sites have answered.
func (w *whereabouts) take(all []answered) {
	for _, a := range all {
		switch {
		case a.err != nil:
			w.silent = append(w.silent, a.site)
		case a.shown.Status == http.StatusOK:
			w.owners = append(w.owners, a.site)
			if w.shown == nil {
				w.shown = append([]byte{}, a.shown.Body...)
			}
		}
	}
}

func (c *Checker) everywhere(sites, owners []engine.SiteID) bool {
	return !slices.ContainsFunc(sites, func(s engine.SiteID) bool { return !slices.Contains(owners, s) })
}

func (c *Checker) hereFirst(sites []engine.SiteID) []engine.SiteID {
	slices.Sort(sites)
	if i := slices.Index(sites, c.Self); i > 0 {
		sites[0], sites[i] = sites[i], sites[0]
	}
	return sites
}

func without(sites []engine.SiteID, others ...engine.SiteID) []engine.SiteID {
	return slices.DeleteFunc(slices.Clone(sites), func(s engine.SiteID) bool { return slices.Contains(others, s) })
}

func (c *Checker) names(sites []engine.SiteID) []string {
	names := make([]string, len(sites))
	for i, s := range sites {
		names[i] = c.Name(s)
	}
	return names
}
