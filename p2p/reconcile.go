package p2p

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

// The reconcile protocol. One side, the asker, sends compareRequests, the other answers each with one compareAnswer.
// For each range whose fingerprints differ the answer has the fingerprints of its sixteen parts, or, when it holds
// few documents, the documents. At the end the asker tells the other which documents it found to differ there: the
// other then pulls for itself, as the asker does. The stream ends when the asker closes it.
const (
	reconcileProtocol = "/skerry/reconcile/1"
	maxCompare        = 1 << 20
	// maxRanges is how many ranges one request may have, maxDiffer how many documents, listItems how many documents
	// of a range are listed rather than divided.
	maxRanges = 512
	maxDiffer = 8192
	listItems = 32
	itemLen   = 64
	// maxAsked bounds one comparison with a member that always says that something differs.
	maxAsked         = 1 << 20
	reconcileTimeout = 10 * time.Second // for each step
	// maxComparisons is how many comparisons begun by others are served at once; more wait.
	maxComparisons = 4
)

type compareRequest struct {
	Ranges []compareRange `cbor:"1,keyasint,omitempty"`
	// Differ are identifiers, 32 bytes each.
	Differ []byte `cbor:"2,keyasint,omitempty"`
}

type compareRange struct {
	Prefix      []byte `cbor:"1,keyasint"`
	Fingerprint []byte `cbor:"2,keyasint"`
}

type compareAnswer struct {
	Results []compareResult `cbor:"1,keyasint,omitempty"`
}

const (
	resultSame = iota
	resultParts
	resultItems
)

type compareResult struct {
	Kind int `cbor:"1,keyasint"`
	// Data are the fingerprints of sixteen parts, or items of 64 bytes by rising identifier.
	Data []byte `cbor:"2,keyasint,omitempty"`
}

func (r compareRequest) check() error {
	if len(r.Ranges)+len(r.Differ) == 0 || len(r.Ranges) > maxRanges || len(r.Differ) > 32*maxDiffer || len(r.Differ)%32 != 0 {
		return fmt.Errorf("compare request: %w: %d ranges, %d bytes of documents", engine.ErrRefused, len(r.Ranges), len(r.Differ))
	}
	for _, q := range r.Ranges {
		if !prefix(q.Prefix).valid() || len(q.Fingerprint) != fingerprintLen {
			return fmt.Errorf("compare request: %w: a range that is none", engine.ErrRefused)
		}
	}
	return nil
}

// check admits an answer to a request for these ranges.
func (a compareAnswer) check(asked []prefix) error {
	if len(a.Results) != len(asked) {
		return fmt.Errorf("compare answer: %w: %d results for %d ranges", engine.ErrRefused, len(a.Results), len(asked))
	}
	for i, r := range a.Results {
		ok := false
		switch r.Kind {
		case resultSame:
			ok = len(r.Data) == 0
		case resultParts:
			ok = len(r.Data) == 16*fingerprintLen && len(asked[i]) < maxPrefix
		case resultItems:
			ok = len(r.Data)%itemLen == 0 && len(r.Data) <= listItems*itemLen
			first, last := asked[i].bounds()
			var before []byte
			for b := r.Data; ok && len(b) > 0; b = b[itemLen:] {
				id := b[:32]
				ok = bytes.Compare(id, first[:]) >= 0 && bytes.Compare(id, last[:]) <= 0 && bytes.Compare(before, id) < 0
				before = id
			}
		}
		if !ok {
			return fmt.Errorf("compare answer: %w: a result that is none", engine.ErrRefused)
		}
	}
	return nil
}

// answer compares the ranges of a checked request with what this site has.
func (s *set) answer(r compareRequest) compareAnswer {
	var a compareAnswer
	for _, q := range r.Ranges {
		p := prefix(q.Prefix)
		from, to := s.within(p)
		mine := s.fingerprint(p)
		var result compareResult
		switch {
		case bytes.Equal(mine[:], q.Fingerprint):
		case to-from <= listItems:
			result.Kind = resultItems
			for _, it := range s.items[from:to] {
				result.Data = append(append(result.Data, it.id[:]...), it.heads[:]...)
			}
		default:
			result.Kind = resultParts
			for i := range 16 {
				f := s.fingerprint(p.child(i))
				result.Data = append(result.Data, f[:]...)
			}
		}
		a.Results = append(a.Results, result)
	}
	return a
}

// comparison is the asker's side of one comparison, without the stream.
type comparison struct {
	set         *set
	todo        []prefix
	asked       int
	here, there [][32]byte // documents that differ: for this site to pull, for the other
}

func newComparison(s *set) *comparison { return &comparison{set: s, todo: []prefix{""}} }

// next returns the next ranges to ask about, none at the end.
func (c *comparison) next() []prefix {
	k := min(len(c.todo), maxRanges)
	asked := append([]prefix{}, c.todo[len(c.todo)-k:]...) // depth first: todo stays short
	c.todo = c.todo[:len(c.todo)-k]
	c.asked += k
	return asked
}

func (c *comparison) request(asked []prefix) compareRequest {
	var r compareRequest
	for _, p := range asked {
		f := c.set.fingerprint(p)
		r.Ranges = append(r.Ranges, compareRange{Prefix: []byte(p), Fingerprint: f[:]})
	}
	return r
}

