package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/web/shape"
)

// heldShown is how many deletions of a site are shown at once.
const heldShown = 500

// heldCause is the deletions that one user has asked for at one site while another one was away.
type heldCause struct {
	Origin, User string
	To           time.Time
	Items        []shape.Deletion // those that wait first
	Held         int
}

// heldCauses groups deletions, those of which most wait first.
func heldCauses(list []shape.Deletion) []heldCause {
	var all []heldCause
	for _, d := range list {
		i := slices.IndexFunc(all, func(h heldCause) bool { return h.Origin == d.Origin && h.User == d.User })
		if i < 0 {
			i = len(all)
			all = append(all, heldCause{Origin: d.Origin, User: d.User, To: d.At})
		}
		h := &all[i]
		h.Items = append(h.Items, d)
		if d.Held {
			h.Held++
		}
		if d.At.After(h.To) {
			h.To = d.At
		}
	}
	for _, h := range all {
		slices.SortStableFunc(h.Items, func(a, b shape.Deletion) int {
			if a.Held != b.Held {
				if a.Held {
					return -1
				}
				return 1
			}
			return cmp.Compare(deletedName(a), deletedName(b))
		})
	}
	slices.SortStableFunc(all, func(a, b heldCause) int { return cmp.Compare(b.Held, a.Held) })
	return all
}

func deletedName(d shape.Deletion) string { return cmp.Or(d.Label, d.Resource) }

// Headline says who has deleted how much, and what of that has run at the site.
func (h heldCause) Headline(site string) string {
	who := h.Origin
	if h.User != "" {
		who = h.User + " at " + h.Origin
	}
	ran := len(h.Items) - h.Held
	switch {
	case ran == 0:
		return fmt.Sprintf("%s deleted %d while %s was away: none has run here, all wait", who, len(h.Items), site)
	case h.Held == 0:
		return fmt.Sprintf("%s deleted %d while %s was away: all have run", who, len(h.Items), site)
	}
	return fmt.Sprintf("%s deleted %d while %s was away: %d have run, %d wait", who, len(h.Items), site, ran, h.Held)
}
