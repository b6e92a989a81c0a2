package glue

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// maxPages bounds how much of a list is read.
const maxPages = 10_000

// pages reads the whole list of a kind, as this site's application shows it, and calls visit with each page. Nil credentials
// are the agent's own.
func (c *Client) pages(ctx context.Context, k *engine.Kind, credentials *engine.Credentials, visit func(body []byte) error) error {
	return c.pagesOf(ctx, k, "", "", credentials, visit)
}

// pagesOf is pages for what lies in a container, by the application's identifier of that, and for what a query selects.
func (c *Client) pagesOf(ctx context.Context, k *engine.Kind, within, selection string, credentials *engine.Credentials, visit func(body []byte) error) error {
	list := c.listOf(k)
	numbered := func(n int) string {
		page := cmp.Or(list.Page, list.Offset) + "=" + strconv.Itoa(n)
		if selection == "" {
			return page
		}
		return selection + "&" + page
	}
	query, number, local := selection, 1, engine.LocalID("")
	counts := list != nil && (list.Page != "" || list.Offset != "")
	if counts {
		query = numbered(list.beginning())
		number = list.beginning()
	}
	if within != "" {
		local = engine.LocalID(engine.Inside(within, ""))
	}
	asked := map[string]bool{}
	var last []byte
	for range maxPages {
		if asked[query] {
			return fmt.Errorf("the list of %s leads back to a page that it has begun with", k.Name)
		}
		asked[query] = true
		reply, err := c.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Collection, Local: local, Query: query, Credentials: credentials})
		if err != nil {
			return err
		}
		if reply.Status != http.StatusOK {
			return fmt.Errorf("it answered %d %s", reply.Status, http.StatusText(reply.Status))
		}
		page, err := c.splitItems(k, reply.Body)
		if err != nil {
			return err
		}
		if counts && (len(page.Each) == 0 || bytes.Equal(last, reply.Body)) {
			return nil
		}
		last = reply.Body
		if err := visit(reply.Body); err != nil {
			return err
		}
		if counts {
			if number += len(page.Each); list.Page != "" {
				number += 1 - len(page.Each)
			}
			query = numbered(number)
			continue
		}
		next, err := c.nextPage(k, list, reply, query)
		if err != nil || next == "" {
			return err
		}
		query = next
	}
	return fmt.Errorf("the list of %s has more than %d pages", k.Name, maxPages)
}

// listOf returns what the catalog says of the list of a kind, nil when it says nothing.
func (c *Client) listOf(k *engine.Kind) *List {
	if c.config.List == nil {
		return nil
	}
	return c.config.List(k)
}

// DeletesCollection reports whether a DELETE on the collection of k deletes what a GET with the same query lists.
func (c *Client) DeletesCollection(k *engine.Kind) bool {
	list := c.listOf(k)
	return list != nil && list.Deletes
}

// Watch returns the parameter that makes a GET on the collection of k one whose answer goes on without end; empty when none does.
func (c *Client) Watch(k *engine.Kind) string {
	if list := c.listOf(k); list != nil {
		return list.Watch
	}
	return ""
}

// Listed reads the whole list of what this site's application shows of a kind in a container, as clients call that, for a query, with
// its caller's credentials. The identifiers of the items are those that clients see.
func (c *Client) Listed(ctx context.Context, k *engine.Kind, within, query string, credentials *engine.Credentials) ([]Item, error) {
	query, _, err := c.localize(ctx, k, within, credentials, nil, query, nil)
	if err != nil {
		return nil, err
	}
	local := within
	if k.Within != "" {
		_, local = c.container(ctx, k, within)
	}
	var items []Item
	err = c.pagesOf(ctx, k, local, query, credentials, func(body []byte) error {
		page, err := c.ParseItems(ctx, k, within, body)
		items = append(items, page.Each...)
		return err
	})
	return items, err
}

// beginning is the number of the first page, or how many items come before it.
func (l *List) beginning() int {
	if l.Page != "" {
		return 1
	}
	return 0
}

// goesOn is what an answer says of the next page: its address, or what a parameter is to have; empty when it is the last.
func (l *List) goesOn(reply engine.Reply) (text string) {
	switch {
	case l != nil && l.NextHeader != "":
		return reply.Header.Get(l.NextHeader)
	case l == nil || l.Next == "":
		return linkNext(reply.Header)
	}
	values(reply.Body, skipSpace(reply.Body, 0), l.Next.Tokens(), func(v span) {
		switch c := reply.Body[v.start]; {
		case c == '"':
			text = unquote(reply.Body[v.start:v.end])
		case l.Parameter != "" && (c == '-' || c >= '0' && c <= '9'):
			text = string(reply.Body[v.start:v.end])
		}
	})
	return text
}

// with is a query with another value of a parameter.
func with(query, name, value string) string {
	parts := slices.DeleteFunc(strings.Split(query, "&"), func(part string) bool {
		own, _, _ := strings.Cut(part, "=")
		return part == "" || own == name
	})
	return strings.Join(append(parts, name+"="+url.QueryEscape(value)), "&")
}

