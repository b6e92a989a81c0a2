package replica

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/hear"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// hear takes in a letter: the document is made where it is not here.
func (s *site) hear(l letter) {
	r := s.open(l.about)
	var what []string
	for _, c := range l.heard.Changes {
		what = append(what, fmt.Sprintf("change %d of %s", c.Number, c.Line))
	}
	for _, st := range l.heard.Statuses {
		what = append(what, fmt.Sprintf("status %d of %s", st.Status.Number>>16, st.Signed.Site))
	}
	if l.heard.Checkpoint != nil {
		what = append(what, "a checkpoint")
	}
	s.world.tell("%s: hears %s from %s", s.id, strings.Join(what, ", "), l.heard.From)
	s.step(input{r.Document, copyOf(l.heard)})
	if r := s.replicas[r.Document]; r != nil && s.disk[r.Document].kept == nil { // nothing of it was taken in
		delete(s.replicas, r.Document)
		delete(s.disk, r.Document)
	}
}

// copyOf is a letter's content as another process gets it: nothing of it is shared.
func copyOf(h *Heard) *Heard {
	c := *h
	c.Changes, c.Statuses = slices.Clone(h.Changes), nil
	for _, st := range h.Statuses {
		c.Statuses = append(c.Statuses, heardStatus(st.Signed.Site, st.Signed.Status))
	}
	return &c
}

// digests tells what is compared with another site.
func (s *site) digests(with engine.SiteID) string {
	text := ""
	for _, id := range s.documents() {
		r := s.replicas[id]
		peers, apart := r.Shared()
		if f, ok := apart[with]; ok {
			text += fmt.Sprint(id, f)
		} else if slices.Contains(peers, with) {
			text += fmt.Sprint(id, r.Digest())
		}
	}
	return text
}

// sharedWith reports whether a replica is compared with another site.
func (r *Replica) sharedWith(other engine.SiteID) bool {
	peers, apart := r.Shared()
	_, left := apart[other]
	return left || slices.Contains(peers, other)
}

// sendMissing sends another site what it lacks. It reports whether that was anything.
func (s *site) sendMissing(to *site) (sent bool) {
	for _, id := range s.documents() {
		r, there := s.replicas[id], to.replicas[id]
		if !r.sharedWith(to.id) || there != nil && there.Part(to.id) != view.PartNone && !there.sharedWith(s.id) {
			continue
		}
		have := engine.Have{}
		if there != nil {
			have = there.Have()
		}
		if s.sendLacking(r, to.id, have) {
			sent = true
		}
	}
	return sent
}

func (s *site) sendLacking(r *Replica, to engine.SiteID, have engine.Have) (sent bool) {
	_, apart := r.Shared()
	_, last := apart[to] // only the last word of who has left is for it
	statuses := func() (list []hear.Status) {
		for _, signed := range r.SignedStatuses() {
			if st := heardStatus(signed.Site, signed.Status); st.Status.Number > have.Statuses[signed.Site] && (!last || st.Status.Left != nil) {
				list = append(list, st)
			}
		}
		if r.Me.Number > have.Statuses[s.id] && (!last || r.Me.Left != nil) {
			list = append(list, heardStatus(s.id, engine.Encode(&r.Me)))
		}
		return list
	}()
	for i, e := range r.Epochs {
		h := &Heard{Said: hear.Said{From: s.id, Epoch: e.Number, First: e.First}}
		for _, c := range s.disk[r.Document].changes {
			if c.Epoch == e.Number && c.Number > have.Changes[e.Number][c.Line] && (!last || c.Author() == s.id) {
				h.Changes = append(h.Changes, c)
			}
		}
		if i == 0 && e.Number > 0 && nothing(have) {
			h.Checkpoint = s.disk[r.Document].checkpoint
		}
		if i == len(r.Epochs)-1 {
			h.Statuses = statuses
		}
		if len(h.Changes)+len(h.Statuses) > 0 {
			s.world.send(s.id, []engine.SiteID{to}, r.About, h)
			sent = true
		}
	}
	return sent
}

// nothing reports whether a site has no change of a document.
func nothing(have engine.Have) bool {
	for _, lines := range have.Changes {
		if len(lines) > 0 {
			return false
		}
	}
	return true
}

// sendTips sends another site the last change of each author of what both have as many changes of, and not the same.
func (s *site) sendTips(to *site) (sent bool) {
	for _, id := range s.documents() {
		r, there := s.replicas[id], to.replicas[id]
		if there == nil || !r.sharedWith(to.id) || r.Digest() == there.Digest() {
			continue
		}
		for _, e := range r.Epochs {
			h := &Heard{Said: hear.Said{From: s.id, Epoch: e.Number, First: e.First}}
			for _, c := range s.disk[id].changes {
				if c.Epoch == e.Number && c.Number == e.Tip(c.Line).Number {
					h.Changes = append(h.Changes, c)
				}
			}
			if len(h.Changes) > 0 {
				s.world.send(s.id, []engine.SiteID{to.id}, r.About, h)
				sent = true
			}
		}
	}
	return sent
}

// presented shows a reply as clients see it: with the meta-identifier in place of the site's own, and without a marker.
func presented(e env, k *engine.Kind, r engine.Reply) engine.Reply {
	root, err := tree.ParseJSON(r.Body)
	if err != nil {
		return r
	}
	if local, ok := tree.IDAt(root, k.ID.At); ok {
		if meta := e.Meta(k, engine.LocalID(local)); meta != "" {
			root = tree.SetAt(root, k.ID.At, string(meta))
		}
	}
	if k.Marker != "" {
		if v, ok := tree.ValueAt(root, k.Marker); ok {
			text, _ := v.(string)
			root = tree.SetAt(root, k.Marker, tree.TrimMarker(text))
		}
	}
	r.Body = tree.Compact(root)
	return r
}
