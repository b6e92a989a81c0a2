package page

import (
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// The overview shows so many worries of one sort, causes and sites: its last row leads to the others.
const (
	worriesShown    = 5
	causesAtAGlance = 10
	sitesAtAGlance  = 10
)

// causeURL is where the decisions of a cause are taken.
func causeURL(c shape.Cause) string {
	if c.Decisions == 1 {
		return with("/decisions", nil, "at", c.Newest)
	}
	return "/decisions"
}

// worrySort is what worries of the same things in the same state have in common, with the foremost of them.
type worrySort struct {
	Items []api.Worry
	// More leads to the others, and Address is where they are listed; both are empty where there are none.
	State, More, Address string
}

// bySort groups worries, in the order in which they are told.
func bySort(s api.Summary) (sorts []worrySort) {
	type key struct{ about, state string }
	at, found := map[key]int{}, map[key]int{}
	for _, w := range s.Worries {
		k := key{w.About, w.State}
		i, known := at[k]
		if !known {
			i = len(sorts)
			at[k], sorts = i, append(sorts, worrySort{State: w.State})
		}
		if found[k]++; found[k] <= worriesShown {
			sorts[i].Items = append(sorts[i].Items, w)
		}
	}
	for k, i := range at {
		more := found[k] - len(sorts[i].Items)
		if more == 0 {
			continue
		}
		switch k.about {
		case "resource":
			sorts[i].More, sorts[i].Address = "More resources", with("/resources", nil, "state", k.state)
		case "operation":
			sorts[i].More, sorts[i].Address = "More operations", with("/operations", nil, "state", k.state)
		default:
			sorts[i].More, sorts[i].Address = shape.Count(more, "more site", "more sites"), "/sites"
		}
	}
	return sorts
}

// help is where something that is not well can be mended.
type help struct{ Word, Address string }

// helpFor tells the action that helps with a worry.
func helpFor(w api.Worry) help {
	switch {
	case w.About == "site" && w.State == "failing":
		return help{"Try again", siteURL(w.ID)}
	case w.About == "site":
		return help{"Look", siteURL(w.ID)}
	case w.About == "operation":
		return help{"Look", operationURL(w.ID)}
	}
	return help{"Look", resourceURL(w.ID, w.Service, w.Kind)}
}