// nextPage returns the query of the page after this one, which was asked for with a query; empty when it is the last.
func (c *Client) nextPage(k *engine.Kind, list *List, reply engine.Reply, query string, hosts ...string) (string, error) {
	text := list.goesOn(reply)
	if text == "" {
		return "", nil
	}
	if list != nil && list.Parameter != "" {
		return with(query, list.Parameter, text), nil
	}
	up := c.upstreams[k.Service].URL
	u, err := url.Parse(text)
	ours := func(host string) bool { return u.Host == "" || strings.EqualFold(u.Host, host) }
	if err != nil || u.RawQuery == "" || !ours(up.Host) && !slices.ContainsFunc(hosts, ours) {
		return "", fmt.Errorf("the list of %s goes on at %q, which is no address of it", k.Name, text)
	}
	path := strings.TrimPrefix(u.EscapedPath(), strings.TrimSuffix(up.EscapedPath(), "/"))
	if path = strings.TrimSuffix(path, "/"); path != k.Collection && path != "" && !slices.Contains(k.Lists, path) {
		return "", fmt.Errorf("the list of %s goes on at %q, which is another path", k.Name, text)
	}
	return u.RawQuery, nil
}

// Next returns the query of the page after an answer of this site's application to a GET on the collection of k, empty when it is the
// last. Query is that of the request, host how its client called it.
func (c *Client) Next(k *engine.Kind, header http.Header, body []byte, query, host string) (string, error) {
	return c.nextPage(k, c.listOf(k), engine.Reply{Header: header, Body: body}, query, host)
}

// Numbered reports whether the pages of k's list have numbers, which clients ask for.
func (c *Client) Numbered(k *engine.Kind) bool {
	list := c.listOf(k)
	return list != nil && (list.Page != "" || list.Offset != "")
}

// Continue says in a list where it goes on: at next, a path with a query, or nowhere when that is empty. It stands where the application
// puts it; after the origin, such as https://host, where that puts whole addresses. Where the application puts the value of a parameter, token
// stands there.
func (c *Client) Continue(k *engine.Kind, header http.Header, body []byte, origin, next, token string) []byte {
	links, whole := header.Values("Link"), strings.Contains(linkNext(header), "://")
	header.Del("Link")
	for _, line := range links {
		for _, link := range strings.Split(line, ",") {
			if linkNext(http.Header{"Link": {link}}) == "" {
				header.Add("Link", strings.TrimSpace(link))
			}
		}
	}
	list := c.listOf(k)
	if list != nil && list.Parameter != "" {
		if next = ""; token != "" {
			next, origin = token, ""
		}
	}
	if list != nil && list.NextHeader != "" {
		if header.Del(list.NextHeader); next != "" {
			header.Set(list.NextHeader, next)
		}
		return body
	}
	if list == nil || list.Next == "" {
		if whole {
			next = origin + next
		}
		if next != "" && next != origin {
			header.Add("Link", "<"+next+`>; rel="next"`)
		}
		return body
	}
	var edits []edit
	values(body, skipSpace(body, 0), list.Next.Tokens(), func(v span) {
		text := "null"
		if next != "" {
			if body[v.start] == '"' && strings.Contains(unquote(body[v.start:v.end]), "://") {
				next = origin + next
			}
			text = strconv.Quote(next) // it is of plain signs
		} else if body[v.start] == '"' && v.end-v.start == 2 {
			text = `""`
		}
		edits = append(edits, edit{v, []byte(text)})
	})
	if start := skipSpace(body, 0); len(edits) == 0 && next != "" {
		if tokens := list.Next.Tokens(); len(tokens) == 1 && start < len(body) && body[start] == '{' {
			comma := ","
			if at := skipSpace(body, start+1); at < len(body) && body[at] == '}' {
				comma = ""
			}
			edits = append(edits, edit{span{start + 1, start + 1}, []byte(strconv.Quote(tokens[0]) + ":" + strconv.Quote(next) + comma)})
		} else {
			header.Add("Link", "<"+next+`>; rel="next"`)
		}
	}
	return apply(body, edits)
}

// linkNext reads the address of the next page from the header Link.
func linkNext(h http.Header) string {
	for _, line := range h.Values("Link") {
		for _, link := range strings.Split(line, ",") {
			target, params, _ := strings.Cut(strings.TrimSpace(link), ">")
			for _, p := range strings.Split(params, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
				if strings.EqualFold(name, "rel") && strings.EqualFold(strings.Trim(value, `"`), "next") && strings.HasPrefix(target, "<") {
					return target[1:]
				}
			}
		}
	}
	return ""
}

// Find implements engine.Application.
func (c *Client) Find(ctx context.Context, k *engine.Kind, request string) ([]engine.Reply, error) {
	var found []engine.Reply
	objects, shows := 0, false
	err := c.pages(ctx, k, nil, func(body []byte) error {
		page, err := c.splitItems(k, body)
		for _, item := range page.Each {
			objects++
			at := engine.Pointer(strings.TrimPrefix(string(k.Marker), string(c.envelope(k))))
			values(item.Text, 0, at.Tokens(), func(v span) {
				shows = true
				if item.Text[v.start] != '"' || !tree.HasMarker(unquote(item.Text[v.start:v.end]), request) {
					return
				}
				id, _ := c.listedID(k, item.Text)
				found = append(found, engine.Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
					Body: c.enveloped(k, item.Text), Local: engine.LocalID(id)})
			})
		}
		return err
	})
	switch {
	case errors.Is(err, ErrNoList):
		return nil, fmt.Errorf("%w: %w", engine.ErrUntellable, err)
	case err != nil:
		return nil, fmt.Errorf("look for what a request has made: %w", err)
	case objects > 0 && !shows:
		return nil, fmt.Errorf("%w whether a request has made something: no %s in it has %q", engine.ErrUntellable, k.Name, k.Marker)
	}
	return found, nil
}
