package main

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/skerry/skerry/engine"
)

// wire is the network of one site of a party: letters arrive at once, as long as the other site is in reach. It implements
// engine.Network.
type wire struct {
	from    engine.SiteID
	party   *party
	letters sync.WaitGroup
	status  atomic.Pointer[map[engine.SiteID]engine.SiteStatus]
}

// reach says which sites this one reaches.
func (w *wire) reach(others ...*guest) {
	status := map[engine.SiteID]engine.SiteStatus{}
	for _, g := range others {
		if g.self != w.from {
			status[g.self] = engine.SiteStatus{Reachable: true}
		}
	}
	w.status.Store(&status)
}

// Send implements engine.Network.
func (w *wire) Send(to []engine.SiteID, l *engine.Letter) {
	for _, id := range to {
		if w.Status()[id].Reachable {
			w.letters.Go(func() {
				_ = w.party.by[id].Site.Receive(context.Background(), w.from, l) // what does not come so comes with a comparison
			})
		}
	}
}

// Status implements engine.Network.
func (w *wire) Status() map[engine.SiteID]engine.SiteStatus { return *w.status.Load() }

// Fetch implements engine.Network. No body is large.
func (w *wire) Fetch(context.Context, engine.SiteID, engine.DocumentID, engine.BlobRef, engine.Incoming) error {
	return engine.ErrNotFound
}

// nowhere is a way to other sites for requests that leads nowhere: each is sent to a site that can run it.
type nowhere struct{}

// Forward implements engine.Forwarder.
func (nowhere) Forward(context.Context, engine.SiteID, engine.Request) (engine.Answer, error) {
	return engine.Answer{}, engine.ErrUnreachable
}
