package site

import (
	"context"
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/beside"
	"github.com/skerry/skerry/engine/replica"
)

// surround makes what goes on beside the loop.
func (s *Site) surround(ctx context.Context) (err error) {
	cfg, limits := &s.cfg, &s.cfg.Limits
	s.beside, err = beside.New(ctx, beside.Config{Self: cfg.Self, Site: s, Network: ways{s}, Store: cfg.Store, Blobs: cfg.Blobs, App: cfg.App,
		Tell: func(id engine.DocumentID, in replica.Input) { s.inbox.put(item{document: id, input: in}) },
		Name: cfg.Members.Name, Log: cfg.Log, Now: cfg.Now, NewID: cfg.NewID, CallTimeout: limits.CallTimeout, LookAfter: limits.LookAfter,
		LookEvery: limits.LookEvery, KeepOperations: limits.KeepOperations, MaxOperations: limits.MaxOperations, MaxBlob: limits.MaxBlob, Bodies: limits.Bodies})
	if err != nil {
		return fmt.Errorf("take up what goes on beside the loop: %w", err)
	}
	s.prints.bodies = s.beside.Bodies
	return nil
}

// ways are those to other sites, once they are attached.
type ways struct{ s *Site }

// Forward implements engine.Forwarder.
func (w ways) Forward(ctx context.Context, to engine.SiteID, r engine.Request) (engine.Answer, error) {
	return w.s.forwarder.Forward(ctx, to, r)
}

// Status implements engine.Network.
func (w ways) Status() map[engine.SiteID]engine.SiteStatus {
	if w.s.network == nil {
		return nil
	}
	return w.s.network.Status()
}

// Fetch implements engine.Network.
func (w ways) Fetch(ctx context.Context, from engine.SiteID, id engine.DocumentID, ref engine.BlobRef, into engine.Incoming) error {
	return w.s.network.Fetch(ctx, from, id, ref, into)
}
