package glue

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Links in a representation are addresses: URLs, or paths of a service. To clients, those of replicated resources are paths
// with the meta-identifier, which are the same at every site. All others are left alone.

// address is a link taken apart.
type address struct {
	prefix string // before the path of the service: scheme, host and the upstream's own path
	match  Match
	suffix string // query and fragment
}

// parseLink reads an address of a service. False: it is none of a resource that this site's application may have.
func (c *Client) parseLink(service engine.ServiceName, text string) (address, bool) {
	up := c.upstreams[service]
	u, err := url.Parse(text)
	if up == nil || err != nil || u.Opaque != "" || u.Host != "" && !strings.EqualFold(u.Host, up.URL.Host) {
		return address{}, false
	}
	path := u.EscapedPath()
	if base := strings.TrimSuffix(up.URL.EscapedPath(), "/"); strings.HasPrefix(path, base+"/") {
		path = path[len(base):]
	}
	m, ok := c.Router(service).Match(http.MethodGet, path, nil)
	if !ok || m.Target == "" || !m.Canonical {
		return address{}, false
	}
	end := len(text)
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		end = i
	}
	prefix, ok := strings.CutSuffix(text[:end], path)
	return address{prefix, m, text[end:]}, ok
}

// with returns the address with another prefix and identifier.
func (a address) with(prefix, id string) (string, bool) {
	path, ok := ExpandPath(a.match.Path, id)
	return prefix + path + a.suffix, ok
}

// presentLink is for what clients see.
func (c *Client) presentLink(ctx context.Context, at spot, text string) (string, bool, error) {
	a, ok := c.parseLink(at.link, text)
	if !ok {
		return text, false, nil
	}
	meta, ok := c.ids.Meta(ctx, at.link, a.match.Kind.Name, engine.LocalID(a.match.Target))
	if !ok {
		return text, false, nil
	}
	c.mu.Lock()
	c.prefixes[at.place()] = a.prefix
	c.mu.Unlock()
	out, ok := a.with("", string(meta))
	return out, ok && out != text, nil
}

// canonicalLink is for what comes from clients.
func (c *Client) canonicalLink(ctx context.Context, at spot, text string) (string, bool, error) {
	a, ok := c.parseLink(at.link, text)
	if !ok {
		return text, false, nil
	}
	id := engine.ResourceID(a.match.Target)
	if _, known := c.ids.Local(ctx, at.link, a.match.Kind.Name, id); !known {
		if id, ok = c.ids.Meta(ctx, at.link, a.match.Kind.Name, engine.LocalID(id)); !ok {
			return text, false, nil
		}
	}
	out, ok := a.with("", string(id))
	return out, ok && out != text, nil
}

// localLink is for what the application sees: addresses look as it shows them itself.
func (c *Client) localLink(ctx context.Context, at spot, text string) (string, bool, error) {
	a, ok := c.parseLink(at.link, text)
	if !ok {
		return text, false, nil
	}
	local, ok := c.ids.Local(ctx, at.link, a.match.Kind.Name, engine.ResourceID(a.match.Target))
	if !ok || local == "" {
		return text, false, nil
	}
	c.mu.Lock()
	prefix, seen := c.prefixes[at.place()]
	c.mu.Unlock()
	if !seen {
		prefix = a.prefix
	}
	out, ok := a.with(prefix, string(local))
	return out, ok && out != text, nil
}

// place names a link for what is known of it.
func (s spot) place() string {
	return strings.Join(slices.Concat([]string{s.kind.String()}, s.tokens), "\x00")
}
