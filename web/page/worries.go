package page

import (
	"fmt"
	"net/url"

	"github.com/skerry/skerry/web/api"
)

// The overview shows so many worries of one sort, and so many sites: its last row leads to the others.
const (
	worriesShown   = 5
	sitesAtAGlance = 10
)

// worrySort is what worries of the same things in the same state have in common, with the foremost of them.
type worrySort struct {
	Items []api.Worry
	// More says how many others there are, and Address is where they are listed; both are empty where there are none.
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
		all, one, address := found[k], "site", "/sites"
		switch k.about {
		case "resource":
			all, one, address = max(all, s.Resources[k.state]), "resource", with("/resources", nil, "state", k.state)
		case "operation":
			all, one, address = max(all, s.Operations[k.state]), "operation", with("/operations", nil, "state", k.state)
		case "conflict":
			one, address = "decision", "/decisions"
		}
		switch more := all - len(sorts[i].Items); {
		case more == 1:
			sorts[i].More, sorts[i].Address = fmt.Sprintf("1 more %s", one), address
		case more > 1:
			sorts[i].More, sorts[i].Address = inNumbers(more)+" more "+one+"s", address
		}
	}
	return sorts
}

// help is where something that is not well can be mended.
type help struct{ Word, Address string }

// helpFor tells the action that helps with a worry.
func helpFor(w api.Worry) help {
	switch {
	case w.About == "conflict":
		return help{"Decide", conflictURL(w.ID)}
	case w.About == "site" && w.State == "failing":
		return help{"Try again", siteURL(w.ID)}
	case w.About == "site":
		return help{"Look", siteURL(w.ID)}
	case w.About == "operation" && w.State == "uncertain":
		return help{"Settle", operationURL(w.ID)}
	case w.About == "operation":
		return help{"Look", operationURL(w.ID)}
	}
	return help{"Decide", with("/conflicts", url.Values{"resource": {w.ID}, "service": {w.Service}, "kind": {w.Kind}})}
}
