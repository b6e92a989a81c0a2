package p2p

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// pulls are the documents that one side of a comparison lacks something of.
type pulls struct {
	claims *claims
	wake   chan struct{} // capacity 1: next may have another answer

	mu    sync.Mutex
	todo  []id
	total int  // that were ever in todo
	found bool // nothing more comes into todo, but what was given in part
	open  []*pull
	// under are the pulls of which something is not taken in: the open ones, and some that are answered.
	under map[*pull]bool
	had   map[id][]byte // what was here of a document that was given in part when it was asked for
	left  bool          // something is left for another comparison
	over  bool          // next has told that all is done
}

// pull is one want that was sent.
type pull struct {
	want   []engine.Have
	taking sync.WaitGroup // its letters
}

func newPulls(c *claims) *pulls {
	return &pulls{claims: c, wake: make(chan struct{}, 1), under: map[*pull]bool{}, had: map[id][]byte{}}
}

func (p *pulls) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// add takes in documents that differ.
func (p *pulls) add(ids []id, last bool) {
	p.mu.Lock()
	if room := maxPulls - p.total; len(ids) > room {
		ids, p.left = ids[:room], true
	}
	p.todo = append(p.todo, ids...)
	p.total += len(ids)
	p.found = p.found || last
	p.mu.Unlock()
	p.nudge()
}

// next returns documents to ask for now. When there are none, wait is closed when that may be over, beside wake.
func (p *pulls) next(now time.Time) (ids []id, wait <-chan struct{}, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(p.todo) == 0:
		p.over = p.found && len(p.under) == 0
		return nil, nil, p.over
	case len(p.under) >= wantsAhead:
		return nil, nil, false
	}
	ids, p.todo, wait = p.claims.take(p.todo, wantDocuments, now)
	return ids, wait, false
}

// progress reports whether to ask for a document of which h is here, and not to ask again for one of which nothing has come.
func (p *pulls) progress(d id, h engine.Have) bool {
	p.mu.Lock()
	had, again := p.had[d]
	p.mu.Unlock()
	if !again || !bytes.Equal(had, engine.Encode(h)) {
		return true
	}
	p.leave()
	p.claims.release([]id{d})
	return false
}

// begin enters a want that is about to be sent, and gives back documents for which it had no room.
func (p *pulls) begin(want []engine.Have, back []id) {
	p.claims.release(back)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.todo = append(slices.Clone(back), p.todo...)
	if len(want) > 0 {
		w := &pull{want: want}
		p.open = append(p.open, w)
		p.under[w] = true
	}
}

// oldest returns the pull that is being answered.
func (p *pulls) oldest() (*pull, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) == 0 {
		return nil, fmt.Errorf("%w: an answer to nothing", engine.ErrRefused)
	}
	return p.open[0], nil
}

// answered ends the answer to the oldest pull, which was not whole for some documents. Taken is called when its letters were
// taken in.
func (p *pulls) answered(partly []id) (w *pull, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) == 0 {
		return nil, fmt.Errorf("%w: an answer to nothing", engine.ErrRefused)
	}
	w = p.open[0]
	had := make(map[id][]byte, len(partly))
	if len(partly) > 0 {
		for _, h := range w.want {
			if d := idOf(h.Document); slices.Contains(partly, d) {
				had[d] = engine.Encode(h)
			}
		}
	}
	if len(had) != len(partly) {
		return nil, fmt.Errorf("%w: %d documents in part of which %d were wanted", engine.ErrRefused, len(partly), len(had))
	}
	maps.Copy(p.had, had)
	p.open = p.open[1:]
	return w, nil
}

// taken ends a pull. What was given in part is asked for again.
func (p *pulls) taken(w *pull, partly []id) {
	p.claims.release(w.ids())
	p.mu.Lock()
	delete(p.under, w)
	p.todo = append(p.todo, partly...)
	p.mu.Unlock()
	p.nudge()
}

func (w *pull) ids() []id {
	ids := make([]id, len(w.want))
	for i, h := range w.want {
		ids[i] = idOf(h.Document)
	}
	return ids
}

// leave has the sites compare again: something is not here that the other one has.
func (p *pulls) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
}

func (p *pulls) isLeft() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// ended reports whether next has told that all is done.
func (p *pulls) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// end gives up what was not answered.
func (p *pulls) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.under {
		p.claims.release(w.ids())
	}
	clear(p.under)
}
