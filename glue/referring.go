package glue

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Referrer is an object of this site's application that refers to another.
type Referrer struct {
	engine.Target // of the object itself, as clients see it
	Replicated    bool
	By            engine.Relation
}

// Referring lists the objects of this site's application that refer to t, those that are not replicated too: it reads the
// lists of all kinds whose references may name t, with the credentials given (nil: the configuration's), and sees as much
// as those lists show. An error names the kinds that could not be read; what the others have is returned beside it.
func (c *Client) Referring(ctx context.Context, t engine.Target, credentials http.Header) ([]Referrer, error) {
	var found []Referrer
	var unread []string
	order := func(a, b kindName) int { return strings.Compare(a.String(), b.String()) }
	for _, name := range slices.SortedFunc(maps.Keys(c.kinds), order) {
		k := c.kinds[name]
		if k.Within != "" || !slices.ContainsFunc(k.Refs, func(r engine.Ref) bool { return r.Service == t.Service && r.Kind == t.Kind }) {
			continue // what lies inside containers has no list of all
		}
		items, err := c.list(ctx, k, credentials)
		if err != nil {
			unread = append(unread, fmt.Sprintf("%s (%v)", name, err))
			continue
		}
		for _, item := range items {
			for _, r := range engine.RelationsOf(k, item.Text) {
				if r.Target == t {
					self := engine.Target{Service: k.Service, Kind: k.Name, ID: engine.ResourceID(item.ID)}
					found = append(found, Referrer{self, item.Replicated, r})
				}
			}
		}
	}
	if len(unread) > 0 {
		return found, fmt.Errorf("read the lists of %s", strings.Join(unread, ", "))
	}
	return found, nil
}

// list returns the items of all pages as clients see them.
func (c *Client) list(ctx context.Context, k *engine.Kind, credentials http.Header) ([]Item, error) {
	var all []Item
	err := c.pages(ctx, k, credentials, func(body []byte) error {
		page, err := c.ParseItems(ctx, k, "", body)
		all = append(all, page.Each...)
		return err
	})
	return all, err
}

func (k kindName) String() string { return string(k.service) + "." + string(k.name) }
