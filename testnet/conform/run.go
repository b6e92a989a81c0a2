package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/cmd/trial"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// Names of the two sites.
const (
	First  = "paris"
	Second = "nantes"
)

// Conformance is what is to be tried. The applications are empty as far as it goes: what they hold is left alone.
type Conformance struct {
	// Program is the path of skerry, whose agents are started. Other is that of the second site's agent; empty: the same.
	Program, Other string
	// Dir is an empty folder for the agents' files.
	Dir string
	// Catalog is that of the applications, Text the file that it was read from.
	Catalog *glue.Catalog
	Text    []byte
	// Upstreams are the base addresses of the services of each site's application.
	Upstreams [2]map[string]string
	// TLS are the files of the certificates that each site's application shows, and its agent too; empty: there is no TLS.
	TLS [2]TLS
	// Header goes with every request, and is what the agents send as their own credentials.
	Header http.Header
	// Kinds are those to try; the containers that they lie in have to be among them.
	Kinds []*engine.Kind
	// Bodies create the objects of a kind, by SERVICE/KIND, and are those of named operations, by SERVICE/KIND/OPERATION. A kind without
	// one gets a name alone.
	Bodies map[string]Body
	// Patience bounds how long the sites may take to settle after the cut, and how long an application takes to show what it has accepted.
	Patience time.Duration
	// Tell is called with what is being done; nil: nobody wants to know.
	Tell func(format string, args ...any)
}

// TLS is a certificate that is trusted as it is, and its key.
type TLS struct{ Cert, Key string }

// Body is what a client sends. Text that is no JSON has {name} where the name of the object goes and {value} where a change goes; JSON may have
// {name} too, and is then sent as it is otherwise, or {number} where a number goes that no other object has: its bytes are {high} and {low}.
type Body struct {
	Media string
	Text  []byte
	// Fields and Lists are those of an object that are changed, in JSON; empty: the first that can be.
	Fields, Lists []engine.Pointer
	// Requests are others that clients make about such an object.
	Requests []Request
}

// Request is one that is made about an object: {name} in its text is the object's, {value} differs between the sites.
type Request struct {
	Name, Method string
	// Below is what the path has after that of the object, with the query.
	Below, Media, Text string
	// Field is where it shows; empty: nobody can tell.
	Field engine.Pointer
}

// isJSON reports whether the body is looked into. JSON that is sent as something else is not.
func (b Body) isJSON() bool {
	return len(b.Text) == 0 || json.Valid(b.Text) && strings.HasSuffix(b.media(), "json")
}

// run is a conformance run under way.
type run struct {
	*Conformance
	sites  [2]*site
	kinds  map[string]*KindReport
	report Report
	// first is an object of each kind that others lie in or refer to.
	first map[string]*object
	cases []*pair
	// probes are objects on which it was found out what the application takes.
	probes []*object
	made   int
	tag    string // what all names of this run begin with
}

// Only leaves the kinds of these names, SERVICE/KIND, to be tried.
func (c *Conformance) Only(names []string) {
	c.Kinds = slices.DeleteFunc(c.Kinds, func(k *engine.Kind) bool { return !slices.Contains(names, nameOf(k)) })
}

