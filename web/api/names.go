package api

import (
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
)

// names translates between the keys that documents hold and the names that people use.
type names struct {
	byID   map[engine.SiteID]string
	byName map[string]engine.SiteID
}

// of returns the name of a site, or its key when no member has it (any more).
func (n names) of(id engine.SiteID) string {
	if name, ok := n.byID[id]; ok && name != "" {
		return name
	}
	return string(id)
}

// id finds a site by name or key; empty stays empty.
func (n names) id(name string) (engine.SiteID, error) {
	if name == "" {
		return "", nil
	}
	if id, ok := n.byName[name]; ok {
		return id, nil
	}
	if _, ok := n.byID[engine.SiteID(name)]; ok {
		return engine.SiteID(name), nil
	}
	return "", &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "unknown-site", Detail: fmt.Sprintf("there is no site %q in this mesh", name)}
}

// namesOf returns the names of members.
func namesOf(members []engine.Member) names {
	n := names{map[engine.SiteID]string{}, map[string]engine.SiteID{}}
	for _, m := range members {
		n.byID[m.ID] = string(m.Name)
		n.byName[string(m.Name)] = m.ID
	}
	return n
}
