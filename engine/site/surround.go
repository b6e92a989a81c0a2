package site

import (
	"context"
	"time"

	"github.com/skerry/skerry/engine"
)

// surround makes what goes on beside the loop.
func (s *Site) surround(ctx context.Context) error {
	c := &copier{app: s.cfg.App, others: forwards{s}, name: s.cfg.Members.Name, served: s.Served, timeout: s.cfg.Limits.CallTimeout, maxBlob: s.cfg.Limits.MaxBlob}
	s.around = around{
		want:    func(engine.DocumentID, engine.OperationID, engine.BlobRef, []engine.SiteID) {},
		drop:    func(engine.BlobHash) {},
		changed: func(engine.DocumentID, bool, bool) {},
		whereabouts: func(context.Context, *engine.Kind, string, *engine.Operation, map[engine.ServiceName][]engine.SiteID) []engine.Whereabouts {
			return nil
		},
		awaits:      func(context.Context, *engine.Kind, engine.ResourceID, *engine.Operation) string { return "" },
		copy:        c.copy,
		holds:       c.holds,
		siteChanged: func(engine.SiteID, bool) {},
		run:         func(context.Context) {},
		step:        func(context.Context) bool { return false },
		due:         func() (time.Time, bool) { return time.Time{}, false },
	}
	return nil
}

// forwards hands requests to other sites, once the way to them is attached.
type forwards struct{ s *Site }

func (f forwards) Forward(ctx context.Context, to engine.SiteID, r engine.Request) (engine.Answer, error) {
	return f.s.forwarder.Forward(ctx, to, r)
}
