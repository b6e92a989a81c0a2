package page

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/builder"
)

// builderModel is the form in which people say where a request runs. The text of the scope is made from it, and it from the text.
type builderModel struct {
	builder.Choice
	Said bool // a choice can say the scope that is there
	// Written says that the text was made from the choice just now, Stale that the choice which is shown is not the one of the text.
	Written, Stale bool
	Places         []place // sites
	Zones          []place
	Others         []string // services to whose things a request to this one can refer
}

// place is a site or a zone that can be chosen, and what is to be known of it then.
type place struct {
	Name, State, Title string
}

// builder returns what a request to a service can be built with, and a choice that says nothing yet.
func (p *Page) builder(service string) builderModel {
	m := builderModel{Choice: builder.Choice{Shape: builder.Copies}, Said: true}
	for _, s := range p.api.Sites() {
		at := place{s.Name, "reachable", "can be reached"}
		switch {
		case s.Self:
			at.Title = "this site"
		case !s.Reachable:
			at.State, at.Title = "unreachable", "cannot be reached now: it gets its share later"
		}
		m.Places = append(m.Places, at)
	}
	for _, z := range p.api.Zones() {
		m.Zones = append(m.Zones, place{Name: z.Name, Title: strings.Join(z.Sites, ", ")})
	}
	for _, s := range p.api.Services {
		if string(s.Name) != service {
			continue
		}
		for _, k := range s.Kinds() {
			for _, r := range k.Refs {
				if other := string(r.Service); other != service && !slices.Contains(m.Others, other) {
					m.Others = append(m.Others, other)
				}
			}
		}
	}
	return m
}

// names are what a choice may name.
func (m *builderModel) names() (all []string) {
	for _, p := range slices.Concat(m.Places, m.Zones) {
		all = append(all, p.Name)
	}
	return all
}

// read says the scope as a choice.
func (m *builderModel) read(service, scope string) {
	m.Choice, m.Said = builder.Read(strings.TrimSpace(scope), service, m.names())
}

// take goes by whichever of the two has changed since the form was made, the text or the choice, and returns the text. Where both
// have, the text counts.
func (m *builderModel) take(form url.Values, service, scope string) string {
	if m.read(service, scope); !form.Has("was") {
		return scope
	}
	now, before := choiceOf(form), form.Get("for")
	m.Stale = before != service || form.Get("was") != scope
	if form.Get("was") != scope || now.Shape == "" {
		return scope
	}
	was, _ := builder.Read(strings.TrimSpace(scope), before, m.names())
	if m.Choice, m.Said = now.With(was), true; now.Same(was) && before == service {
		return scope
	}
	m.Written = true
	return m.Scope(service, m.siteNames())
}

func (m *builderModel) siteNames() (all []string) {
	for _, p := range m.Places {
		all = append(all, p.Name)
	}
	return all
}

// choiceOf is what a form says.
func choiceOf(form url.Values) builder.Choice {
	c := builder.Choice{Shape: builder.Shape(form.Get("shape")), Sites: form["at"], Wait: form.Get("wait"), From: map[string]string{}}
	for name, v := range form {
		if service, is := strings.CutPrefix(name, "from."); is && v[0] != "" {
			c.From[service] = v[0]
		}
	}
	return c
}

// shapeWords are what people read who choose a shape, and what follows from it.
func shapeWords(s builder.Shape) (word, follows string) {
	switch s {
	case builder.Copies:
		return "A copy at each", "One identifier. Each change reaches all of them, sooner or later."
	case builder.Spread:
		return "Spread over them", "One resource in parts that behaves as one."
	case builder.First:
		return "The first that answers", "At one of them: the nearest that can be reached."
	}
	return "Exactly one of them", "At one, and never under the same name at a second."
}

// placedWords says what a resource has at the sites that it lives at.
func placedWords(collaboration string) string {
	if collaboration == string(engine.Cross) {
		return "Spread over"
	}
	return "A copy at"
}

// chosen reports whether a place is among those chosen.
func (m builderModel) chosen(name string) bool { return slices.Contains(m.Sites, name) }

// others are the services that are asked about: those that can be referred to, and those that the scope says something of.
func (m builderModel) others() []string {
	all := slices.Concat(m.Others, slices.Sorted(maps.Keys(m.From)))
	slices.Sort(all)
	return slices.Compact(all)
}
