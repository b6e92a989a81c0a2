package gather

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/request"
)

// A list of several sites whose applications give it in pages goes on where each of them does. What it goes on at is one text, made of
// what each site's application said; clients pass it back in the address that they are given.

// pageParameter is the parameter of that address.
const pageParameter = "skerry-page"

// listing is how far a list of several sites has come.
type listing struct {
	Path string `json:"p"`
	// Order are the sites of the list. What several of them list in pages is listed by the first of these that has it. Those whose whole
	// list was the first page come first: they have listed what they have.
	Order []engine.SiteID `json:"o"`
	// Next is the query of the next page of each site that has one.
	Next map[engine.SiteID]string `json:"n"`
	// Missing are sites that gave no list once; they are not asked again.
	Missing []engine.SiteID `json:"m,omitempty"`
	// first says that it is the first page.
	first bool
}

// begin returns the listing of a first page.
func begin(q *request.Request) *listing {
	sites := slices.Clone(q.Sites)
	slices.Sort(sites)
	l := &listing{Path: q.Path, Order: sites, Next: map[engine.SiteID]string{}, first: true}
	for _, id := range sites {
		l.Next[id] = q.Query
	}
	return l
}

var encoding = base64.RawURLEncoding

// sumBytes is how many bytes of a token tell whether the others are whole.
const sumBytes = 8

func (l *listing) token() string {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // it is made of texts
	}
	sum := sha256.Sum256(b)
	return encoding.EncodeToString(append(sum[:sumBytes], b...))
}

// listingOf reads a token; nil when it is none.
func listingOf(token string) *listing {
	b, err := encoding.DecodeString(token)
	if err != nil || len(b) < sumBytes {
		return nil
	}
	var l listing
	if sum := sha256.Sum256(b[sumBytes:]); !bytes.Equal(sum[:sumBytes], b[:sumBytes]) || json.Unmarshal(b[sumBytes:], &l) != nil {
		return nil
	}
	return &l
}

// paged reports whether a request goes on with a list, by the address that it was given; its token is what that holds.
func paged(q *request.Request) (token string, ok bool) {
	if !strings.Contains(q.Query, pageParameter) {
		return "", false
	}
	values, _ := url.ParseQuery(strings.TrimPrefix(q.Query, "?"))
	for _, all := range values { // where the application has a parameter of its own for that, it is in there
		for _, value := range all {
			if token, ok := strings.CutPrefix(value, pageParameter+"="); ok {
				return token, true
			}
		}
	}
	return values.Get(pageParameter), values.Has(pageParameter)
}

// Paged reports whether a query may have it that a request goes on with a list.
func Paged(query string) bool { return strings.Contains(query, pageParameter) }

// listing returns how far the list has come that is asked for. False: the request was refused.
func (h *Lists) listing(q *request.Request) (*listing, bool) {
	token, ok := paged(q)
	if !ok {
		return begin(q), true
	}
	l := listingOf(token)
	switch {
	case l == nil || l.Path != q.Path:
		h.Refuse(q, http.StatusBadRequest, "page", "%s is none that this list has said it goes on at\nhelp: begin again with the first page", pageParameter)
		return nil, false
	case len(outsideOf(q.Sites, l.Order)) > 0:
		h.Refuse(q, http.StatusBadRequest, "page", "%s is of a list with another scope: that one had %s\nhelp: send the same scope with every page", pageParameter, h.Names(l.Order))
		return nil, false
	}
	return l, true
}

// outsideOf lists those that are not among sites.
func outsideOf(sites, those []engine.SiteID) []engine.SiteID {
	return slices.DeleteFunc(slices.Clone(those), func(id engine.SiteID) bool { return slices.Contains(sites, id) })
}

// asked are the sites whose next page is to come.
func (l *listing) asked() []engine.SiteID { return slices.Sorted(maps.Keys(l.Next)) }

