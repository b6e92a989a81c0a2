package view

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// Statuses are the newest statuses of the other sites.
type Statuses struct {
	of     map[engine.SiteID]*heard
	digest engine.Fingerprint
}

// heard is a status decoded, and as its site signed it.
type heard struct {
	status *engine.Status
	signed engine.SignedStatus
	// lost is an older one that this one cannot follow: the disk of the site was set back behind it, and the site does not say yet that it knows.
	lost *heard
}

// newer takes a status in, if it is newer than what was known: ok then, and was is that. Of an older one it remembers that its site has lost it.
func (s *Statuses) newer(st *engine.Status, signed engine.SignedStatus) (was *engine.Status, ok bool) {
	old, known := s.of[signed.Site]
	switch now := (&heard{status: st, signed: signed}); {
	case !known:
		s.put(now)
		return &nothing, true
	case old.status.Number > st.Number:
		if old.lost == nil && GoneBack(signed.Site, st, old.status) {
			s.take(old)
			old.lost = now
			s.put(old)
		}
		return nil, false
	case old.status.Number == st.Number:
		return nil, false
	default:
		s.take(old)
		for _, before := range []*heard{old.lost, old} {
			if before != nil && GoneBack(signed.Site, before.status, st) {
				now.lost, before.lost = before, nil
			}
		}
		s.put(now)
		return old.status, true
	}
}

func (s *Statuses) put(h *heard) {
	if s.of == nil {
		s.of = map[engine.SiteID]*heard{}
	}
	s.of[h.signed.Site] = h
	s.digest.Add(h.digest())
}

func (s *Statuses) take(h *heard) { s.digest.Sub(h.digest()) }

// digest is what they add to the digest of their document. A lost one counts, so that a comparison brings it to its site, and to whoever may tell it.
func (h *heard) digest() engine.Fingerprint {
	sum := digestOf(h.signed.Site, h.status.Number)
	if h.lost != nil {
		sum.Add(engine.FingerprintOf("lost status", []byte(h.signed.Site), engine.Number(h.lost.status.Number)))
	}
	return sum
}

// GoneBack reports whether a site that says one thing after another has forgotten that it had settled an operation of another site: what is settled
// stays so, but where a site joins anew.
func GoneBack(site engine.SiteID, was, is *engine.Status) bool {
	if was.Rejoins || is.Rejoins || was.Left != nil || is.Left != nil || was.Joined != is.Joined {
		return false
	}
	for l, n := range was.Settled {
		if n > is.Settled[l] && l.Site() != site {
			return true
		}
	}
	return false
}

// LostStatuses are those that their sites have lost and do not know of yet.
func (s *Statuses) LostStatuses() (list []engine.SignedStatus) {
	for _, site := range slices.Sorted(maps.Keys(s.of)) {
		if lost := s.of[site].lost; lost != nil {
			list = append(list, lost.signed)
		}
	}
	return list
}

// SignedStatuses are the newest, in one order.
func (s *Statuses) SignedStatuses() []engine.SignedStatus {
	list := make([]engine.SignedStatus, 0, len(s.of))
	sites := slices.AppendSeq(make([]engine.SiteID, 0, len(s.of)), maps.Keys(s.of))
	slices.Sort(sites)
	for _, site := range sites {
		list = append(list, s.of[site].signed)
	}
	return list
}

// Signed is the newest status of another site, as it signed it.
func (s *Statuses) Signed(site engine.SiteID) (engine.SignedStatus, bool) {
	h, ok := s.of[site]
	if !ok {
		return engine.SignedStatus{}, false
	}
	return h.signed, true
}

// digestOf is what a status of a number adds to the digest of its document.
func digestOf(site engine.SiteID, number uint64) engine.Fingerprint {
	if number == 0 {
		return engine.Fingerprint{}
	}
	return engine.FingerprintOf("status", []byte(site), engine.Number(number))
}

// digestOfLast is what the last status of a site adds to the digest of last words.
func digestOfLast(site engine.SiteID, number uint64) engine.Fingerprint {
	return engine.FingerprintOf("last words", []byte(site), engine.Number(number))
}
