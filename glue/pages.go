package glue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
)

// maxPages bounds how much of a list is read.
const maxPages = 10_000

// pages reads the whole list of a kind, as this site's application shows it, and calls visit with each page. Nil credentials
// are the agent's own.
func (c *Client) pages(ctx context.Context, k *engine.Kind, credentials http.Header, visit func(body []byte) error) error {
	list := (*List)(nil)
	if c.config.List != nil {
		list = c.config.List(k)
	}
	query, number := "", 1
	if list != nil && list.Page != "" {
		query = list.Page + "=1"
	}
	asked := map[string]bool{}
	var last []byte
	for range maxPages {
		if asked[query] {
			return fmt.Errorf("the list of %s leads back to a page that it has begun with", k.Name)
		}
		asked[query] = true
		reply, err := c.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Collection, Query: query, Credentials: credentials})
		if err != nil {
			return err
		}
		if reply.Status != http.StatusOK {
			return fmt.Errorf("status %d", reply.Status)
		}
		page, err := c.splitItems(k, reply.Body)
		if err != nil {
			return err
		}
		if list != nil && list.Page != "" && (len(page.Each) == 0 || bytes.Equal(last, reply.Body)) {
			return nil
		}
		last = reply.Body
		if err := visit(reply.Body); err != nil {
			return err
		}
		if list != nil && list.Page != "" {
			number++
			query = list.Page + "=" + strconv.Itoa(number)
			continue
		}
		next, err := c.nextPage(k, list, reply)
		if err != nil || next == "" {
			return err
		}
		query = next
	}
	return fmt.Errorf("the list of %s has more than %d pages", k.Name, maxPages)
}

// nextPage returns the query of the page after this one, empty when it is the last.
func (c *Client) nextPage(k *engine.Kind, list *List, reply engine.Reply) (string, error) {
	text := linkNext(reply.Header)
	if list != nil && list.Next != "" {
		text = ""
		values(reply.Body, skipSpace(reply.Body, 0), list.Next.Tokens(), func(v span) {
			if reply.Body[v.start] == '"' {
				text = unquote(reply.Body[v.start:v.end])
			}
		})
	}
	if text == "" {
		return "", nil
	}
	up := c.upstreams[k.Service].URL
	u, err := url.Parse(text)
	if err != nil || u.RawQuery == "" || u.Host != "" && !strings.EqualFold(u.Host, up.Host) {
		return "", fmt.Errorf("the list of %s goes on at %q, which is no address of it", k.Name, text)
	}
	path := strings.TrimPrefix(u.EscapedPath(), strings.TrimSuffix(up.EscapedPath(), "/"))
	if strings.TrimSuffix(path, "/") != k.Collection && path != "" {
		return "", fmt.Errorf("the list of %s goes on at %q, which is another path", k.Name, text)
	}
	return u.RawQuery, nil
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
			values(item.Text, 0, k.Marker.Tokens(), func(v span) {
				shows = true
				if item.Text[v.start] != '"' || !engine.HasMarker(unquote(item.Text[v.start:v.end]), request) {
					return
				}
				id, _ := ownID(k, item.Text)
				found = append(found, engine.Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
					Body: item.Text, Local: engine.LocalID(id)})
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
