package p2p

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

// The fetch protocol. A fetchRequest names documents and, for each, what the asker has of it; the answer is a
// sequence of fetchAnswers, the last of which says so. The next request may be sent before the answer is complete.
const (
	fetchProtocol = "/skerry/fetch/1"
	// maxWants is how many documents one request may name, in at most maxWantBytes.
	maxWants     = 128
	maxWantBytes = 1 << 20
	// pieceBytes is about how much of one document, and of one frame, is sent at once.
	pieceBytes = 512 << 10
	// fetchAhead is how many requests are under way at once.
	fetchAhead   = 2
	fetchTimeout = 20 * time.Second // for each frame
	// maxServed is how many fetch streams of one member are served at once.
	maxServed = 4
)

type fetchRequest struct {
	Wants []want `cbor:"1,keyasint"`
}

type want struct {
	Document engine.DocumentID `cbor:"1,keyasint"`
	Have     engine.Version    `cbor:"2,keyasint"`
}

type fetchAnswer struct {
	Pieces []piece `cbor:"1,keyasint,omitempty"`
	Last   bool    `cbor:"2,keyasint,omitempty"`
}

// piece is a part of one document; without an Envelope the answering site does not give it.
type piece struct {
	Document engine.DocumentID `cbor:"1,keyasint"`
	Envelope *engine.Envelope  `cbor:"2,keyasint,omitempty"`
	More     bool              `cbor:"3,keyasint,omitempty"`
}

func (r fetchRequest) check() error {
	if len(r.Wants) == 0 || len(r.Wants) > maxWants {
		return fmt.Errorf("fetch request: %w: %d documents", engine.ErrRefused, len(r.Wants))
	}
	for _, w := range r.Wants {
		if _, ok := documentKey(w.Document); !ok {
			return fmt.Errorf("fetch request: %w: no document", engine.ErrRefused)
		}
		for actor := range w.Have {
			if len(actor) == 0 || len(actor) > maxAuthor {
				return fmt.Errorf("fetch request: %w: no actor", engine.ErrRefused)
			}
		}
	}
	return nil
}

// check admits one frame of the answer to a request; open are the documents not answered for yet.
func (a fetchAnswer) check(open map[engine.DocumentID]bool) error {
	for _, p := range a.Pieces {
		if !open[p.Document] {
			return fmt.Errorf("fetch answer: %w: a document nobody asked for", engine.ErrRefused)
		}
		delete(open, p.Document)
		if p.Envelope == nil {
			continue
		}
		if p.Envelope.Document != p.Document {
			return fmt.Errorf("fetch answer: %w: another document", engine.ErrRefused)
		}
		if err := checkEnvelope(*p.Envelope); err != nil {
			return fmt.Errorf("fetch answer: %w", err)
		}
	}
	return nil
}

// fetch pulls documents from the member, as far as it has them, in rounds: a document that does not fit into one
// piece is asked for again.
func (l *link) fetch(ctx context.Context, ids []engine.DocumentID) error {
	before := map[engine.DocumentID]uint64{}
	for len(ids) > 0 {
		more, err := l.fetchOnce(ctx, ids)
		if err != nil {
			return fmt.Errorf("pull from %s: %w", l.site, err)
		}
		ids = ids[:0:0]
		for _, id := range more {
			v, err := l.n.replicas.Version(ctx, id)
			if err != nil {
				return fmt.Errorf("pull document %s: %w", id, err)
			}
			var count uint64
			for _, seq := range v {
				count += seq
			}
			if count > before[id] { // else the member promises more and does not give it
				before[id] = count
				ids = append(ids, id)
			}
		}
	}
	return nil
}

// fetchOnce asks for each document once and returns those of which there is more.
func (l *link) fetchOnce(ctx context.Context, ids []engine.DocumentID) (more []engine.DocumentID, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	streamCtx, stopOpening := context.WithTimeout(network.WithNoDial(ctx, "fetch"), fetchTimeout)
	s, err := l.n.host.NewStream(streamCtx, l.pid, fetchProtocol)
	stopOpening()
	if err != nil {
		return nil, err
	}
	whole := false
	defer end(s, &whole)
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()

	// One goroutine asks, this one takes the answers.
	requests := make(chan fetchRequest, fetchAhead)
	var wg sync.WaitGroup
	var askErr error
	wg.Go(func() {
		defer close(requests)
		askErr = l.ask(ctx, s, ids, requests)
	})
	r := bufio.NewReaderSize(s, 64<<10)
	for request := range requests {
		var again []engine.DocumentID
		if again, err = l.takeAnswer(ctx, s, r, request); err != nil {
			break
		}
		more = append(more, again...)
	}
	if err != nil {
		cancel()
		for range requests { // let ask end
		}
	}
	wg.Wait()
	if err = errors.Join(err, askErr); err != nil {
		return nil, err
	}
	whole = true
	return more, nil
}

