package gather

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// A watch of several sites follows each of them and writes one stream. A site that is cut off is followed again from where its stream broke
// when it can be reached, so that its items stay and nothing is missed. Every event has the version of all sites with it, at which any
// agent can go on: those of sites that gave nothing yet are unknown, and begin with what is there.
//
// What is replicated is told by one site: the first in the order that has it and is followed. When that changes, the one that tells from
// then on shows what it has.

const (
	// pageOfWatch is how many items of what is there at a site are asked for at a time.
	pageOfWatch = 500
	// maxGone is of how many items that are gone a watch knows which sites are still to tell so.
	maxGone = 1 << 12
)

// merging is the state of a watch of several sites; its one goroutine owns it.
type merging struct {
	*gathering
	told chan followed
	// live says which sites are followed, began which have told what was there.
	live, began []bool
	// gone says, for items of which the client was told that they are gone, which sites are still to tell so of a replica of theirs.
	gone map[string][]int
	// parts are those of what is cross and read as one, as they were told last; form is a list that events are written like.
	parts map[string]*divided
	form  *glue.Gathered
	// asked says that the client waits to hear that what was there has been told; mark writes that.
	asked bool
	mark  func(version string, begun bool) json.RawMessage
	flush *http.ResponseController
	wg    sync.WaitGroup
}

// watch follows all sites until the client goes, its time is over, or what has happened at a site is forgotten there.
func (g *gathering) watch() {
	ctx, cancel := context.WithCancel(g.q.Context())
	n := len(g.order)
	m := &merging{gathering: g, told: make(chan followed), live: make([]bool, n), began: make([]bool, n),
		gone: map[string][]int{}, parts: map[string]*divided{}, asked: g.asking.Begin, flush: http.NewResponseController(g.q.W)}
	defer m.wg.Wait()
	defer cancel()
	events := make(chan followed)
	for i := range g.order {
		version := g.at[i]
		m.began[i] = version != "" && !g.asking.Begin
		m.wg.Go(func() { g.follow(ctx, i, version, m.told, events) })
	}
	if !m.open(ctx) {
		return
	}
	var end <-chan time.Time
	if g.asking.Timeout > 0 {
		timer := time.NewTimer(g.asking.Timeout)
		defer timer.Stop()
		end = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-end:
			return
		case f := <-m.told:
			if !m.hear(ctx, f) {
				return
			}
		case f := <-events:
			if !m.pass(f) {
				return
			}
		}
	}
}

// open waits until every site gives its events or cannot, slow ones not much longer than the first, and begins the answer. False: it has
// refused.
func (m *merging) open(ctx context.Context) bool {
	h, q := m.h, m.q
	start := time.Now()
	heard := make([]bool, len(m.order))
	var refused *followed
	said := make([]int, len(m.order))
	var late <-chan time.Time
	for slices.Contains(heard, false) {
		select {
		case <-ctx.Done():
			return false
		case <-late:
			for i := range heard {
				heard[i] = true
			}
		case f := <-m.told:
			heard[f.site], m.live[f.site] = true, f.opened
			switch {
			case f.opened && late == nil:
				timer := time.NewTimer(2*time.Since(start) + h.Limits.Grace)
				defer timer.Stop()
				late = timer.C
			case f.status == http.StatusGone:
				h.Refuse(q, http.StatusGone, "expired", "%s no longer knows what has happened there since\nhelp: list anew", h.Name(m.order[f.site]))
				return false
			case f.status != 0:
				said[f.site] = f.status
				if refused == nil {
					refused = &f
				}
			}
		}
	}
	var follows []string
	var lacks missing
	for i, site := range m.order {
		if m.live[i] {
			follows = append(follows, h.Name(site))
		} else {
			lacks.add(h.Name(site), said[i])
		}
	}
	switch {
	case len(follows) == 0 && refused != nil:
		h.Answer(q, engine.Answer{Status: refused.status, Header: refused.header, Body: refused.body, Site: m.order[refused.site]})
		return false
	case len(follows) == 0:
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "none of %s can be reached now; try again later", h.Names(m.order))
		return false
	}
	header := q.W.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-cache, private")
	header.Set("Skerry-Site", strings.Join(follows, ", "))
	lacks.tell(header)
	q.W.WriteHeader(http.StatusOK)
	return m.flush.Flush() == nil
}

// hear takes in that a site is followed, or is not any more. It returns false at the end of the watch.
func (m *merging) hear(ctx context.Context, f followed) bool {
	switch {
	case f.shown != nil:
		return m.show(f)
	case f.opened:
		m.live[f.site] = true
		for i := len(m.live) - 1; i > f.site && m.began[f.site]; i-- { // what was told of its items meanwhile is what that one has
			if m.live[i] {
				m.showAgain(ctx, f.site, i)
			}
		}
		return true
	case f.status == http.StatusGone:
		return m.fail(http.StatusGone, m.h.Name(m.order[f.site])+" no longer knows what has happened there since: list anew")
	case f.status == http.StatusUnauthorized: // the client hears of it when it asks again
		return false
	}
	if m.live[f.site] {
		m.live[f.site] = false
		for i := f.site + 1; i < len(m.live); i++ {
			if m.live[i] {
				m.showAgain(ctx, i, f.site)
			}
		}
	}
	return m.tellBegun()
}

