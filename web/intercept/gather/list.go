package gather

import (
	"cmp"
	"context"
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
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
)

// Lists makes one answer of those of several sites.
type Lists struct {
	*passage.Porter
	// Run runs a request for a part of it that goes its own way.
	Run func(*request.Request)
}

// List answers a GET on a collection: from here, from the one site of the scope, or from all of its sites at once.
func (h *Lists) List(q *request.Request) {
	_, paged := paged(q)
	switch {
	case !q.Match.Canonical:
		h.Raw(q)
	case paged && (h.Here(q) || len(q.Sites) == 1):
		h.Refuse(q, http.StatusBadRequest, "page", "%s is of a list over several sites\nhelp: send the same scope with every page", pageParameter)
	case h.Here(q):
		h.PassTranslated(q)
	case len(q.Sites) == 1:
		h.Canonical(q)
		h.Forward(q, q.Sites)
	default:
		h.aggregate(q)
	}
}

// part is what one site answered.
type part struct {
	site   engine.SiteID
	status int // zero: it did not answer
	header http.Header
	body   []byte
	items  glue.Items
	ok     bool   // items is its list
	next   string // the query of the next page of it, empty when this was the last
	// indexed says that items is what it is known to hold, since it gave no list.
	indexed bool
	// gathered is its list where the dialect takes it apart, and places tells where each of its items is (gather.go).
	gathered *glue.Gathered
	places   []place
	err      error
}

// aggregate asks all sites of the scope at once and gives their lists as one: what is replicated once, everything else
// as often as it is there. Around the items the answer is that of this site, or of the nearest: counters in it
// count that site's items. Where their applications give pages, it has one of each and says where all of them go on (pages.go).
// Sites that gave no list are named in Skerry-Missing.
func (h *Lists) aggregate(q *request.Request) {
	l, ok := h.listing(q)
	if !ok {
		return
	}
	parts := h.ask(q, l)
	var first *part
	var answered []string
	lacks := missing{names: l.missing(h)}
	for i := range parts {
		p := &parts[i]
		if !p.ok {
			if l.first && !denied(p.status) {
				h.fromIndex(q, p)
			}
			lacks.add(h.Name(p.site), p.status)
			h.Log.Debug("a site gave no list", "peer", p.site, "path", q.Path, "err", p.err)
			continue
		}
		answered = append(answered, h.Name(p.site))
		if first == nil {
			first = p
		}
	}
	if first == nil {
		h.refuseList(q, parts)
		return
	}
	if need := q.Agreement.Of(len(q.Sites)); l.count(parts) < need {
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "%d of %d sites have to give their lists, and only %s did; try again later",
			need, len(q.Sites), strings.Join(answered, ", "))
		return
	}
	next := l.after(parts)
	paged := next != nil || !l.first || h.Client.Numbered(q.Match.Kind)
	if paged {
		l.once(parts)
	}
	items := merge(q.Match.Kind, parts)
	if paged {
		h.makeWhole(q, items)
	}
	header := q.W.Header()
	ofOne(header, first.header)
	header.Set("Skerry-Site", strings.Join(answered, ", "))
	lacks.tell(header)
	body := h.goOn(q, header, first.items.Join(items), next)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	q.W.WriteHeader(http.StatusOK)
	_, _ = q.W.Write(body)
}

// merge returns the items of all parts, those that are replicated once and those that are cross as one.
func merge(k *engine.Kind, parts []part) []glue.Item {
	items := []glue.Item{}
	seen := map[string]int{}
	crosses := map[string]map[int]json.RawMessage{}
	for i := range parts {
		if !parts[i].ok && !parts[i].indexed {
			continue
		}
		for _, item := range parts[i].items.Each {
			if item.Replicated && item.ID != "" {
				if item.Part > 0 {
					if crosses[item.ID] == nil {
						crosses[item.ID] = map[int]json.RawMessage{}
					}
					crosses[item.ID][item.Part] = item.Text
				}
				if _, known := seen[item.ID]; known {
					continue
				}
				seen[item.ID] = len(items)
			}
			items = append(items, item)
		}
	}
	for id, texts := range crosses {
		var inOrder []json.RawMessage
		for _, part := range slices.Sorted(maps.Keys(texts)) {
			inOrder = append(inOrder, texts[part])
		}
		if whole, ok := tree.Whole(k, 0, inOrder); ok {
			items[seen[id]].Text = whole
		}
	}
	return items
}

// refuseList answers when no site gave a list: with what an application said, if one did.
func (h *Lists) refuseList(q *request.Request, parts []part) {
	for _, p := range parts {
		if p.status >= 400 {
			glue.RemoveHopByHop(p.header)
			h.Answer(q, engine.Answer{Status: p.status, Header: p.header, Body: p.body, Site: p.site})
			return
		}
	}
	for _, p := range parts {
		if errors.Is(p.err, errEndless) {
			h.RefuseWatch(q)
			return
		}
		if errors.Is(p.err, glue.ErrNoList) {
			h.Refuse(q, http.StatusUnprocessableEntity, "scope-type", "the lists of several sites cannot be made one: %v\nhelp: name one site in the scope", p.err)
			return
		}
	}
	h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "none of %s can be reached now; try again later", h.Names(q.Sites))
}