// ask sends requests for all documents, each also to the channel, which bounds how many are under way.
func (l *link) ask(ctx context.Context, s network.Stream, ids []engine.DocumentID, requests chan<- fetchRequest) error {
	var request fetchRequest
	size := 0
	send := func() error {
		if len(request.Wants) == 0 {
			return nil
		}
		select {
		case requests <- request:
		case <-ctx.Done():
			return ctx.Err()
		}
		_ = s.SetWriteDeadline(time.Now().Add(fetchTimeout))
		err := writeFrame(s, request, maxWantBytes)
		request, size = fetchRequest{}, 0
		return err
	}
	for _, id := range ids {
		have, err := l.n.replicas.Version(ctx, id)
		if err != nil {
			return fmt.Errorf("version of document %s: %w", id, err)
		}
		w := want{Document: id, Have: have}
		cost := 128
		for actor := range have {
			cost += len(actor) + 16
		}
		if len(request.Wants) == maxWants || size+cost > maxWantBytes {
			if err := send(); err != nil {
				return err
			}
		}
		request.Wants = append(request.Wants, w)
		size += cost
	}
	if err := send(); err != nil {
		return err
	}
	return s.CloseWrite()
}

// takeAnswer reads the answer to one request and has what it brings taken in.
func (l *link) takeAnswer(ctx context.Context, s network.Stream, r *bufio.Reader, request fetchRequest) (more []engine.DocumentID, err error) {
	open := make(map[engine.DocumentID]bool, len(request.Wants))
	for _, w := range request.Wants {
		open[w.Document] = true
	}
	results := make(chan error, len(request.Wants))
	pending := 0
	for last := false; !last; {
		_ = s.SetReadDeadline(time.Now().Add(fetchTimeout))
		var answer fetchAnswer
		if err := readFrame(r, &answer, maxFrame); err != nil {
			return nil, err
		}
		if err := answer.check(open); err != nil {
			return nil, err
		}
		for _, p := range answer.Pieces {
			if p.Envelope == nil {
				continue
			}
			if p.More {
				more = append(more, p.Document)
			}
			j := job{from: l.site, author: l.site, envelope: *p.Envelope, done: func(err error) { results <- err }}
			if err := l.n.in.put(ctx, j); err != nil {
				return nil, err
			}
			pending++
		}
		last = answer.Last
	}
	var errs []error
	for range pending {
		select {
		case err := <-results:
			switch {
			case err == nil:
				l.n.counters.received.Add(1)
				l.n.counters.pulled.Add(1)
			case errors.Is(err, engine.ErrMissing):
				// The other side learns of more while it answers. Comparing again finds what is left.
				l.repair.broken()
			default:
				errs = append(errs, err)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return more, errors.Join(errs...)
}

// serveFetch answers one member's requests. It gets only what is shared with it.
func (n *Network) serveFetch(ctx context.Context, s network.Stream) {
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
	if l.serving == maxServed {
		l.mu.Unlock()
		return
	}
	l.serving++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.serving--
		l.mu.Unlock()
	}()
	r := bufio.NewReaderSize(s, 64<<10)
	for {
		_ = s.SetReadDeadline(time.Now().Add(fetchTimeout))
		var request fetchRequest
		err := readFrame(r, &request, maxWantBytes)
		if errors.Is(err, io.EOF) {
			whole = true
			return
		}
		if err == nil {
			err = request.check()
		}
		if errors.Is(err, engine.ErrRefused) {
			n.refuse(from, fmt.Errorf("fetch: %w", err))
		}
		if err != nil {
			return
		}
		if err := n.giveAll(ctx, s, from, request); err != nil {
			n.log.Debug("documents were not given", "peer", from, "err", err)
			return
		}
	}
}

// giveAll writes the answer to one request.
func (n *Network) giveAll(ctx context.Context, s network.Stream, to engine.SiteID, request fetchRequest) error {
	var answer fetchAnswer
	var size int64
	flush := func() error {
		_ = s.SetWriteDeadline(time.Now().Add(fetchTimeout))
		err := writeFrame(s, answer, maxFrame)
		answer, size = fetchAnswer{}, 0
		return err
	}
	for _, w := range request.Wants {
		p := piece{Document: w.Document}
		e, more, err := n.replicas.Missing(ctx, to, w.Document, w.Have, pieceBytes)
		if err == nil {
			err = checkEnvelope(e) // the other side would refuse it
		}
		switch {
		case err == nil:
			p.Envelope, p.More = &e, more
		case !errors.Is(err, engine.ErrNotFound):
			n.log.Warn("a document was not given", "peer", to, "document", w.Document, "err", err)
		}
		if cost := sizeOf(e); size > 0 && size+cost > pieceBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		answer.Pieces = append(answer.Pieces, p)
		size += sizeOf(e)
	}
	answer.Last = true
	return flush()
}
