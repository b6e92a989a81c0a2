package gather

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
)

// shown is what one part of a cross resource was asked for and showed.
type shown struct {
	site   engine.SiteID // that answered; empty: none did
	status int
	header http.Header
	body   []byte
}

func (s shown) good() bool { return s.status == http.StatusOK && json.Valid(s.body) }

// ReadCross asks every part of a cross resource at once and gives one representation, made by the catalog's rules. For a part
// that does not answer counts what it showed last, and Skerry-Missing names its sites.
func (h *Lists) ReadCross(q *request.Request, row engine.ResourceRow) {
	parts := request.PartsOf(row)
	answers := h.askParts(q, row, parts)
	known, err := h.Shared.LastShown(q.Context(), row.Document)
	if err != nil {
		h.RefuseError(q, err)
		return
	}
	var texts []json.RawMessage
	var answered []string
	var lacks missing
	first, base, failed := shown{}, 0, shown{}
	for i, a := range answers {
		if a.good() {
			if first.site == "" || a.site == h.Membership.Self() { // whose versions a client may send back
				first, base = a, len(texts)
			}
			texts, answered = append(texts, a.body), append(answered, h.Name(a.site))
			continue
		}
		if failed.status == 0 {
			failed = a
		}
		slices.Sort(parts[i])
		for _, id := range parts[i] {
			lacks.add(h.Name(id), a.status)
		}
		if j := slices.IndexFunc(parts[i], func(id engine.SiteID) bool { return known[id] != nil }); j >= 0 {
			texts = append(texts, known[parts[i][j]])
		} else { // it has not been seen to show anything, but what it is to show is known
			texts = append(texts, tree.Representation(row.Sites[parts[i][0]].Share))
		}
	}
	if first.site == "" {
		h.refuseWhole(q, row, failed)
		return
	}
	body, ok := tree.Whole(q.Match.Kind, base, texts)
	if !ok {
		body = first.body
	}
	header := q.W.Header()
	ofOne(header, first.header)
	header.Set("Skerry-Resource", string(row.ID))
	if h.Dialect != nil {
		if media, rendered, ok := h.Dialect.Rendered(q.Match.Kind, q.Header.Get("Accept"), body); ok {
			header.Set("Content-Type", media)
			body = rendered
		}
	}
	if n := row.Sites[h.Membership.Self()].Pending; n > 0 {
		header.Set("Skerry-Pending", strconv.Itoa(n))
	}
	header.Set("Skerry-Site", strings.Join(answered, ", "))
	lacks.tell(header)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	q.W.WriteHeader(http.StatusOK)
	_, _ = q.W.Write(body)
}

// refuseWhole answers when no part showed anything: with what an application said, if one did.
func (h *Lists) refuseWhole(q *request.Request, row engine.ResourceRow, failed shown) {
	if failed.status == 0 {
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "no part of %s %s can be reached now; try again later", row.Kind, row.ID)
		return
	}
	glue.RemoveHopByHop(failed.header)
	h.Answer(q, engine.Answer{Status: failed.status, Header: failed.header, Body: failed.body, Site: failed.site})
}

// ofOne takes over the header of one of several answers that become one, but for what is true of that one alone.
func ofOne(header, first http.Header) {
	header["Date"] = nil
	glue.RemoveHopByHop(first)
	for name, values := range first {
		switch name {
		case "Content-Length", "Etag", "Last-Modified", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest":
			continue
		}
		if !strings.HasPrefix(name, "Skerry-") {
			header[name] = values
		}
	}
}

// askParts asks one site of every part, all parts at once. What comes long after the first answer is not waited for.
func (h *Lists) askParts(q *request.Request, row engine.ResourceRow, parts engine.Parts) []shown {
	ctx, cancel := context.WithTimeout(q.Context(), h.Limits.List)
	defer cancel()
	start := time.Now()
	var once sync.Once
	var timer *time.Timer
	answers := make([]shown, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			answers[i] = h.askPart(ctx, q, row, part)
			if answers[i].good() {
				once.Do(func() { timer = time.AfterFunc(2*time.Since(start)+h.Limits.Grace, cancel) })
			}
		})
	}
	wg.Wait()
	if timer != nil {
		timer.Stop()
	}
	return answers
}

// askPart reads one part of a cross resource: here, else from the nearest of its sites that shows it.
func (h *Lists) askPart(ctx context.Context, q *request.Request, row engine.ResourceRow, part []engine.SiteID) shown {
	var order []engine.SiteID
	if self := h.Membership.Self(); slices.Contains(part, self) && row.Local != "" {
		order = append(order, self)
	}
	var last shown
	for _, site := range append(order, h.Nearest(part)...) {
		a, err := h.askItem(ctx, q, row, site)
		if err != nil {
			h.Log.Debug("a part was not read", "peer", site, "resource", row.ID, "err", err)
		}
		if a.good() {
			return a
		}
		if a.status != 0 {
			last = a
		}
	}
	return last
}

// askItem reads what one site's application shows of a resource, in terms of meta-identifiers.
func (h *Lists) askItem(ctx context.Context, q *request.Request, row engine.ResourceRow, site engine.SiteID) (shown, error) {
	k := q.Match.Kind
	if site == h.Membership.Self() {
		reply, err := h.Client.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: q.Match.Path, Local: row.Local,
			Query: strings.TrimPrefix(q.Query, "?"), Credentials: q.Credentials()})
		if err == nil && !q.Match.Below {
			reply, err = h.Client.Present(ctx, k, reply)
		}
		return shown{site, reply.Status, reply.Header, reply.Body}, err
	}
	path, ok := glue.ExpandPath(q.Match.Path, string(row.ID))
	if !ok {
		return shown{}, fmt.Errorf("no path can carry the identifier %q", row.ID)
	}
	header := q.Credentials().Header
	if h.Dialect != nil {
		header.Set("Accept", h.Dialect.Accept())
	}
	h.Speak(q, header)
	header.Set(peer.HeaderPlacement, string(site))
	query, _ := h.Client.Canonical(ctx, k, q.Match.Within, header, strings.TrimPrefix(q.Query, "?"), nil)
	to := &url.URL{Scheme: "http", Host: string(site)}
	r := (&http.Request{Method: http.MethodGet, URL: glue.Target(to, path, query), Header: header, Host: q.Host}).WithContext(ctx)
	resp, err := peer.AskAgain(h.Peer, r)
	if err != nil {
		return shown{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, h.Limits.Reply+1))
	switch {
	case err != nil:
		return shown{}, err
	case int64(len(body)) > h.Limits.Reply:
		return shown{}, fmt.Errorf("a part of over %d bytes: %w", h.Limits.Reply, engine.ErrTooLarge)
	case peer.AgentFailed(resp):
		return shown{}, fmt.Errorf("status %d", resp.StatusCode)
	}
	return shown{site, resp.StatusCode, resp.Header, body}, nil
}
