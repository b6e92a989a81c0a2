package shape

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// Names translates between the keys that documents hold and the names that people use.
type Names struct {
	ByID   map[engine.SiteID]string
	ByName map[string]engine.SiteID
	// Silent are the sites of which nothing is known now, since when.
	Silent map[engine.SiteID]time.Time
}

// Of returns the name of a site, or its key when no member has it (any more).
func (n Names) Of(id engine.SiteID) string {
	if name, ok := n.ByID[id]; ok && name != "" {
		return name
	}
	return string(id)
}

// ID finds a site by name or key; empty stays empty.
func (n Names) ID(name string) (engine.SiteID, error) {
	if name == "" {
		return "", nil
	}
	if id, ok := n.ByName[name]; ok {
		return id, nil
	}
	if _, ok := n.ByID[engine.SiteID(name)]; ok {
		return engine.SiteID(name), nil
	}
	return "", &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "unknown-site", Detail: fmt.Sprintf("there is no site %q in this mesh", name)}
}

// NamesOf returns the names of members.
func NamesOf(members []engine.Member) Names {
	n := Names{map[engine.SiteID]string{}, map[string]engine.SiteID{}, map[engine.SiteID]time.Time{}}
	for _, m := range members {
		n.ByID[m.ID] = string(m.Name)
		n.ByName[string(m.Name)] = m.ID
	}
	return n
}

// Placement names the sites that a resource belongs to, sorted: those that are about to leave it are not among them.
func (n Names) Placement(row *engine.ResourceRow) []string {
	var sites []string
	for id, st := range row.Sites {
		if st.State != engine.StateLeaving {
			sites = append(sites, n.Of(id))
		}
	}
	slices.Sort(sites)
	return sites
}

// Parts names the sites of each part of a cross resource, as far as is known here.
func (n Names) Parts(row *engine.ResourceRow) [][]string {
	var parts [][]string
	for id, st := range row.Sites {
		if st.Part == 0 || st.State == engine.StateLeaving {
			continue
		}
		for len(parts) < st.Part {
			parts = append(parts, nil)
		}
		parts[st.Part-1] = append(parts[st.Part-1], n.Of(id))
	}
	for _, part := range parts {
		slices.Sort(part)
	}
	return parts
}

// List writes names as people do.
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Short is what a list shows of a long identifier: UUIDs of version 7 differ at their end.
func Short(id string) string {
	if len(id) == 36 && strings.Count(id, "-") == 4 {
		return "…" + id[24:]
	}
	return id
}

// An puts the article before a name. How an initial letter sounds is a guess.
func An(name string) string {
	if strings.ContainsAny(name[:min(1, len(name))], "aeioAEIO") {
		return "an " + name
	}
	return "a " + name
}
