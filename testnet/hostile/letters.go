package hostile

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/skerry/skerry/engine"
)

// flipLetters sends what an honest site has sent with a few bytes changed.
func flipLetters(ctx context.Context, m *Member, _ *Orders) error {
	heard := m.frames()
	if len(heard) == 0 {
		return errNothing
	}
	b := slices.Clone(heard[m.chance(len(heard))])
	for range 1 + m.chance(4) {
		b[m.chance(len(b))] ^= 1 << m.chance(8)
	}
	_, err := m.send(ctx, m.victim(), letters, frame(b))
	return ignore(err)
}

// replayLetters sends what honest sites have sent once more, in another order, and much of it at once.
func replayLetters(ctx context.Context, m *Member, _ *Orders) error {
	var all [][]byte
	for _, b := range m.frames() {
		for range 1 + m.chance(3) {
			all = slices.Insert(all, m.chance(len(all)+1), frame(b))
		}
	}
	if len(all) == 0 {
		return errNothing
	}
	_, err := m.send(ctx, m.victim(), letters, all...)
	return ignore(err)
}

// mutateLetters takes letters of honest sites apart and puts them together otherwise: parts left out, doubled, exchanged, numbers
// changed, and signed as far as that is the member's to sign.
func mutateLetters(ctx context.Context, m *Member, _ *Orders) error {
	var pool []*engine.Letter
	for _, b := range m.frames() {
		var list []*engine.Letter
		if engine.Decode(b, &list) == nil {
			pool = append(pool, list...)
		}
	}
	if len(pool) == 0 {
		return errNothing
	}
	l, other := *pool[m.chance(len(pool))], pool[m.chance(len(pool))]
	l.Parcels = slices.Clone(l.Parcels)
	for i := range l.Parcels {
		p := &l.Parcels[i]
		p.Changes = slices.Clone(p.Changes)
		switch m.chance(6) {
		case 0:
			p.Epoch += uint64(m.chance(3))
		case 1:
			if len(other.Parcels) > 0 {
				p.About = other.Parcels[0].About
			}
		case 2:
			slices.Reverse(p.Changes)
		case 3:
			p.Changes = append(p.Changes, p.Changes...)
		case 4:
			for j := range p.Changes {
				p.Changes[j].Line = m.line()
			}
		case 5:
			p.More = true
		}
	}
	switch m.chance(5) {
	case 0:
		l.Sent = nil
	case 1: // to whoever there may be
		for range 1000 {
			l.Sent = append(l.Sent, engine.SiteID(fmt.Sprint("nobody", m.chance(1<<30))))
		}
	case 2:
		l.Statuses = append(slices.Clone(l.Statuses), other.Statuses...)
	case 3:
		l.Batches = slices.Clone(l.Batches)
		for i := range l.Batches {
			l.Batches[i].Site = m.id
		}
	}
	_, err := m.send(ctx, m.victim(), letters, letterFrame(&l))
	return ignore(err)
}

// relabelChanges passes on what an honest site has signed in one document as of another one or of another epoch, alone and as the proof that it
// has signed two changes under one number.
func relabelChanges(ctx context.Context, m *Member, _ *Orders) error {
	by := map[engine.Line][]engine.SignedChange{}
	abouts := map[string]bool{}
	for _, b := range m.frames() {
		var list []*engine.Letter
		if engine.Decode(b, &list) != nil {
			continue
		}
		for _, l := range list {
			for _, p := range l.Parcels {
				abouts[string(p.About)] = true
				for _, c := range p.Changes {
					if c.Author() != m.id {
						by[c.Line] = append(by[c.Line], c)
					}
				}
			}
		}
	}
	l := &engine.Letter{}
	for _, about := range slices.Sorted(maps.Keys(abouts)) {
		for _, line := range slices.Sorted(maps.Keys(by)) {
			list := by[line]
			one, other := list[m.chance(len(list))], list[m.chance(len(list))]
			changes := []engine.SignedChange{one, other}[:1+m.chance(2)]
			l.Parcels = append(l.Parcels, engine.Parcel{About: []byte(about), Epoch: uint64(m.chance(2)), Changes: changes})
		}
	}
	if len(l.Parcels) == 0 {
		return errNothing
	}
	_, err := m.send(ctx, m.victim(), letters, letterFrame(l))
	return ignore(err)
}

// endlessFrames announces the longest frame there may be, and lets it trickle.
func endlessFrames(ctx context.Context, m *Member, _ *Orders) error {
	zeros := make([]byte, 1<<20)
	head := binary.AppendUvarint(nil, 4<<20)
	_, err := m.send(ctx, m.victim(), protocols[1+m.chance(3)], head, zeros, zeros, zeros)
	return ignore(err)
}

// hold opens streams that begin and stay, as many as go before half of the time is over.
func (m *Member) hold(ctx context.Context, to honest, number int, protocol func(i int) protocol.ID, begin func(s network.Stream)) error {
	opening, cancel := context.WithTimeout(ctx, waitTime/2)
	defer cancel()
	var open []network.Stream
	defer func() {
		for _, s := range open {
			_ = s.Reset()
		}
	}()
	for i := 0; i < number && opening.Err() == nil; i++ {
		s, err := m.stream(opening, to, protocol(i))
		if err != nil {
			if len(open) == 0 {
				return err
			}
			break
		}
		open = append(open, s)
		_ = s.SetDeadline(time.Now().Add(50 * time.Millisecond))
		begin(s)
	}
	return rest(ctx, waitTime/4)
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// manyStreams opens many more streams of all protocols than anybody needs.
func manyStreams(ctx context.Context, m *Member, _ *Orders) error {
	each := func(i int) protocol.ID { return protocols[i%len(protocols)] }
	return m.hold(ctx, m.victim(), 1200, each, func(s network.Stream) { _, _ = s.Write([]byte{5}) })
}

// slowBodies begins 400 requests with a body that never ends, after as much of it as goes through.
func slowBodies(ctx context.Context, m *Member, _ *Orders) error {
	to, body := m.victim(), make([]byte, 256<<10)
	return m.hold(ctx, to, 400, func(int) protocol.ID { return requests }, func(s network.Stream) {
		_, err := fmt.Fprintf(s, "POST /images HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Via: %s\r\nSkerry-Operation: %s\r\nSkerry-Placement: %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", m.id, uuid.Must(uuid.NewV7()), to.id, 64<<20)
		for n := 0; err == nil && n < 4; n++ {
			_, err = s.Write(body)
		}
	})
}
