package site

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/skerry/skerry/engine"
)

// prints are the fingerprints of what this site shares with each other one: additive, so that a commit changes them by what it
// changes, and kept for each of the smallest ranges. It is safe for concurrent use.
type prints struct {
	mu sync.Mutex
	of map[engine.SiteID]*rangePrints
	// bodies returns what the large bodies of each other site's operations take.
	bodies func() map[engine.SiteID]int64
}

const smallest = engine.Ranges * engine.Ranges

// rangePrints are those for one site, with how many documents are shared with it. Refused counts its new ones that were one too many, forks the lines
// that it has forked.
type rangePrints struct {
	prints                 [smallest]engine.Fingerprint
	number, refused, forks int
}

func loadPrints(ctx context.Context, store engine.Store) (*prints, error) {
	p := &prints{of: map[engine.SiteID]*rangePrints{}}
	err := store.AllDigests(ctx, func(d engine.Digest, peers []engine.SiteID, apart map[engine.SiteID]engine.Fingerprint) {
		p.change(d.Document, shared{}, shared{d.Digest, peers, apart})
	})
	if err != nil {
		return nil, fmt.Errorf("read what is shared: %w", err)
	}
	forkers, err := store.Forkers(ctx)
	if err != nil {
		return nil, fmt.Errorf("read who has forked lines: %w", err)
	}
	for site, n := range forkers {
		p.at(site).forks = n
	}
	return p, nil
}

// element is what a document with a digest adds to a fingerprint.
func element(id engine.DocumentID, digest engine.Fingerprint) engine.Fingerprint {
	return engine.FingerprintOf("document", []byte(id), digest.Bytes())
}

// change puts what is shared of a document in the place of what was.
func (p *prints) change(id engine.DocumentID, before, now shared) {
	if before.digest == now.digest && len(before.apart)+len(now.apart) == 0 && slices.Equal(before.peers, now.peers) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := engine.RangeOf(id, engine.RangeDepth).First
	none := engine.Fingerprint{}
	if before.digest != none && len(before.peers) > 0 {
		e := element(id, before.digest)
		for _, site := range before.peers {
			of := p.at(site)
			of.prints[at].Sub(e)
			of.number--
		}
	}
	for site, digest := range before.apart {
		p.at(site).prints[at].Sub(element(id, digest))
	}
	if now.digest != none && len(now.peers) > 0 {
		e := element(id, now.digest)
		for _, site := range now.peers {
			of := p.at(site)
			of.prints[at].Add(e)
			of.number++
		}
	}
	for site, digest := range now.apart {
		p.at(site).prints[at].Add(element(id, digest))
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

// full reports whether so many documents are shared with a site, and counts that one more of its was refused then.
func (p *prints) full(with engine.SiteID, most int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.at(with)
	if of.number < most {
		return false
	}
	of.refused++
	return true
}

// forked takes note that a site has forked another line.
func (p *prints) forked(by engine.SiteID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at(by).forks++
}

// Shared tells what this site shares with each other one.
func (p *prints) Shared() map[engine.SiteID]engine.Shared {
	bodies := p.bodies()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[engine.SiteID]engine.Shared{}
	for site, of := range p.of {
		all[site] = engine.Shared{Resources: of.number, Refused: of.refused, Forks: of.forks, Bodies: bodies[site]}
	}
	return all
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
			list[i].Add(of.prints[at])
		}
	}
	return list
}