// take takes a checked answer.
func (c *comparison) take(asked []prefix, a compareAnswer) error {
	for i, r := range a.Results {
		switch r.Kind {
		case resultParts:
			for part := range 16 {
				child := asked[i].child(part)
				if f := c.set.fingerprint(child); !bytes.Equal(f[:], r.Data[part*fingerprintLen:][:fingerprintLen]) {
					c.todo = append(c.todo, child)
				}
			}
		case resultItems:
			theirs := make([]item, 0, len(r.Data)/itemLen)
			for b := r.Data; len(b) > 0; b = b[itemLen:] {
				theirs = append(theirs, item{id: [32]byte(b), heads: [32]byte(b[32:])})
			}
			here, there := c.set.differences(asked[i], theirs)
			c.here, c.there = append(c.here, here...), append(c.there, there...)
		}
	}
	if c.asked+len(c.todo) > maxAsked {
		return fmt.Errorf("compare: %w: more than %d ranges differ", engine.ErrRefused, maxAsked)
	}
	return nil
}

// compare finds out what this site and the member have differently, tells it, and returns what this site has to pull.
func (l *link) compare(ctx context.Context) ([][32]byte, error) {
	n, began := l.n, time.Now()
	set, err := loadSet(ctx, n.replicas, l.site)
	if err != nil {
		return nil, err
	}
	streamCtx, cancel := context.WithTimeout(network.WithNoDial(ctx, "reconcile"), reconcileTimeout)
	defer cancel()
	s, err := n.host.NewStream(streamCtx, l.pid, reconcileProtocol)
	if err != nil {
		return nil, fmt.Errorf("compare with %s: %w", l.site, err)
	}
	whole := false
	defer end(s, &whole)
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()

	wire := counted{s, &n.counters.comparedBytes}
	r := bufio.NewReader(wire)
	c := newComparison(set)
	for asked := c.next(); len(asked) > 0; asked = c.next() {
		_ = s.SetDeadline(time.Now().Add(3 * reconcileTimeout)) // the first step has the other side load its set
		var answer compareAnswer
		n.counters.asked.Add(1)
		err := writeFrame(wire, c.request(asked), maxCompare)
		if err == nil {
			err = readFrame(r, &answer, 4*maxCompare)
		}
		if err == nil {
			err = answer.check(asked)
		}
		if err == nil {
			err = c.take(asked, answer)
		}
		if err != nil {
			return nil, fmt.Errorf("compare with %s: %w", l.site, err)
		}
	}
	for there := c.there; len(there) > 0; {
		k := min(len(there), maxDiffer)
		var differ []byte
		for _, id := range there[:k] {
			differ = append(differ, id[:]...)
		}
		there = there[k:]
		var answer compareAnswer
		_ = s.SetDeadline(time.Now().Add(reconcileTimeout))
		n.counters.asked.Add(1)
		err := writeFrame(wire, compareRequest{Differ: differ}, maxCompare)
		if err == nil {
			err = readFrame(r, &answer, maxCompare)
		}
		if err != nil {
			return nil, fmt.Errorf("compare with %s: %w", l.site, err)
		}
	}
	whole = true
	n.counters.reconciled.Add(1)
	n.counters.begun.Add(1)
	n.counters.comparing.Add(uint64(time.Since(began)))
	l.repair.compared(began)
	return c.here, nil
}

// serveReconcile is the other side of compare. One member has one comparison at a time.
func (n *Network) serveReconcile(ctx context.Context, s network.Stream) {
	whole := false
	defer end(s, &whole)
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	from := siteOf(s.Conn().RemotePeer())
	l := n.link(from)
	if l == nil {
		return
	}
	l.mu.Lock()
	busy := l.comparing
	l.comparing = true
	l.mu.Unlock()
	if busy {
		return
	}
	defer func() {
		l.mu.Lock()
		l.comparing = false
		l.mu.Unlock()
	}()
	select {
	case n.comparisons <- struct{}{}:
		defer func() { <-n.comparisons }()
	case <-time.After(reconcileTimeout):
		return
	case <-ctx.Done():
		return
	}

	var set *set
	r := bufio.NewReader(s)
	asked := 0
	for {
		_ = s.SetDeadline(time.Now().Add(reconcileTimeout))
		var request compareRequest
		err := readFrame(r, &request, maxCompare)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = request.check()
		}
		if asked += len(request.Ranges); err == nil && asked > maxAsked {
			err = fmt.Errorf("%w: more than %d ranges", engine.ErrRefused, maxAsked)
		}
		if err != nil {
			if errors.Is(err, engine.ErrRefused) {
				n.refuse(from, fmt.Errorf("reconcile: %w", err))
			}
			return
		}
		for b := request.Differ; len(b) > 0; b = b[32:] {
			l.repair.pull(documentID([32]byte(b)))
		}
		if set == nil {
			if set, err = loadSet(ctx, n.replicas, from); err != nil {
				n.log.Warn("a comparison was not served", "peer", from, "err", err)
				return
			}
		}
		if err := writeFrame(s, set.answer(request), 4*maxCompare); err != nil {
			return
		}
	}
	whole = true
	n.counters.reconciled.Add(1)
	l.repair.served()
}
