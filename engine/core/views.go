package core

import (
	"context"
	"encoding/json"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/desk"
	"github.com/skerry/skerry/engine/front"
)

// Operator is what people ask of the site.
type Operator struct {
	*desk.Desk
	queues
	names
	front.Rejections
}

type queues interface {
	Queues() map[engine.ServiceName]engine.QueueStatus
	ResumeQueue(service engine.ServiceName) error
	Shared() map[engine.SiteID]engine.Shared
}

type names interface {
	AdoptExisting(ctx context.Context, q engine.AdoptRequest) (engine.ResourceID, engine.OperationID, error)
	Chosen(ctx context.Context, k *engine.Kind, id string) (at engine.SiteID, here bool, err error)
}

// Operator returns what people ask of the site.
func (c *Core) Operator() *Operator {
	return &Operator{c.Desk, c.Site, c.Front, front.Rejections{Front: c.Front}}
}

// Traffic is what requests of clients and of other agents ask of the site.
type Traffic struct {
	requests
	resources
	places
	shown
}

type requests interface {
	Submit(ctx context.Context, r engine.Request) (engine.Answer, error)
	Chosen(ctx context.Context, k *engine.Kind, id string) (at engine.SiteID, here bool, err error)
	Relying(ctx context.Context, k *engine.Kind, id string, limit int) ([]engine.ResourceRow, error)
	Holding(ctx context.Context, k *engine.Kind, id string, limit int) ([]engine.ResourceRow, error)
	Contents(ctx context.Context, id engine.DocumentID, kind engine.KindName) ([]engine.Contained, error)
	ContentsChanged(id engine.DocumentID)
}

type resources interface {
	Replicates(k *engine.Kind) bool
	Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error)
	Known(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error)
	Making(ctx context.Context, id engine.DocumentID) (made bool)
	Reached(ctx context.Context, a engine.After) error
}

type places interface {
	Zones() []engine.Zone
	Distances() func(a, b engine.SiteID) (time.Duration, bool)
}

type shown interface {
	LastShown(ctx context.Context, id engine.DocumentID) (map[engine.SiteID]json.RawMessage, error)
}

// Traffic returns what requests ask of the site.
func (c *Core) Traffic() *Traffic { return &Traffic{c.Front, c.Site, c.Mesh, c.Desk} }