// ask gets the list of every site.
func (h *Lists) ask(q *request.Request, l *listing) []part {
	return h.askAll(q, l.asked(), func(ctx context.Context, p *part) error { return h.askOne(ctx, q, l, p) })
}

// askAll asks every site for its part, this one first, then the nearest. Sites that cannot be reached are not waited for,
// and slow ones not much longer than the first took.
func (h *Lists) askAll(q *request.Request, asked []engine.SiteID, one func(context.Context, *part) error) []part {
	ctx, cancel := context.WithTimeout(q.Context(), h.Limits.List)
	defer cancel()
	self := h.Membership.Self()
	var order []engine.SiteID
	if slices.Contains(asked, self) {
		order = append(order, self)
	}
	order = append(order, h.Nearest(asked)...)
	parts := make([]part, 0, len(asked))
	for _, id := range order {
		parts = append(parts, part{site: id})
	}
	start := time.Now()
	var once sync.Once
	var timer *time.Timer
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() {
			p := &parts[i]
			p.err = one(ctx, p)
			if p.ok {
				once.Do(func() { timer = time.AfterFunc(2*time.Since(start)+h.Limits.Grace, cancel) })
			}
		})
	}
	wg.Wait()
	if timer != nil {
		timer.Stop()
	}
	for _, id := range asked {
		if !slices.Contains(order, id) {
			parts = append(parts, part{site: id, err: engine.ErrUnreachable})
		}
	}
	return parts
}

// askOne gets the list of one site.
func (h *Lists) askOne(ctx context.Context, q *request.Request, l *listing, p *part) error {
	local := p.site == h.Membership.Self()
	header := q.Header.Clone()
	glue.StripAgent(header)
	q.Strip(header)
	glue.RemoveHopByHop(header)
	for _, name := range []string{"Accept-Encoding", "Range", "If-Range", "If-None-Match", "If-Modified-Since", "Content-Length", "Expect"} {
		header.Del(name)
	}
	query, own := l.query(p.site)
	if h.Dialect != nil {
		header.Set("Accept", h.Dialect.Accept())
		if !own {
			query = h.Dialect.Whole(query)
		}
	}
	to, over, path := h.Upstream, h.Local.RoundTrip, cmp.Or(q.LocalPath, q.Path)
	if local {
		var err error
		if !own {
			query, _, err = h.Client.Localize(ctx, q.Match.Kind, q.Match.Within, header, query, nil)
		}
		if err != nil {
			return err
		}
	} else {
		if own {
			header.Set(peer.HeaderPage, "1")
		} else {
			query, _ = h.Client.Canonical(ctx, q.Match.Kind, q.Match.Within, header, query, nil)
		}
		to, path = &url.URL{Scheme: "http", Host: string(p.site)}, q.Path
		over = func(r *http.Request) (*http.Response, error) { return peer.AskAgain(h.Peer, r) }
		h.Speak(q, header)
		header.Set(peer.HeaderPlacement, string(p.site))
		header.Set(peer.HeaderAggregate, peer.JoinSites(l.Order))
	}
	r := (&http.Request{Method: http.MethodGet, URL: glue.Target(to, path, query), Header: header, Host: q.Host}).WithContext(ctx)
	resp, err := over(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if passage.Endless(resp.Header.Get("Content-Type")) {
		return errEndless
	}
	p.header = resp.Header
	body, err := io.ReadAll(io.LimitReader(resp.Body, h.Limits.Reply+1))
	switch {
	case err != nil:
		return err
	case int64(len(body)) > h.Limits.Reply:
		return fmt.Errorf("list of over %d bytes: %w", h.Limits.Reply, engine.ErrTooLarge)
	case resp.StatusCode != http.StatusOK:
		if !peer.AgentFailed(resp) {
			p.status, p.body = resp.StatusCode, body
		}
		return fmt.Errorf("status %d", resp.StatusCode)
	case local:
		if p.items, err = h.Client.ParseItems(ctx, q.Match.Kind, q.Match.Within, body); err == nil {
			p.next, _ = h.Describe(ctx, q, resp.Header, body, p.items.Each, l.Order, own)
		}
	default:
		if p.items, err = h.Client.SplitItems(q.Match.Kind, body); err == nil {
			peer.DecodeReplicated(resp.Header.Get(peer.HeaderReplicated), p.items.Each)
			peer.DecodeNumbers(resp.Header.Get(peer.HeaderParts), p.items.Each, func(i *glue.Item) *int { return &i.Part })
			peer.DecodeNumbers(resp.Header.Get(peer.HeaderHomes), p.items.Each, func(i *glue.Item) *int { return &i.Home })
			p.next = resp.Header.Get(peer.HeaderNext)
		}
	}
	p.ok = err == nil
	return err
}
