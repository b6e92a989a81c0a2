package gather

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
)

// Lists and watches of several sites, for an API whose dialect knows what versions of them are (glue.Gatherer). Each site's agent gives its
// own part and tells where else each item is; the agent that was asked makes one of them. A list has a version of its own, made of those of
// the sites, at which a watch goes on (watch.go).

// place tells where an item is, as the site that shows it knows.
type place struct {
	// At are the sites that have a replica, or a part, by their numbers among those of the list; none where it is not replicated.
	At    []int `json:"at,omitempty"`
	Cross bool  `json:"cross,omitempty"`
	// Parts are those that they hold of something cross, in the same order.
	Parts []int `json:"parts,omitempty"`
	// Gone are, for an item that is there no more, the other sites that had a replica and have it no more either.
	Gone []int `json:"gone,omitempty"`
}

// gatheredPart is what a site's agent answers: a list with the place of each of its items, or one event of a watch with that of its item.
type gatheredPart struct {
	Places []place         `json:"places,omitempty"`
	List   json.RawMessage `json:"list,omitempty"`
	Place  place           `json:"place"`
	Event  json.RawMessage `json:"event,omitempty"`
}

// Collection returns the kind whose list a request is about, in a container or over all of them.
func (h *Lists) Collection(q *request.Request) (k *engine.Kind, ok bool) {
	if h.Gatherer == nil || q.Method != http.MethodGet {
		return nil, false
	}
	if q.Known {
		return q.Match.Kind, q.Match.Verb == glue.VerbList && q.Match.Canonical
	}
	in, ok := h.Gatherer.InOne(q.Path)
	if !ok {
		return nil, false
	}
	m, ok := h.Router().Match(http.MethodGet, in, nil)
	return m.Kind, ok && m.Verb == glue.VerbList && m.Canonical
}

