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
}

// newer takes a status in, if it is newer than what was known: ok then, and was is that.
func (s *Statuses) newer(st *engine.Status, signed engine.SignedStatus) (was *engine.Status, ok bool) {
	old, known := s.of[signed.Site]
	if known && old.status.Number >= st.Number {
		return nil, false
	}
	if was = &nothing; known {
		was = old.status
		s.digest.Sub(digestOf(signed.Site, was.Number))
	}
	if s.of == nil {
		s.of = map[engine.SiteID]*heard{}
	}
	s.of[signed.Site] = &heard{st, signed}
	s.digest.Add(digestOf(signed.Site, st.Number))
	return was, true
}

// SignedStatuses are all of them, in one order.
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
