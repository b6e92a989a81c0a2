package carry

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Carried is the scope that came with a request, and what is to be put back of its carriers.
type Carried struct {
	// Text is the scope as its caller wrote it, empty without one.
	Text string
	// Prefix is the path prefix that carried a scope, as it was written; empty without one.
	Prefix string
	// baggage is what is left of the W3C baggage without the scope; it counts when it changed.
	baggage        []string
	baggageChanged bool
}

// Take takes the scope of a request from its carriers, by precedence: header, path prefix, baggage. Path is escaped; the one that is
// returned has lost the prefix. Headers are left for whoever passes the request on (Strip).
func Take(h http.Header, path string) (c Carried, rest string) {
	c.Text = headerScope(h)
	for {
		prefix, text, rest, ok := cutPrefix(path)
		if !ok {
			break
		}
		path = rest
		c.Prefix += prefix
		if c.Text == "" {
			c.Text = text
		}
	}
	if values := h["Baggage"]; values != nil {
		rest, text, found := cutBaggage(values)
		if found {
			c.baggage, c.baggageChanged = rest, true
			if c.Text == "" {
				c.Text = text
			}
		}
	}
	return c, path
}

// headerScope reads Scope or X-Scope. Several lines are one list, as HTTP has it.
func headerScope(h http.Header) string {
	for _, name := range []string{"Scope", "X-Scope"} {
		if values := h[name]; values != nil {
			if text := strings.TrimSpace(strings.Join(values, ", ")); text != "" {
				return text
			}
		}
	}
	return ""
}

// OfScopes reports whether a path prefix consists of scopes and nothing else, as an agent tells it of a request that it passes on.
func OfScopes(prefix string) bool {
	for prefix != "" && prefix != "/" {
		_, _, rest, ok := cutPrefix(prefix)
		if !ok {
			return false
		}
		prefix = rest
	}
	return true
}

// cutPrefix takes /~scope/<percent-encoded scope> off an escaped path.
func cutPrefix(path string) (prefix, text, rest string, ok bool) {
	const plain, escaped = "/~scope/", "/%7escope/"
	n := len(plain)
	if !strings.HasPrefix(path, plain) {
		if len(path) < len(escaped) || !strings.EqualFold(path[:len(escaped)], escaped) {
			return "", "", path, false
		}
		n = len(escaped)
	}
	end := strings.IndexByte(path[n:], '/')
	if end < 0 {
		end = len(path) - n
	}
	text, err := url.PathUnescape(path[n : n+end])
	if err != nil {
		return "", "", path, false
	}
	prefix, rest = path[:n+end], path[n+end:]
	if rest == "" {
		rest = "/"
	}
	return prefix, strings.TrimSpace(text), rest, true
}

// cutBaggage takes the member "scope" out of W3C baggage. Every other member stays as it was written.
func cutBaggage(values []string) (rest []string, text string, found bool) {
	for _, value := range values {
		kept := make([]string, 0, 4)
		cut := false
		for member := range strings.SplitSeq(value, ",") {
			pair, _, _ := strings.Cut(member, ";")
			name, v, ok := strings.Cut(pair, "=")
			if !ok || strings.TrimSpace(name) != "scope" {
				kept = append(kept, member)
				continue
			}
			cut = true
			if v, err := url.PathUnescape(strings.TrimSpace(v)); err == nil && text == "" {
				text = strings.TrimSpace(v)
			}
		}
		switch {
		case !cut:
			rest = append(rest, value)
		case len(kept) > 0:
			rest = append(rest, strings.TrimSpace(strings.Join(kept, ",")))
		}
		found = found || cut
	}
	return rest, text, found
}

// Strip removes every carrier from the header that the application gets, and tells it the prefix.
func (c *Carried) Strip(h http.Header) {
	if c.baggageChanged {
		delete(h, "Baggage")
		if len(c.baggage) > 0 {
			h["Baggage"] = c.baggage
		}
	}
	if c.Prefix != "" {
		h.Set("X-Forwarded-Prefix", h.Get("X-Forwarded-Prefix")+c.Prefix)
	}
}

// Prefixed puts the prefix back into a Location of one of some hosts, so that a client which navigates by it keeps its scope.
func (c *Carried) Prefixed(location string, hosts ...string) string {
	if c.Prefix == "" || location == "" {
		return location
	}
	if strings.HasPrefix(location, "/") && !strings.HasPrefix(location, "//") {
		return c.Prefix + strings.TrimPrefix(location, c.Prefix)
	}
	u, err := url.Parse(location)
	if err != nil || u.Host == "" || !slices.Contains(hosts, u.Host) {
		return location
	}
	i := strings.Index(location, u.Host) + len(u.Host)
	tail := strings.TrimPrefix(location[i:], c.Prefix)
	return location[:i] + c.Prefix + tail
}
