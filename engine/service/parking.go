package service

import "github.com/skerry/skerry/engine"

// parking lists what waits, each once. Turns go round the sites for which something waits, so that one that asks for much waits for itself
// alone; what waits for one site comes out in the order in which it came. Its zero value is not ready.
type parking struct {
	places map[engine.DocumentID]place
	lanes  map[engine.SiteID]*lane
	round  []engine.SiteID // those with a lane, whose turn is next first
	last   uint64
}

// place is where a document waits: for whom, and its number.
type place struct {
	site   engine.SiteID
	number uint64
}

// lane is what waits for one site, with documents among it that have left meanwhile.
type lane struct {
	order   []spot
	waiting int // those that have not left
}

type spot struct {
	document engine.DocumentID
	number   uint64
}

func newParking() parking {
	return parking{places: map[engine.DocumentID]place{}, lanes: map[engine.SiteID]*lane{}}
}

func (p *parking) len() int { return len(p.places) }

// add has d wait for a site. One that waits already keeps its place.
func (p *parking) add(d engine.DocumentID, of engine.SiteID) {
	if _, ok := p.places[d]; ok {
		return
	}
	l := p.lanes[of]
	if l == nil {
		l = &lane{}
		p.lanes[of] = l
		p.round = append(p.round, of)
	}
	p.last++
	p.places[d] = place{of, p.last}
	l.order, l.waiting = append(l.order, spot{d, p.last}), l.waiting+1
}

// leave takes d out. Once most of a lane are documents that have left, these go.
func (p *parking) leave(d engine.DocumentID) {
	at, ok := p.places[d]
	if !ok {
		return
	}
	delete(p.places, d)
	l := p.lanes[at.site]
	if l.waiting--; len(l.order) < 2*l.waiting+16 {
		return
	}
	kept := make([]spot, 0, l.waiting)
	for _, s := range l.order {
		if p.places[s.document].number == s.number {
			kept = append(kept, s)
		}
	}
	l.order = kept
}

// next takes out the first that waits for the site whose turn it is; ok is false where nothing waits.
func (p *parking) next() (d engine.DocumentID, ok bool) {
	for len(p.round) > 0 {
		of := p.round[0]
		l := p.lanes[of]
		p.round = p.round[1:]
		for !ok && l.waiting > 0 {
			first := l.order[0]
			l.order = l.order[1:]
			if p.places[first.document].number == first.number {
				delete(p.places, first.document)
				d, ok, l.waiting = first.document, true, l.waiting-1
			}
		}
		if l.waiting == 0 {
			delete(p.lanes, of)
		} else {
			p.round = append(p.round, of)
		}
		if ok {
			return d, true
		}
	}
	return "", false
}
