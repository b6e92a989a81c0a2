package glue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// ErrNoList says that the answer to a GET on a collection has no array where its items should be.
var ErrNoList = errors.New("no list")

// Items is the answer to a GET on a collection, taken apart.
type Items struct {
	// Each is the JSON text of one item, as clients see it.
	Each []Item
	doc  []byte
	at   span
}

// Item is one item of a list.
type Item struct {
	Text json.RawMessage
	// ID is the identifier that clients see, empty when the item shows none.
	ID string
	// Replicated says that this site holds a replica of it, so that ID means the same resource at other sites.
	Replicated bool
	// Part is the number of the part of a cross resource that it is, 0 for none; the glue leaves it alone.
	Part int
	// Home is the number, from 1, of the site that lists it where several list it in pages, 0 for none; the glue leaves it alone.
	Home int
}

// ParseItems takes the answer of this site's application to a GET on the collection of k, in the container within, apart and translates the
// identifiers in it. It returns ErrNoList when there is no list in it. It keeps body.
func (c *Client) ParseItems(ctx context.Context, k *engine.Kind, within string, body []byte) (Items, error) {
	list, err := c.splitItems(k, body)
	if err != nil {
		return Items{}, err
	}
	spots, translates := c.listSpots(ctx, k, within), c.Translates(k)
	self := owner{kindName: nameOf(k)}
	if k.Within != "" {
		self.kind = k
		self.meta, self.local = c.container(ctx, k, within)
	}
	for i := range list.Each {
		item := &list.Each[i]
		text := []byte(item.Text)
		if own, ok := c.listedID(k, text); ok {
			item.ID = own
			if meta, ok := c.ids.Meta(ctx, k.Service, k.Name, self.localID(own)); ok {
				item.ID, item.Replicated = self.own(string(meta)), true
			}
		}
		if !translates {
			continue
		}
		edits, err := c.outward().replace(ctx, text, 0, spots)
		if err != nil {
			return Items{}, err
		}
		item.Text = apply(text, edits)
	}
	return list, nil
}

// SplitItems takes a list apart that another site's agent has translated already.
func (c *Client) SplitItems(k *engine.Kind, body []byte) (Items, error) {
	list, err := c.splitItems(k, body)
	if err != nil {
		return Items{}, err
	}
	for i := range list.Each {
		list.Each[i].ID, _ = c.listedID(k, list.Each[i].Text)
	}
	return list, nil
}

// Join returns the list with each in place of its items. Everything around them stays as it was.
func (l Items) Join(each []Item) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, item := range each {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item.Text)
	}
	b.WriteByte(']')
	return apply(l.doc, []edit{{l.at, b.Bytes()}})
}

func (c *Client) splitItems(k *engine.Kind, body []byte) (Items, error) {
	if !json.Valid(body) {
		return Items{}, fmt.Errorf("%w: the answer is not JSON", ErrNoList)
	}
	at, err := c.itemsAt(k, body)
	if err != nil {
		return Items{}, err
	}
	list := Items{doc: body, at: at}
	elements(body, at.start, func(v span) {
		list.Each = append(list.Each, Item{Text: json.RawMessage(body[v.start:v.end:v.end])})
	})
	return list, nil
}

// itemsAt finds the array: where the catalog says, else the whole document, else its only member that is an array.
func (c *Client) itemsAt(k *engine.Kind, body []byte) (span, error) {
	start := skipSpace(body, 0)
	var found []span
	declared := c.listOf(k)
	if declared != nil && declared.Items != "" {
		values(body, start, declared.Items.Tokens(), func(v span) { found = append(found, v) })
		if len(found) != 1 || body[found[0].start] != '[' {
			return span{}, fmt.Errorf("%w at %q", ErrNoList, string(declared.Items))
		}
		return found[0], nil
	}
	if body[start] == '[' {
		return span{start, skipValue(body, start)}, nil
	}
	members(body, start, func(_ string, v span) {
		if body[v.start] == '[' {
			found = append(found, v)
		}
	})
	if len(found) != 1 {
		return span{}, fmt.Errorf("%w: the answer has %d arrays; say in the catalog which one, with list: {items: …}", ErrNoList, len(found))
	}
	return found[0], nil
}

// envelope is where a representation has what an element of a list shows.
func (c *Client) envelope(k *engine.Kind) engine.Pointer {
	if list := c.listOf(k); list != nil {
		return list.Each
	}
	return ""
}

// listSpots are the spots of a representation as far as an element of a list has them.
func (c *Client) listSpots(ctx context.Context, k *engine.Kind, within string) (spots []spot) {
	envelope := c.envelope(k).Tokens()
	for _, s := range c.spots(ctx, k, within) {
		if n := len(envelope); len(s.tokens) > n && slices.Equal(s.tokens[:n], envelope) {
			s.tokens = s.tokens[n:]
			spots = append(spots, s)
		}
	}
	return spots
}

// listedID reads the identifier that an element of a list shows.
func (c *Client) listedID(k *engine.Kind, text []byte) (id string, ok bool) {
	at, inside := strings.CutPrefix(string(k.ID.At), string(c.envelope(k)))
	if !inside {
		return "", false
	}
	return idAt(engine.Pointer(at), text)
}

// enveloped is an element of a list as a representation shows it.
func (c *Client) enveloped(k *engine.Kind, text []byte) []byte {
	tokens := c.envelope(k).Tokens()
	for _, token := range slices.Backward(tokens) {
		text = slices.Concat([]byte("{"), quote(token), []byte(":"), text, []byte("}"))
	}
	return text
}

// idAt reads the identifier that stands at a place.
func idAt(at engine.Pointer, text []byte) (id string, ok bool) {
	if at == "" {
		return "", false
	}
	values(text, skipSpace(text, 0), at.Tokens(), func(v span) {
		if s, _, good := identifier(text[v.start:v.end]); good {
			id, ok = s, true
		}
	})
	return id, ok
}
