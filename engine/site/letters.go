package site

import (
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/hear"
)

// mail is what a wake-up has to tell other sites. Everything for one set of sites is one letter.
type mail struct {
	changes  map[*resident][]*engine.Change
	statuses map[*resident][]byte // this site's own, encoded
	passes   []pass
	// sent are the sites that what is being taken in was sent to; nil: it is not to be passed on.
	sent []engine.SiteID
}

// pass is something of another site's that others may not have got.
type pass struct {
	of    *resident
	heard *hear.Said
	sent  []engine.SiteID
}

func (m *mail) change(r *resident, c *engine.Change) {
	if m.changes == nil {
		m.changes = map[*resident][]*engine.Change{}
	}
	m.changes[r] = append(m.changes[r], c)
}

func (m *mail) status(r *resident, encoded []byte) {
	if m.statuses == nil {
		m.statuses = map[*resident][]byte{}
	}
	m.statuses[r] = encoded
}

func (m *mail) pass(r *resident, h *hear.Said) {
	if len(m.sent) > 0 {
		m.passes = append(m.passes, pass{r, h, m.sent})
	}
}

// batchBytes is about how many bytes of statuses are signed as one batch.
const batchBytes = 256 << 10

// envelope is one letter with those it goes to, and those who have had what is in it.
type envelope struct {
	had, to []engine.SiteID
	letter  *engine.Letter
	// statuses are still to be signed.
	statuses [][]byte
}

// send has the letters of this wake-up signed and sent.
func (w *wakeUp) send() {
	m := &w.mail
	var order []*envelope
	by := map[string]*envelope{}
	envelopeFor := func(had, to []engine.SiteID) *envelope {
		if n := len(order); n > 0 && slices.Equal(order[n-1].to, to) && slices.Equal(order[n-1].had, had) {
			return order[n-1] // most go to the same
		}
		key := joinSites(to) + "|" + joinSites(had)
		e := by[key]
		if e == nil {
			e = &envelope{had: had, to: to, letter: &engine.Letter{Sent: slices.Concat(had, to)}}
			by[key] = e
			order = append(order, e)
		}
		return e
	}
	s := w.s
	own := []engine.SiteID{s.cfg.Self}
	for _, r := range w.stepped {
		if status := m.statuses[r]; status != nil {
			s.tidings.put(r, status)
		}
		changes := m.changes[r]
		if len(changes) == 0 {
			continue
		}
		if to := w.reachable(r.Others()); len(to) > 0 {
			e := envelopeFor(own, to)
			e.letter.Parcels = append(e.letter.Parcels, parcels(r.Raw, changes)...)
		}
	}
	for _, p := range m.passes {
		to := except(p.of.Others(), func(id engine.SiteID) bool {
			return id == p.heard.From || slices.Contains(p.sent, id) || !w.reaches(id)
		})
		if len(to) == 0 {
			continue
		}
		e := envelopeFor(p.sent, to)
		e.letter.Parcels = append(e.letter.Parcels, parcels(p.of.Raw, p.heard.Changes)...)
		for _, s := range p.heard.Statuses {
			e.letter.Statuses = append(e.letter.Statuses, s.Signed)
		}
	}
	for _, t := range s.tidings.due(w) {
		if to := w.reachable(t.to); len(to) > 0 {
			e := envelopeFor(own, to)
			e.statuses = append(e.statuses, t.status)
			if t.begins != nil {
				e.letter.Parcels = append(e.letter.Parcels, engine.Parcel{About: t.begins})
			}
		}
	}
	if len(order) == 0 {
		return
	}
	for _, e := range order {
		e.letter.Batches = s.sign(e.statuses)
	}
	w.then(func() {
		for _, e := range order {
			s.network.Send(e.to, e.letter)
		}
	})
}

// tidings are what this site says of itself and has not told yet, of each resource the newest. What follows within a short time is told
// together, under one signature. They are in memory alone: what is lost of them a comparison brings.
type tidings struct {
	waiting []tiding
	of      map[engine.DocumentID]int // where in waiting
	next    time.Time                 // not before then
}

// tells stands among the documents that are woken for the tidings.
const tells engine.DocumentID = "tells"

type tiding struct {
	to     []engine.SiteID
	status []byte
	// begins is the about of a document that nobody writes in: without it the others could not begin it.
	begins []byte
}

func (t *tidings) put(r *resident, status []byte) {
	n := tiding{to: r.Others(), status: status}
	if r.About.Chooses() {
		n.begins = r.Raw
	}
	if i, ok := t.of[r.id]; ok {
		t.waiting[i] = n
		return
	}
	if t.of == nil {
		t.of = map[engine.DocumentID]int{}
	}
	t.of[r.id] = len(t.waiting)
	t.waiting = append(t.waiting, n)
}

// due takes out what is to be told now: all of it, or nothing yet; the loop wakes up in time for that.
func (t *tidings) due(w *wakeUp) []tiding {
	switch {
	case len(t.waiting) == 0:
		return nil
	case w.now.Before(t.next) && !w.s.cfg.Inline:
		w.s.inbox.wakeAt(tells, t.next)
		return nil
	}
	list, most := t.waiting, 2
	for _, n := range list {
		most = max(most, len(n.to))
	}
	*t = tidings{next: w.now.Add(min(told*time.Duration(most)/2, gather))}
	return list
}

// sign signs statuses of this site as batches.
func (s *Site) sign(statuses [][]byte) (batches []engine.StatusBatch) {
	for len(statuses) > 0 {
		n, size := 0, 0
		for n < len(statuses) && n < engine.MaxBatch && (n == 0 || size+len(statuses[n]) <= batchBytes) {
			size += len(statuses[n])
			n++
		}
		batches = append(batches, s.cfg.Statuses.SignStatuses(statuses[:n:n]))
		statuses = statuses[n:]
	}
	return batches
}

// parcels packs changes of one document, those of each epoch together.
func parcels(about []byte, changes []*engine.Change) (list []engine.Parcel) {
	for _, c := range changes {
		if n := len(list); n == 0 || list[n-1].Epoch != c.Epoch {
			list = append(list, engine.Parcel{About: about, Epoch: c.Epoch})
		}
		last := &list[len(list)-1]
		last.Changes = append(last.Changes, c.SignedChange)
	}
	return list
}

func joinSites(ids []engine.SiteID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = string(id)
	}
	return strings.Join(words, ",")
}

// reachable are those of some sites that can be reached now. What the others miss, anti-entropy brings them.
func (w *wakeUp) reachable(ids []engine.SiteID) []engine.SiteID {
	return except(ids, func(id engine.SiteID) bool { return !w.reaches(id) })
}

// except is a list without some: itself, where there are none of them.
func except(ids []engine.SiteID, out func(engine.SiteID) bool) []engine.SiteID {
	i := slices.IndexFunc(ids, out)
	if i < 0 {
		return ids
	}
	list := slices.Clone(ids[:i])
	for _, id := range ids[i+1:] {
		if !out(id) {
			list = append(list, id)
		}
	}
	return list
}
