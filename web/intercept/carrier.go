package intercept

import (
	"net/http"
	"net/url"
	"strings"
)

// carried is the scope that came with a request, and what is to be put back of its carriers.
type carried struct {
	// text is the scope as its caller wrote it, empty without one.
	text string
	// prefix is the path prefix that carried a scope, as it was written; empty without one.
	prefix string
	// baggage is what is left of the W3C baggage without the scope; it counts when it changed.
	baggage        []string
	baggageChanged bool
}

// carry takes the scope from its carriers, by precedence: header, path prefix, baggage. The path loses the prefix.
// Headers are left for whoever passes the request on (strip).
func (q *request) carry() {
	q.text = headerScope(q.Header)
	for {
		prefix, text, rest, ok := cutPrefix(q.path)
		if !ok {
			break
		}
		q.path = rest
		q.prefix += prefix
		if q.text == "" {
			q.text = text
		}
	}
	if values := q.Header["Baggage"]; values != nil {
		rest, text, found := cutBaggage(values)
		if found {
			q.baggage, q.baggageChanged = rest, true
			if q.text == "" {
				q.text = text
			}
		}
	}
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

// strip removes every carrier from the header that the application gets, and tells it the prefix.
func (q *request) strip(h http.Header) {
	if q.baggageChanged {
		delete(h, "Baggage")
		if len(q.baggage) > 0 {
			h["Baggage"] = q.baggage
		}
	}
	if q.prefix != "" {
		h.Set("X-Forwarded-Prefix", h.Get("X-Forwarded-Prefix")+q.prefix)
	}
}

// prefixed puts the prefix back into a Location, so that a client which navigates by it keeps its scope.
func (q *request) prefixed(location, upstreamHost string) string {
	if q.prefix == "" || location == "" {
		return location
	}
	if strings.HasPrefix(location, "/") && !strings.HasPrefix(location, "//") {
		return q.prefix + strings.TrimPrefix(location, q.prefix)
	}
	u, err := url.Parse(location)
	if err != nil || u.Host == "" || (u.Host != q.Host && u.Host != upstreamHost) {
		return location
	}
	i := strings.Index(location, u.Host) + len(u.Host)
	tail := strings.TrimPrefix(location[i:], q.prefix)
	return location[:i] + q.prefix + tail
}
