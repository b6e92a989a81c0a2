package site

import (
	"context"
	"fmt"
	"sync"

	"github.com/skerry/skerry/engine"
)

// prints are the fingerprints of what this site shares with each other one: additive, so that a commit changes them by what it
// changes, and kept for each of the smallest ranges. It is safe for concurrent use.
type prints struct {
	mu sync.Mutex
	of map[engine.SiteID]*rangePrints
}

const smallest = engine.Ranges * engine.Ranges

type rangePrints [smallest]engine.Fingerprint

func loadPrints(ctx context.Context, store engine.Store) (*prints, error) {
	p := &prints{of: map[engine.SiteID]*rangePrints{}}
	err := store.AllDigests(ctx, func(d engine.Digest, peers []engine.SiteID, apart map[engine.SiteID]engine.Fingerprint) {
		p.change(d.Document, shared{}, shared{d.Digest, peers, apart})
	})
	if err != nil {
		return nil, fmt.Errorf("read what is shared: %w", err)
	}
	return p, nil
}

// element is what a document with a digest adds to a fingerprint.
func element(id engine.DocumentID, digest engine.Fingerprint) engine.Fingerprint {
	return engine.FingerprintOf("document", []byte(id), digest.Bytes())
}

// change puts what is shared of a document in the place of what was.
func (p *prints) change(id engine.DocumentID, before, now shared) {
	if before.digest == now.digest && len(before.apart)+len(now.apart) == 0 && joinSites(before.peers) == joinSites(now.peers) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := engine.RangeOf(id, engine.RangeDepth).First
	none := engine.Fingerprint{}
	if before.digest != none && len(before.peers) > 0 {
		e := element(id, before.digest)
		for _, site := range before.peers {
			p.at(site)[at].Sub(e)
		}
	}
	for site, digest := range before.apart {
		p.at(site)[at].Sub(element(id, digest))
	}
	if now.digest != none && len(now.peers) > 0 {
		e := element(id, now.digest)
		for _, site := range now.peers {
			p.at(site)[at].Add(e)
		}
	}
	for site, digest := range now.apart {
		p.at(site)[at].Add(element(id, digest))
	}
}

func (p *prints) at(site engine.SiteID) *rangePrints {
	r := p.of[site]
	if r == nil {
		r = &rangePrints{}
		p.of[site] = r
	}
	return r
}

// sums returns the fingerprints of some ranges.
func (p *prints) sums(with engine.SiteID, ranges []engine.Range) []engine.Fingerprint {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]engine.Fingerprint, len(ranges))
	of := p.of[with]
	if of == nil {
		return list
	}
	for i, r := range ranges {
		if !r.Valid() {
			continue
		}
		width := uint16(1)
		for d := r.Depth; d < engine.RangeDepth; d++ {
			width *= engine.Ranges
		}
		for at := r.First * width; at < (r.First+1)*width; at++ {
			list[i].Add(of[at])
		}
	}
	return list
}