// Gather answers a GET on a collection of several sites as one list or one watch.
func (h *Lists) Gather(q *request.Request, k *engine.Kind) {
	g := &gathering{h: h, q: q, kind: k, asking: h.Gatherer.Asks(q.Query, q.Header)}
	g.order = slices.Clone(q.Sites)
	slices.Sort(g.order)
	self := h.Membership.Self()
	slices.SortStableFunc(g.order, func(a, b engine.SiteID) int { // what several have is told by this one
		return cmp.Compare(boolInt(a != self), boolInt(b != self))
	})
	for _, id := range g.order {
		g.ids = append(g.ids, string(id))
	}
	if g.asking.Objects = g.divides(); g.asking.Objects { // pages would tear its parts apart
		g.asking.Rest = h.Dialect.Whole(g.asking.Rest)
	}
	g.at = make([]string, len(g.order))
	if v := g.asking.Version; v != "" {
		known, ok := g.split(v)
		if !ok && q.OneItem { // as a read of the item has told, which is that of this site's part
			known, ok = make([]string, len(g.order)), true
			known[slices.Index(g.order, self)] = v
		}
		if !ok {
			h.Refuse(q, http.StatusGone, "expired", "the version %s is none of this list over %s\nhelp: list anew", v, h.Names(g.order))
			return
		}
		g.at = known
	}
	switch {
	case g.asking.Watch && q.Agreement != engine.AgreeOne:
		h.RefuseWatch(q)
	case g.asking.Watch:
		g.watch()
	default:
		g.list()
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// gathering is one list, or one watch, of several sites.
type gathering struct {
	h      *Lists
	q      *request.Request
	kind   *engine.Kind
	asking glue.Asking
	// order are the sites: what several have is told by the first of these. Ids are the same.
	order []engine.SiteID
	ids   []string
	// at are the versions that each site has been seen at, empty for none.
	at []string
}

// version is the one of all sites. It does not depend on the order in which they are asked.
func (g *gathering) version() string {
	ids, at := slices.Clone(g.ids), make([]string, len(g.ids))
	slices.Sort(ids)
	for i, id := range ids {
		at[i] = g.at[slices.Index(g.ids, id)]
	}
	return g.h.Gatherer.Versions(ids, at)
}

func (g *gathering) split(version string) ([]string, bool) {
	ids, at := slices.Clone(g.ids), make([]string, len(g.ids))
	slices.Sort(ids)
	known, ok := g.h.Gatherer.SplitVersions(version, ids)
	if !ok {
		return nil, false
	}
	for i, id := range ids {
		at[slices.Index(g.ids, id)] = known[i]
	}
	return at, true
}

// where names the sites that have an item which site i shows.
func (g *gathering) where(i int, p place) string {
	if g.q.OneItem {
		return ""
	}
	at := p.At
	if len(at) == 0 {
		at = []int{i}
	}
	names := make([]string, 0, len(at))
	for _, n := range at {
		if n >= 0 && n < len(g.order) {
			names = append(names, g.h.Name(g.order[n]))
		}
	}
	if p.Cross {
		return strings.Join(names, " % ")
	}
	return strings.Join(names, " & ")
}

// goOnGathered is how far a list in pages has come.
type goOnGathered struct {
	Path string            `json:"p"`
	At   string            `json:"v"`
	Next map[string]string `json:"n"` // by site
	Gave []string          `json:"g"` // the sites that gave a first page
}

func (t goOnGathered) text() string {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // it is made of texts
	}
	sum := sha256.Sum256(b)
	return encoding.EncodeToString(append(sum[:sumBytes], b...))
}

func goOnOf(text string) (t goOnGathered, ok bool) {
	b, err := encoding.DecodeString(text)
	if err != nil || len(b) < sumBytes {
		return t, false
	}
	sum := sha256.Sum256(b[sumBytes:])
	return t, bytes.Equal(sum[:sumBytes], b[:sumBytes]) && json.Unmarshal(b[sumBytes:], &t) == nil
}

// list answers with the lists of all sites as one, or with one page of each of them.
func (g *gathering) list() {
	h, q := g.h, g.q
	asked, before := g.order, goOnGathered{}
	if g.asking.Next != "" {
		var ok bool
		if before, ok = goOnOf(g.asking.Next); ok && before.Path == q.Path {
			g.at, ok = g.split(before.At)
		}
		if !ok || before.Path != q.Path {
			h.Refuse(q, http.StatusBadRequest, "page", "this list, with this scope, has not said that it goes on there\nhelp: begin again with the first page")
			return
		}
		asked = slices.DeleteFunc(slices.Clone(g.order), func(id engine.SiteID) bool { return before.Next[string(id)] == "" })
	}
	parts := h.askAll(q, asked, func(ctx context.Context, p *part) error {
		return g.askList(ctx, p, before.Next[string(p.site)])
	})
	gave := before.Gave
	next := map[string]string{}
	var first *part
	var answered []string
	var lacks missing
	for i := range parts {
		p := &parts[i]
		switch {
		case p.status == http.StatusGone:
			h.Refuse(q, http.StatusGone, "expired", "%s no longer has the list as it was\nhelp: list anew", h.Name(p.site))
			return
		case !p.ok && before.Path != "": // the rest of its list would be missing
			h.Refuse(q, http.StatusGone, "expired", "%s cannot be reached any more, so that the list cannot go on\nhelp: list anew", h.Name(p.site))
			return
		case !p.ok:
			if !denied(p.status) {
				h.fromIndex(q, p)
			}
			lacks.add(h.Name(p.site), p.status)
			h.Log.Debug("a site gave no list", "peer", p.site, "path", q.Path, "err", p.err)
			continue
		}
		n := slices.Index(g.order, p.site)
		if answered = append(answered, h.Name(p.site)); before.Path == "" {
			g.at[n], gave = p.gathered.Version, append(gave, string(p.site))
		}
		if p.gathered.Next != "" {
			next[string(p.site)] = p.gathered.Next
		}
		if first == nil {
			first = p
		}
	}
	if first == nil {
		h.refuseList(q, parts)
		return
	}
	if need := q.Agreement.Of(len(q.Sites)); len(gave) < need {
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "%d of %d sites have to give their lists, and only %s did; try again later",
			need, len(q.Sites), strings.Join(answered, ", "))
		return
	}
	token := ""
	if len(next) > 0 {
		token = goOnGathered{q.Path, g.version(), next, gave}.text()
	}
	first.gathered.Plain = q.OneItem
	body := first.gathered.Join(g.items(parts, first, before.Path != "" || len(next) > 0, gave), g.version(), token)
	header := q.W.Header()
	ofOne(header, first.header)
	header.Set("Skerry-Site", strings.Join(answered, ", "))
	lacks.tell(header)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	q.W.WriteHeader(http.StatusOK)
	_, _ = q.W.Write(body)
}

