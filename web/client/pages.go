package client

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
)

// MaxPage is the most items that the API gives at once.
const MaxPage = 1000

// List is a list of the API, which comes in pages or whole.
type List struct {
	// Path is below /api/v1; Query says which items. Members without a value are left out.
	Path  string
	Query url.Values
	// Cursor is the name of the parameter that takes a page's next; empty for a list that comes whole.
	Cursor string
	// Limit is the most items that are wanted; 0: all, however many.
	Limit int
}

// Fetch returns the items of a list as the agent wrote them, and next when there are more than were asked for.
func (c *Client) Fetch(ctx context.Context, l List) (items []json.RawMessage, next string, err error) {
	for p, err := range c.pages(ctx, l) {
		if err != nil {
			return nil, "", err
		}
		items, next = append(items, p.Items...), p.Next
	}
	return items, next, nil
}

// page is one page of a list.
type page struct {
	Items []json.RawMessage `json:"items"`
	Next  string            `json:"next"`
}

// pages asks for a page when it is wanted. The first error is the last of them.
func (c *Client) pages(ctx context.Context, l List) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		query := url.Values{}
		for k, v := range l.Query {
			if len(v) > 0 && v[0] != "" {
				query[k] = v
			}
		}
		for had := 0; ; {
			if l.Cursor != "" {
				n := MaxPage
				if l.Limit > 0 {
					n = min(n, l.Limit-had)
				}
				query.Set("limit", strconv.Itoa(n))
			}
			p, err := c.page(ctx, l.Path, query)
			had += len(p.Items)
			if !yield(p, err) || err != nil || p.Next == "" || len(p.Items) == 0 || l.Limit > 0 && had >= l.Limit {
				return
			}
			query.Set(l.Cursor, p.Next)
		}
	}
}

func (c *Client) page(ctx context.Context, path string, query url.Values) (page, error) {
	b, err := c.Get(ctx, path, query)
	if err != nil {
		return page{}, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) { // a list without pages
		items, err := Decode[[]json.RawMessage](b)
		return page{Items: items}, err
	}
	return Decode[page](b)
}

// each gives the items of a list one by one, and asks for a page when its first item is wanted. The first error is the last of them.
func each[T any](ctx context.Context, c *Client, l List) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for p, err := range c.pages(ctx, l) {
			if err != nil {
				yield(none, err)
				return
			}
			for _, b := range p.Items {
				v, err := Decode[T](b)
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}
