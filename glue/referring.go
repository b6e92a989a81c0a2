package glue

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// Referrer is an object of this site's application that refers to another.
type Referrer struct {
	engine.Target // of the object itself, as clients see it
	Replicated    bool
	By            engine.Relation
}

// Referring lists the objects of this site's application that refer to t, those that are not replicated too, but for those that were
// made along with another: it reads the
// lists of all kinds whose references may name t, with the credentials given (nil: the configuration's), and sees as much
// as those lists show. An error names the kinds that could not be read; what the others have is returned beside it.
func (c *Client) Referring(ctx context.Context, t engine.Target, credentials *engine.Credentials) ([]Referrer, error) {
	var found []Referrer
	names := func(k *engine.Kind) (may, beside bool) {
		for _, r := range k.Refs {
			if r.Service == t.Service && r.Kind == t.Kind {
				may, beside = may || !r.Beside && k.Within == "", beside || r.Beside
			}
		}
		return may || beside, beside
	}
	err := c.each(ctx, t, names, credentials, func(k *engine.Kind, id string, item Item) {
		if len(c.ownersOf(k, item.Text)) > 0 {
			return
		}
		within, _ := k.Split(id)
		for _, r := range tree.RelationsOf(k, within, item.Text) {
			if r.Target == t {
				self := engine.Target{Service: k.Service, Kind: k.Name, ID: engine.ResourceID(id)}
				found = append(found, Referrer{self, item.Replicated, r})
			}
		}
	})
	return found, err
}

// Made lists the objects that this site's application has made along with t and destroys along with it, as far as the catalog says how
// they tell; the relation is that of t. Errors are those of Referring.
func (c *Client) Made(ctx context.Context, t engine.Target, credentials *engine.Credentials) ([]Referrer, error) {
	var found []Referrer
	names := func(k *engine.Kind) (may, beside bool) {
		return k.Service == t.Service && slices.ContainsFunc(c.owners(k), func(o Owner) bool { return o.Kind == t.Kind }), true
	}
	err := c.each(ctx, t, names, credentials, func(k *engine.Kind, id string, item Item) {
		within, _ := k.Split(id)
		for _, owner := range c.ownersOf(k, item.Text) {
			if owner.Kind == t.Kind && engine.Inside(within, string(owner.ID)) == string(t.ID) {
				self := engine.Target{Service: k.Service, Kind: k.Name, ID: engine.ResourceID(id)}
				found = append(found, Referrer{self, item.Replicated, engine.Relation{Target: self, At: owner.At, Type: engine.RelationComposition}})
			}
		}
	})
	return found, err
}

func (c *Client) owners(k *engine.Kind) []Owner {
	if c.config.Owners == nil {
		return nil
	}
	return c.config.Owners(k)
}

// ownersOf reads what an object says that it was made along with; identifiers are as it has them.
func (c *Client) ownersOf(k *engine.Kind, text []byte) []engine.Relation {
	var found []engine.Relation
	for _, o := range c.owners(k) {
		raw, ok := valueIn(text, o.At)
		if !ok {
			continue
		}
		var list []map[string]any
		if json.Unmarshal(raw, &list) != nil {
			continue
		}
		for i, element := range list {
			id, _ := element[o.ID].(string)
			if element[o.Member] == o.Equals && id != "" {
				at := o.At.Append(fmt.Sprint(i))
				found = append(found, engine.Relation{Target: engine.Target{Service: k.Service, Kind: o.Kind, ID: engine.ResourceID(id)}, At: at})
			}
		}
	}
	return found
}

// each reads the lists of the kinds that names picks, those that lie in the container of t alone where it says so, and gives each item
// with its identifier to see.
func (c *Client) each(ctx context.Context, t engine.Target, names func(*engine.Kind) (may, beside bool), credentials *engine.Credentials,
	see func(*engine.Kind, string, Item)) error {
	var unread []string
	order := func(a, b kindName) int { return strings.Compare(a.String(), b.String()) }
	kinds := c.known.Load().kinds
	for _, name := range slices.SortedFunc(maps.Keys(kinds), order) {
		k := kinds[name]
		may, beside := names(k)
		if !may {
			continue
		}
		within := ""
		if target := c.Kind(t.Service, t.Kind); beside && target != nil {
			within, _ = target.Split(string(t.ID))
		}
		if k.Within != "" && within == "" {
			continue // what lies inside containers has no list of all
		}
		items, err := c.list(ctx, k, within, credentials)
		if err != nil {
			unread = append(unread, fmt.Sprintf("%s (%v)", name, err))
			continue
		}
		for _, item := range items {
			id := item.ID
			if k.Within != "" {
				id = engine.Inside(within, id)
			}
			item.Text = c.enveloped(k, item.Text)
			see(k, id, item)
		}
	}
	if len(unread) > 0 {
		return fmt.Errorf("read the lists of %s", strings.Join(unread, ", "))
	}
	return nil
}

// list returns the items of all pages as clients see them; within is the container of what lies in one.
func (c *Client) list(ctx context.Context, k *engine.Kind, within string, credentials *engine.Credentials) ([]Item, error) {
	var all []Item
	err := c.pagesOf(ctx, k, within, "", credentials, func(body []byte) error {
		page, err := c.ParseItems(ctx, k, within, body)
		all = append(all, page.Each...)
		return err
	})
	return all, err
}

func (k kindName) String() string { return string(k.service) + "." + string(k.name) }