// Run tries all kinds, deletes what it has made and ends the agents.
func (c *Conformance) Run(ctx context.Context) (report Report, err error) {
	r := &run{Conformance: c, kinds: map[string]*KindReport{}, first: map[string]*object{}, tag: fmt.Sprintf("conform-%x", time.Now().UnixMilli()&0xffffff)}
	if c.Tell == nil {
		c.Tell = func(string, ...any) {}
	}
	if err := r.start(ctx); err != nil {
		return report, errors.Join(err, r.stop())
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	r.report.Application = c.Catalog.Application
	for _, k := range trial.Order(c.Catalog, c.Kinds) {
		if err := r.prepare(ctx, k); err != nil {
			return r.report, fmt.Errorf("prepare %s: %w", nameOf(k), err)
		}
	}
	if err := r.settled(ctx); err != nil {
		return r.report, fmt.Errorf("before the cut: %w", err)
	}
	c.Tell("cutting %s off; %d pairs of operations", Second, len(r.cases))
	if err := r.cut(ctx); err != nil {
		return r.report, err
	}
	r.changeAll(ctx)
	c.Tell("healing")
	if err := r.heal(ctx); err != nil {
		return r.report, err
	}
	late := r.settled(ctx)
	for _, p := range r.cases {
		r.judge(ctx, p, late)
	}
	c.Tell("deleting")
	r.deleteAll(ctx)
	for _, k := range r.kinds {
		k.count()
	}
	return r.report, ctx.Err()
}

// prepare makes the objects of one kind and finds out what its application takes.
func (r *run) prepare(ctx context.Context, k *engine.Kind) error {
	report := &KindReport{Kind: nameOf(k), Assigned: assigned(k)}
	r.kinds[nameOf(k)] = report
	r.report.Kinds = append(r.report.Kinds, report)
	base, why, err := r.make(ctx, k, r.sites[0], r.name())
	if err != nil {
		return err
	}
	if base == nil {
		report.Untried = why
		return nil
	}
	r.first[nameOf(k)] = base
	r.Tell("%s: finding out what it takes", nameOf(k))
	offered, err := r.offered(ctx, k, report)
	if err != nil {
		return err
	}
	offered = append(offered, nothing)
	report.Operations = append(report.Operations, nothing.Name)
	r.Tell("%s: making objects for %d operations", nameOf(k), len(offered))
	for _, x := range offered {
		for _, y := range offered {
			if !worth(x, y) {
				continue
			}
			p := &pair{kind: k, ops: [2]operation{x, y}, report: report}
			if !x.makes {
				o, why, err := r.make(ctx, k, r.sites[len(r.cases)%2], r.name())
				if err != nil {
					return err
				}
				if o == nil {
					return fmt.Errorf("an object is refused that was taken before: %s", why)
				}
				p.objects = []*object{o}
			}
			r.cases = append(r.cases, p)
		}
	}
	return nil
}

// changeAll does all pairs, some side by side: each is of objects of its own, and many wait for an application.
func (r *run) changeAll(ctx context.Context) {
	var changing errgroup.Group
	changing.SetLimit(4)
	for _, p := range r.cases {
		name := r.name()
		changing.Go(func() error {
			r.change(ctx, p, name)
			return nil
		})
	}
	_ = changing.Wait() // what comes of a pair is told of the pair
}

// change has the two clients of a pair do what they do, the second one later.
func (r *run) change(ctx context.Context, p *pair, name string) {
	o := &object{kind: p.kind, name: name}
	if len(p.objects) > 0 && !p.ops[0].makes {
		o = p.objects[0]
	}
	p.before, _ = r.sites[0].shows(ctx, r, o)
	for i, s := range r.sites {
		a, made, err := p.ops[i].do(ctx, r, s, o)
		p.answers[i] = a
		switch {
		case err != nil:
			p.refused = cmp.Or(p.refused, fmt.Sprintf("%s at %s: %v", p.ops[i].Name, s.name, err))
			continue
		case a.status > 299:
			p.refused = cmp.Or(p.refused, fmt.Sprintf("%s at %s is refused: %s", p.ops[i].Name, s.name, a.excerpt()))
			continue
		}
		if made != nil {
			r.follow(p, made)
		}
		p.between[i], _ = s.shows(ctx, r, o)
	}
}

// follow takes an object that an operation has made among those of a pair, unless it is one of them.
func (r *run) follow(p *pair, made *object) {
	if !slices.ContainsFunc(p.objects, func(o *object) bool { return o.id == made.id }) {
		p.objects = append(p.objects, made)
	}
}

// name is one that nothing has yet.
func (r *run) name() string {
	r.made++
	return fmt.Sprintf("%s-%d", r.tag, r.made)
}

func nameOf(k *engine.Kind) string { return string(k.Service) + "/" + string(k.Name) }