// teller is the site that tells of an item which site i shows.
func (m *merging) teller(i int, p place) int {
	for _, n := range p.At {
		if n >= 0 && n < len(m.live) && m.live[n] {
			return n
		}
	}
	return i
}

// pass gives the client an event, unless another site tells of what it is about.
func (m *merging) pass(f followed) bool {
	if f.there != nil {
		return m.begin(f)
	}
	e, err := m.h.Gatherer.TakeEvent(f.event.Event)
	if err != nil {
		m.h.Log.Warn("an event of a watch was left out", "peer", m.order[f.site], "path", m.q.Path, "err", err)
		return true
	}
	m.at[f.site] = e.Version
	if e.Mark {
		return m.asked || !m.asking.Marks || m.write(e.Text(m.version(), ""))
	}
	if m.toldGone(f.site, e) || m.partGone(f, e) {
		return true
	}
	if m.divided(f.event.Place) && !e.Gone {
		d := m.seePart(f.site, e.GatheredItem, f.event.Place)
		return m.tellWhole(d, e.New && d.n == f.site)
	}
	if m.teller(f.site, f.event.Place) != f.site {
		return true
	}
	if had := slices.Concat(f.event.Place.At, f.event.Place.Gone); e.Gone && len(had) > 1 {
		if len(m.gone) == maxGone { // most are of sites that told first; what is told twice does no harm
			clear(m.gone)
		}
		m.gone[nameOf(e.GatheredItem)] = slices.DeleteFunc(had, func(n int) bool { return n == f.site })
	}
	return m.write(e.Text(m.version(), m.where(f.site, f.event.Place)))
}

// toldGone reports whether an event is of a replica that goes after another did, of which the client was told.
func (m *merging) toldGone(i int, e glue.GatheredEvent) bool {
	name := nameOf(e.GatheredItem)
	if e.New {
		delete(m.gone, name)
	}
	left := m.gone[name]
	n := slices.Index(left, i)
	if e.Gone && n >= 0 {
		left = slices.Delete(left, n, n+1)
		m.gone[name] = left
	}
	if len(left) == 0 {
		delete(m.gone, name)
	}
	return n >= 0
}

func nameOf(item glue.GatheredItem) string { return engine.Inside(item.Container, item.Name) }

// begin tells the client what is there at a site.
func (m *merging) begin(f followed) bool {
	list := f.there.gathered
	m.form, list.Plain = list, m.q.OneItem
	for j, item := range list.Items {
		at := f.there.places[j]
		if m.divided(at) {
			if d := m.seePart(f.site, item, at); (!f.known || d.untold) && !m.tellWhole(d, !f.known && d.n == f.site) {
				return false
			}
			continue
		}
		if !f.known && m.teller(f.site, at) == f.site && !m.write(list.Event(item.Text(m.version(), m.where(f.site, at)), m.version(), true)) {
			return false
		}
	}
	if f.more || f.known {
		return true
	}
	m.at[f.site], m.began[f.site], m.mark = list.Version, true, list.Mark
	if !m.asked {
		return !m.asking.Marks || m.write(list.Mark(m.version(), false))
	}
	return m.tellBegun()
}

// tellBegun tells the client that all has been told that was there, when it has been by all sites that are followed.
func (m *merging) tellBegun() bool {
	if !m.asked || m.mark == nil {
		return true
	}
	for i := range m.live {
		if m.live[i] && !m.began[i] {
			return true
		}
	}
	m.asked = false
	return m.write(m.mark(m.version(), true))
}

// showAgain asks a site for what it has of what is replicated, because it is the one to tell of it from now on, instead of another.
func (m *merging) showAgain(ctx context.Context, i, instead int) {
	m.wg.Go(func() {
		ask := m.lists()
		for next, more := "", true; more; {
			p := &part{site: m.order[i]}
			if err := ask.askList(ctx, p, next); err != nil {
				return // it is lost as well, and shows what it has when it is back
			}
			next, more = p.gathered.Next, p.gathered.Next != ""
			select {
			case m.told <- followed{site: i, shown: p, instead: instead}:
			case <-ctx.Done():
				return
			}
		}
	})
}

// lists is the same of a list, in pages, as of any version.
func (g *gathering) lists() *gathering {
	list := *g
	list.asking.Watch, list.asking.Page, list.at = false, pageOfWatch, make([]string, len(g.order))
	return &list
}

// show gives the client those items of a list that their site is the one to tell of, where another was before.
func (m *merging) show(f followed) bool {
	list := f.shown.gathered
	for j, item := range list.Items {
		at := f.shown.places[j]
		if !slices.Contains(at.At, f.instead) || m.teller(f.site, at) != f.site {
			continue
		}
		if m.divided(at) {
			if !m.tellWhole(m.seePart(f.site, item, at), false) {
				return false
			}
			continue
		}
		if !m.write(list.Event(item.Text(m.version(), m.where(f.site, at)), m.version(), false)) {
			return false
		}
	}
	return true
}

// fail ends the watch with an event that says why.
func (m *merging) fail(status int, why string) bool {
	_, body := m.h.Dialect.Refusal(status, "expired", why)
	m.write(json.RawMessage(`{"type":"ERROR","object":` + string(body) + `}`))
	return false
}

func (m *merging) write(event json.RawMessage) bool {
	if _, err := m.q.W.Write(append(event, '\n')); err != nil {
		return false
	}
	return m.flush.Flush() == nil
}
