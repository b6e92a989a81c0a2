package agent

import (
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/accept"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/strictyaml"
)

// accepted reads what other sites may do here; nil: the default.
func (r *configReader) accepted(v strictyaml.Value) []accept.Rule {
	if !v.Present() {
		return nil
	}
	rules := []accept.Rule{}
	for _, e := range v.Sequence() {
		m := e.Mapping("rule")
		rule := accept.Rule{From: m.Required("from").Text()}
		if kinds := m.Optional("kinds"); kinds.Present() {
			rule.Kinds = []accept.Kind{}
			for _, k := range kinds.Sequence() {
				rule.Kinds = append(rule.Kinds, r.acceptedKind(k))
			}
		}
		rule.Acts = choices(m.Optional("operations"), engine.Acts)
		rule.Scopes = choices(m.Optional("scopes"), engine.Collaborations)
		if as := m.Optional("as"); as.Present() {
			rule.As = engine.As(as.Choice(string(engine.AsAgent), string(engine.AsUser)))
			r.config.places.as = append(r.config.places.as, asAt{rule.As, rule.Kinds, placeOf(as)})
		}
		m.Done()
		rules = append(rules, rule)
	}
	return rules
}

// acceptedKind reads which kinds a rule is for; Check compares them with the catalog's.
func (r *configReader) acceptedKind(v strictyaml.Value) accept.Kind {
	text := v.Text()
	service, kind, ok := strings.Cut(text, "/")
	switch {
	case text == accept.Any:
		service, kind = accept.Any, accept.Any
	case text == "":
	case !ok || service == "" || kind == "":
		v.Problem(`expected SERVICE/KIND, each of which may be "*", found %q`, text)
	default:
		r.config.places.kinds = append(r.config.places.kinds, kindAt{accept.Kind{Service: service, Name: kind}, placeOf(v)})
	}
	return accept.Kind{Service: service, Name: kind}
}

// choices reads a list of words; nil: it is not there.
func choices[T ~string](v strictyaml.Value, of []T) []T {
	if !v.Present() {
		return nil
	}
	words := make([]string, len(of))
	for i, w := range of {
		words[i] = string(w)
	}
	list := []T{}
	for _, e := range v.Sequence() {
		switch w := T(e.Choice(words...)); {
		case w == "":
		case slices.Contains(list, w):
			e.Problem("%q is listed twice", w)
		default:
			list = append(list, w)
		}
	}
	return list
}

// kindAt is a kind that a rule names, and where.
type kindAt struct {
	accept.Kind
	at place
}

// asAt is with whose rights a rule has something done to some kinds, and where it says so.
type asAt struct {
	as    engine.As
	kinds []accept.Kind
	at    place
}

// checkActing looks for rules that have something done with the rights of users by applications that nobody can ask for that.
func checkActing(c Config, catalog *glue.Catalog, note func(at place, format string, args ...any)) {
	for _, rule := range c.places.as {
		if rule.as != engine.AsUser {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(catalog.Services)) {
			of := rule.kinds == nil || slices.ContainsFunc(rule.kinds, func(k accept.Kind) bool { return k.Service == accept.Any || k.Service == string(name) })
			switch {
			case !of || catalog.Services[name].Glue == glue.GlueKubernetes || c.Services[name].UserHeader != nil:
			case catalog.Services[name].Glue != glue.GlueOpenStack:
				note(rule.at, `the service %s cannot be told for whom something is done: give it "user_header", or leave it out of the rule's "kinds"`, name)
			case len(catalog.Services[name].Kinds) == 0: // nothing of it is an operation
			case c.Services[name].Keystone == "":
				note(rule.at, `the service %s asks Keystone who its caller is: give it "keystone", by which users trust the agent's account, or leave it out of the rule's "kinds"`, name)
			case c.Services[name].Credentials == nil || !strings.EqualFold(c.Services[name].Credentials.Header, "X-Auth-Token"):
				note(rule.at, `users trust the account that the agent has at the service %s: give it "credentials" with the header X-Auth-Token`, name)
			}
		}
	}
}

// checkAccepted looks for kinds in rules that the catalog has not: such a rule would be for nothing. Of services that tell their kinds
// themselves nobody knows them now.
func checkAccepted(kinds []kindAt, catalog *glue.Catalog, note func(at place, format string, args ...any)) {
	for _, k := range kinds {
		var services, names []string
		told := false
		for name, s := range catalog.Services {
			services = append(services, string(name))
			if k.Service != accept.Any && k.Service != string(name) {
				continue
			}
			told = told || s.Glue == glue.GlueKubernetes
			for _, kind := range s.Kinds {
				names = append(names, string(kind.Name))
			}
		}
		slices.Sort(services)
		slices.Sort(names)
		switch {
		case k.Service != accept.Any && !slices.Contains(services, k.Service):
			note(k.at, "the application %s has no service %q%s", catalog.Application, k.Service, strictyaml.DidYouMean(k.Service, services))
		case k.Name != accept.Any && !told && !slices.Contains(names, k.Name):
			note(k.at, "the application %s has no kind %q there%s", catalog.Application, k.Name, strictyaml.DidYouMean(k.Name, names))
		}
	}
}
