package scope

import (
	"fmt"
	"slices"
	"strings"
)

// Reference is a reference from a request to a resource, typed by the owners of both sides: the sites that run the request,
// and those that hold what it refers to.
type Reference struct {
	// Request is the request as people read it ("POST /servers"), Service the service that it addresses.
	Request, Service string
	// At is the JSON pointer of the reference in the representation.
	At string
	// To is the service of what it refers to, Kind what one is called ("network").
	To, Kind, ID string
	// Sites run the request. Owners hold what it refers to: an instance of each site is that site's own.
	Sites, Owners []string
	// Local says in words which instances cannot be used from another site than their owner; empty: this one can.
	Local string
	// Creates says that the request makes something new, which might as well be made elsewhere.
	Creates bool
}

// CheckReference returns the type error of a reference in a request with this scope, nil when it is well typed: what it
// refers to can be used from any site, or each site that runs the request owns an instance of it.
func (s *Scope) CheckReference(r Reference) *Problem {
	sites := distinct(r.Sites)
	stray := slices.DeleteFunc(slices.Clone(sites), func(site string) bool { return slices.Contains(r.Owners, site) })
	if r.Local == "" || len(stray) == 0 || len(r.Owners) == 0 {
		return nil
	}
	owners := distinct(r.Owners)
	owned := func(sites []string) string {
		each := make([]string, len(sites))
		for i, site := range sites {
			each[i] = site + "/" + r.Kind
		}
		return strings.Join(each, ", ")
	}
	help := "use " + article(r.Kind) + " of " + list(stray)
	if len(stray) > 1 {
		help = "use " + article(r.Kind) + " that " + list(stray) + " have"
	}
	if r.Creates {
		help += fmt.Sprintf(", or run the request at %s: %s", list(owners), s.at(owners, r.Service, r.To))
	}
	message := fmt.Sprintf("mismatched owners: %s at %s refers to %s %s through %s", r.Request, list(stray), r.Kind, quote(r.ID), r.At)
	p := problem(TypeError, "", 0, 0, message)
	p.Detail = fmt.Sprintf("%s\n  expected  %s\n  found     %s   (%s)\nhelp: %s", message, owned(stray), owned(owners), r.Local, help)
	for _, name := range []string{r.Service, r.To} {
		if l, ok := s.For(name, r.Service); ok {
			p.Position, p.End = l.from, l.to
		}
	}
	return &p
}

// SitesOf returns all sites that the scope binds a service to, each once, in any of its alternatives; none when it does not
// bind the service or the location makes no sense in w.
func (s *Scope) SitesOf(service string, w World) []string {
	l, bound := s.For(service, w.Addressed)
	if !bound {
		return nil
	}
	alternatives, err := Resolve(l, w)
	if err != nil {
		return nil
	}
	var sites []string
	for _, a := range alternatives {
		for _, site := range a.Sites {
			if !slices.Contains(sites, site) {
				sites = append(sites, site)
			}
		}
	}
	return sites
}

// at returns the scope with services bound to sites, and every other binding as it is.
func (s *Scope) at(sites []string, services ...string) string {
	l := Location{Op: OpTogether}
	for _, site := range sites {
		l.Args = append(l.Args, Location{Site: site})
	}
	if len(l.Args) == 1 {
		l = l.Args[0]
	}
	var bound Scope
	for i, service := range services {
		if !slices.Contains(services[:i], service) {
			bound.Bindings = append(bound.Bindings, Binding{Service: service, Location: l})
		}
	}
	for _, b := range s.Bindings {
		if b.Service != "" && !slices.Contains(services, b.Service) {
			bound.Bindings = append(bound.Bindings, b)
		}
	}
	return bound.String()
}

func article(noun string) string {
	if strings.ContainsAny(noun[:min(1, len(noun))], "aeiouAEIOU") {
		return "an " + noun
	}
	return "a " + noun
}

// list joins names as a sentence does.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