// items returns what the parts list: what is replicated once, and what is cross as one where its parts can be read so. Over several pages
// the first of the sites that gave a page tells of it.
func (g *gathering) items(parts []part, first *part, paged bool, gave []string) []json.RawMessage {
	var texts []json.RawMessage
	seen := map[string]int{}
	crosses := map[int]*divided{} // by their places among texts
	for i := range parts {
		p := &parts[i]
		n := slices.Index(g.order, p.site)
		if p.indexed {
			for _, item := range p.items.Each {
				id := engine.Inside(g.q.Match.Within, item.ID)
				unseen, ok := g.h.Gatherer.Unseen(first.gathered, g.q.Match.Within, item.ID, item.Text)
				if _, known := seen[id]; ok && !(item.Replicated && known) {
					texts = append(texts, unseen.Text(unseen.Version, g.h.Name(p.site)+" (not reached)"))
				}
			}
			continue
		}
		if !p.ok {
			continue
		}
		for j, item := range p.gathered.Items {
			at := p.places[j]
			text := item.Text(g.itemVersion(n, item.Version), g.where(n, at))
			if len(at.At) == 0 {
				texts = append(texts, text)
				continue
			}
			id := engine.Inside(item.Container, item.Name)
			if paged && !g.tells(n, at, gave) {
				continue
			}
			k, known := seen[id]
			if !known {
				k, seen[id] = len(texts), len(texts)
				texts = append(texts, text)
			}
			if g.divided(at) {
				if crosses[k] == nil {
					crosses[k] = &divided{item: item, n: n, at: at, shown: map[int]json.RawMessage{}}
				}
				crosses[k].shown[n] = item.Object
			}
		}
	}
	for k, d := range crosses {
		texts[k] = g.whole(d).Text(g.itemVersion(d.n, d.item.Version), g.where(d.n, d.at))
	}
	return texts
}

// itemVersion is the version of something that one site shows, which tells that it is that site's.
func (g *gathering) itemVersion(n int, version string) string {
	return g.h.Gatherer.Versions(g.ids[n:n+1], []string{version})
}

// tells reports whether site n is the first that has an item and gave a page.
func (g *gathering) tells(n int, at place, gave []string) bool {
	for _, m := range at.At {
		if m >= 0 && m < len(g.order) && slices.Contains(gave, g.ids[m]) {
			return m == n
		}
	}
	return true
}

// askList gets the list of one site, or a page of it.
func (g *gathering) askList(ctx context.Context, p *part, next string) error {
	n := slices.Index(g.order, p.site)
	resp, err := g.open(ctx, p.site, g.h.Gatherer.ListQuery(g.asking, g.at[n], next))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	p.header = resp.Header
	body, err := io.ReadAll(io.LimitReader(resp.Body, g.h.Limits.Reply+1))
	switch {
	case err != nil:
		return err
	case int64(len(body)) > g.h.Limits.Reply:
		return fmt.Errorf("list of over %d bytes: %w", g.h.Limits.Reply, engine.ErrTooLarge)
	case resp.StatusCode != http.StatusOK:
		if !peer.AgentFailed(resp) {
			p.status, p.body = resp.StatusCode, body
		}
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	var whole gatheredPart
	if err := json.Unmarshal(body, &whole); err != nil {
		return err
	}
	if p.gathered, err = g.h.Gatherer.TakeList(whole.List); err != nil {
		return err
	}
	if p.places = whole.Places; len(p.places) != len(p.gathered.Items) {
		return errors.New("it does not tell where each item is")
	}
	p.ok = true
	return nil
}

// open asks one site for its part.
func (g *gathering) open(ctx context.Context, site engine.SiteID, query string) (*http.Response, error) {
	h, q := g.h, g.q
	header := q.Credentials().Header
	header.Set("Accept", g.asking.Accept)
	if site == h.Membership.Self() {
		return h.partHere(ctx, q, g.kind, header, query, g.asking.Watch, g.order)
	}
	h.Speak(q, header)
	header.Del("Scope") // it is resolved
	header.Del(peer.HeaderPlacement)
	header.Set(peer.HeaderPlacement, string(site))
	header.Set(peer.HeaderAggregate, peer.JoinSites(g.order))
	header.Set(peer.HeaderGather, "1")
	r := (&http.Request{Method: http.MethodGet, URL: glue.Target(&url.URL{Scheme: "http", Host: string(site)}, q.Path, query), Header: header, Host: q.Host}).WithContext(ctx)
	return peer.AskAgain(h.Peer, r)
}

// partHere asks this site's application for its part, and tells where else each item is.
func (h *Lists) partHere(ctx context.Context, q *request.Request, k *engine.Kind, header http.Header, query string, watch bool, order []engine.SiteID) (*http.Response, error) {
	r := (&http.Request{Method: http.MethodGet, URL: glue.Target(h.Upstream, q.Path, query), Header: header, Host: q.Host}).WithContext(ctx)
	resp, err := h.Local.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "Skerry-") {
			delete(resp.Header, name) // only agents say these
		}
	}
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	if watch {
		resp.Body = h.placing(ctx, k, resp.Body, order)
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, h.Limits.Reply+1))
	if err == nil && int64(len(body)) > h.Limits.Reply {
		err = fmt.Errorf("list of over %d bytes: %w", h.Limits.Reply, engine.ErrTooLarge)
	}
	if err != nil {
		return nil, err
	}
	list, err := h.Gatherer.TakeList(body)
	if err != nil {
		return nil, err
	}
	part := gatheredPart{List: body, Places: make([]place, len(list.Items))}
	for i, item := range list.Items {
		part.Places[i] = h.placeOf(ctx, k, item, order)
	}
	b, err := json.Marshal(part)
	resp.Body = io.NopCloser(bytes.NewReader(b))
	return resp, err
}