// query returns what a site is asked for, and whether that is what its own application said.
func (l *listing) query(id engine.SiteID) (query string, own bool) {
	return strings.TrimPrefix(l.Next[id], "?"), !l.first
}

// answered are the sites that have listed what they have until now, in this page or before.
func (l *listing) answered(parts []part) map[engine.SiteID]bool {
	all := map[engine.SiteID]bool{}
	for _, id := range l.Order {
		_, more := l.Next[id]
		all[id] = !more && !slices.Contains(l.Missing, id)
	}
	for _, p := range parts {
		all[p.site] = p.ok
	}
	return all
}

// count is how many those are.
func (l *listing) count(parts []part) (n int) {
	for _, ok := range l.answered(parts) {
		if ok {
			n++
		}
	}
	return n
}

// missing names the sites that gave no list before.
func (l *listing) missing(h *Lists) (names []string) {
	for _, id := range l.Missing {
		names = append(names, h.Name(id))
	}
	return names
}

// once takes those items out of the parts that another site lists, in this page or another one.
func (l *listing) once(parts []part) {
	answered := l.answered(parts)
	for i := range parts {
		p := &parts[i]
		p.items.Each = slices.DeleteFunc(p.items.Each, func(item glue.Item) bool {
			return item.Home > 0 && item.Home <= len(l.Order) && l.Order[item.Home-1] != p.site && answered[l.Order[item.Home-1]]
		})
	}
}

// after returns how far the list has come with parts; nil when that was all.
func (l *listing) after(parts []part) *listing {
	next := &listing{Path: l.Path, Order: l.Order, Next: map[engine.SiteID]string{}, Missing: slices.Clone(l.Missing)}
	for _, p := range parts {
		switch {
		case !p.ok:
			next.Missing = append(next.Missing, p.site)
		case p.next != "":
			next.Next[p.site] = p.next
		}
	}
	if len(next.Next) == 0 {
		return nil
	}
	if l.first {
		goesOn := func(id engine.SiteID) bool { _, more := next.Next[id]; return more }
		next.Order = append(slices.DeleteFunc(slices.Clone(l.Order), goesOn), next.asked()...)
	}
	slices.Sort(next.Missing)
	return next
}

// makeWhole reads the cross resources in a page as one: what their parts show may be in other pages.
func (h *Lists) makeWhole(q *request.Request, items []glue.Item) {
	for i := range items {
		path, ok := glue.ExpandPath(q.Match.Kind.Item, items[i].ID)
		if items[i].Part == 0 || !ok {
			continue
		}
		try := *q
		try.SetBody(nil)
		for _, name := range []string{"Accept-Encoding", "Range", "If-Range", "If-None-Match", "If-Modified-Since"} {
			try.Header.Del(name)
		}
		try.Path, try.LocalPath, try.Query, try.Agreement = path, "", "", engine.AgreeOne
		try.Match, try.Known = h.Router().Match(http.MethodGet, path, try.Header)
		try.Parts = nil
		for _, id := range q.Sites { // so that another site's agent does not take it for a question about its own part
			try.Parts = append(try.Parts, []engine.SiteID{id})
		}
		t := passage.NewTrial(q.W, func(*passage.Trial) bool { return false })
		t.Limit, try.W = int(h.Limits.Reply), t
		if h.Run(&try); t.Status == http.StatusOK && !t.Cut && json.Valid(t.Held.Bytes()) {
			items[i].Text = bytes.Clone(t.Held.Bytes())
		}
	}
}

// goOn says in an aggregated list where it goes on.
func (h *Lists) goOn(q *request.Request, header http.Header, body []byte, next *listing) []byte {
	address, token := "", ""
	if next != nil {
		token = pageParameter + "=" + next.token()
		address = q.Prefix + q.Path + "?" + token
	}
	origin := "http://" + q.Host
	if q.TLS != nil {
		origin = "https://" + q.Host
	}
	return h.Client.Continue(q.Match.Kind, header, body, origin, address, token)
}
