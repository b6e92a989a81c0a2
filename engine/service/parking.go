package service

import "github.com/skerry/skerry/engine"

// parking lists what waits, each once, in the order in which it came. Its zero value is not ready.
type parking struct {
	places map[engine.DocumentID]uint64
	order  []place // places that were left meanwhile among them
	last   uint64
}

type place struct {
	document engine.DocumentID
	number   uint64
}

func (p *parking) len() int { return len(p.places) }

func (p *parking) add(d engine.DocumentID) {
	if _, ok := p.places[d]; ok {
		return
	}
	p.last++
	p.places[d] = p.last
	p.order = append(p.order, place{d, p.last})
}

// leave takes d out. Once most of the order are places that were left, they go.
func (p *parking) leave(d engine.DocumentID) {
	delete(p.places, d)
	if len(p.order) < 2*len(p.places)+16 {
		return
	}
	kept := make([]place, 0, len(p.places))
	for _, at := range p.order {
		if p.places[at.document] == at.number {
			kept = append(kept, at)
		}
	}
	p.order = kept
}

// next takes out the first that waits; ok is false where nothing does.
func (p *parking) next() (d engine.DocumentID, ok bool) {
	for len(p.order) > 0 {
		first := p.order[0]
		p.order = p.order[1:]
		if p.places[first.document] == first.number {
			delete(p.places, first.document)
			return first.document, true
		}
	}
	return "", false
}
