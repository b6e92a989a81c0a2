package webtest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/typing"
)

// types types references: flat networks are local to their site. What a site shows it is asked for.
func (s *Site) types() *typing.Checker {
	return &typing.Checker{
		Self: s.self, Resources: s,
		Kind: func(service engine.ServiceName, kind engine.KindName) *engine.Kind {
			for _, k := range s.kinds[service] {
				if k.Name == kind {
					return k
				}
			}
			return nil
		},
		Visibility: func(k *engine.Kind) glue.Visibility {
			if k.Name == "network" {
				return glue.Visibility{Scope: glue.VisibilityLocalWhen, At: "/type", Equals: json.RawMessage(`"flat"`)}
			}
			return glue.Visibility{Scope: glue.VisibilityGlobal}
		},
		Ask: func(_ context.Context, at engine.SiteID, k *engine.Kind, id string, _ http.Header) (typing.Shown, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if at != s.self && !s.status[at].Reachable {
				return typing.Shown{}, errors.New("it cannot be reached")
			}
			if body, ok := s.shown[s.named(at)+"/"+string(k.Service)+"/"+id]; ok {
				return typing.Shown{Status: http.StatusOK, Body: []byte(body)}, nil
			}
			return typing.Shown{Status: http.StatusNotFound}, nil
		},
		Name: func(id engine.SiteID) string {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.named(id)
		},
	}
}

// named is what a site is called. The caller holds s.mu.
func (s *Site) named(id engine.SiteID) string {
	for _, m := range s.members {
		if m.ID == id {
			return string(m.Name)
		}
	}
	return string(id)
}

// Lookup implements typing.Resources.
func (s *Site) Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
	rows, _, err := s.Resources(ctx, engine.ResourceFilter{ID: engine.ResourceID(id), Service: k.Service, Kind: k.Name})
	if err != nil || len(rows) > 0 {
		return append(rows, engine.ResourceRow{})[0], err
	}
	return s.ResourceByLocal(ctx, k.Service, k.Name, engine.LocalID(id))
}