// placeOf tells where something is that this site's application shows.
func (h *Lists) placeOf(ctx context.Context, k *engine.Kind, item glue.GatheredItem, order []engine.SiteID) (p place) {
	row, err := h.Shared.Lookup(ctx, k, identified(k, item))
	if err != nil {
		return p
	}
	for n, site := range order {
		if st, has := row.Sites[site]; has && st.Local != "" && st.State != engine.StateLeaving {
			p.at(n, row.Collaboration, st.Part)
		}
	}
	return p
}

// placeOfGone tells where an item was that this site's application has no more. The index may have it as deleted by now.
func (h *Lists) placeOfGone(ctx context.Context, k *engine.Kind, item glue.GatheredItem, order []engine.SiteID) (p place) {
	row, err := h.Shared.Known(ctx, k, identified(k, item))
	if err != nil || row.State == engine.StateLeft {
		return p
	}
	self := h.Membership.Self()
	for n, site := range order {
		switch st := row.Sites[site]; {
		case st.State == engine.StateLeaving:
		case st.Local != "", site == self && row.GoneAt(site):
			p.at(n, row.Collaboration, st.Part)
		case row.GoneAt(site):
			p.Gone = append(p.Gone, n)
		}
	}
	return p
}

// at adds a site.
func (p *place) at(n int, c engine.Collaboration, part int) {
	p.At = append(p.At, n)
	if p.Cross = c == engine.Cross; p.Cross {
		p.Parts = append(p.Parts, part)
	}
}

// identified is the identifier of an item in the index.
func identified(k *engine.Kind, item glue.GatheredItem) string {
	if k.Within == "" {
		return item.Name
	}
	return engine.Inside(item.Container, item.Name)
}

// GivePart answers another site's agent with this site's part of a list or a watch.
func (h *Lists) GivePart(q *request.Request) {
	k, ok := h.Collection(q)
	if !ok {
		h.Refuse(q, http.StatusUnprocessableEntity, "catalog-mismatch", "the catalog of %s has no kind for %s %s; give all sites the same catalog", h.Name(h.Membership.Self()), q.Method, q.Path)
		return
	}
	header := q.Credentials().Header
	header.Set("Accept", q.Header.Get("Accept"))
	query := strings.TrimPrefix(q.Query, "?")
	resp, err := h.partHere(q.Context(), q, k, header, query, h.Gatherer.Asks(query, q.Header).Watch, q.Aggregate)
	if err != nil {
		h.Refuse(q, http.StatusBadGateway, "upstream", "service %s at %s gave no list: %v", h.Service, h.Name(h.Membership.Self()), err)
		return
	}
	defer resp.Body.Close()
	glue.RemoveHopByHop(resp.Header)
	maps.Copy(q.W.Header(), resp.Header)
	q.W.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(q.W)
	_ = flush.Flush()
	buffer := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buffer)
		if _, failed := q.W.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
		_ = flush.Flush()
	}
}
