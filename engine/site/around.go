package site

import (
	"context"
	"time"

	"github.com/skerry/skerry/engine"
)

// around is what goes on beside the loop, at its own pace: bodies are fetched, content is copied, relations and containers are looked
// after. The loop tells what concerns them, and they hand inputs to replicas.
type around struct {
	// want has a body fetched that an operation of a document needs, from some sites, nearest first; drop lets go of one.
	want func(id engine.DocumentID, operation engine.OperationID, ref engine.BlobRef, from []engine.SiteID)
	drop func(h engine.BlobHash)
	// kept tells what is stored of a resource now, and what was; contents, that what lies inside it may be something else.
	kept     func(before, now *engine.ResourceRow)
	contents func(id engine.DocumentID)
	// whereabouts and awaits answer replicas: see replica.Env.
	whereabouts func(ctx context.Context, k *engine.Kind, within string, o *engine.Operation, bound map[engine.ServiceName][]engine.SiteID) []engine.Whereabouts
	awaits      func(ctx context.Context, k *engine.Kind, key engine.ResourceID, o *engine.Operation) string
	// copy and holds carry out calls about content: see replica.CallKind.
	copy  func(ctx context.Context, k *engine.Kind, key engine.ResourceID, local engine.LocalID, from []engine.SiteID) (engine.Vector, error)
	holds func(ctx context.Context, k *engine.Kind, local engine.LocalID, part engine.Content, want engine.BlobRef) (bool, error)

	siteChanged func(id engine.SiteID, up bool)
	// run drives all of it until ctx ends; step and due do so for simulations.
	run  func(ctx context.Context)
	step func(ctx context.Context) bool
	due  func() (time.Time, bool)
}
