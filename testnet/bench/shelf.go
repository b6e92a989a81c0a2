package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/storage"
)

// thing is a kind whose identifiers clients choose.
var thing = &engine.Kind{Service: "things", Name: "thing", Collection: "/things", Item: "/things/{id}",
	ID: engine.IDRule{From: engine.IDFromPath, At: "/id"}}

// shelf is an application that keeps things. It implements engine.Application and engine.Catalog.
type shelf struct {
	silent  bool // answers to what changes something do not show it
	mu      sync.Mutex
	objects map[engine.LocalID][]byte
}

// Do implements engine.Application.
func (a *shelf) Do(_ context.Context, c engine.Call) (engine.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := engine.Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
	old, there := a.objects[c.Local]
	switch {
	case c.Method == http.MethodPut:
		if !there {
			r.Status, r.Local = http.StatusCreated, c.Local
		}
		if a.objects[c.Local] = slices.Clone(c.Body); !a.silent {
			r.Body = c.Body
		}
	case !there:
		r.Status = http.StatusNotFound
	case c.Method == http.MethodGet:
		r.Body = old
	case c.Method == http.MethodDelete:
		delete(a.objects, c.Local)
		r.Status = http.StatusNoContent
	default:
		r.Status = http.StatusMethodNotAllowed
	}
	return r, nil
}

func (a *shelf) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.objects)
}

// shows is what the application has of a thing.
func (a *shelf) shows(id engine.LocalID) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return string(a.objects[id])
}

// Present implements engine.Application.
func (a *shelf) Present(_ context.Context, _ *engine.Kind, r engine.Reply) (engine.Reply, error) {
	return r, nil
}

// Find implements engine.Application.
func (a *shelf) Find(context.Context, *engine.Kind, string) ([]engine.Reply, error) {
	return nil, engine.ErrUntellable
}

// Items implements engine.Application.
func (a *shelf) Items(*engine.Kind, []byte) ([][]byte, error) { return nil, nil }

// Classify implements engine.Catalog.
func (a *shelf) Classify(_ engine.ServiceName, method, path string, _ map[string]string) (engine.KindName, engine.Type, bool) {
	types := map[string]engine.Type{http.MethodPut: engine.TypeReplace, http.MethodDelete: engine.TypeDelete}
	t, ok := types[method]
	return thing.Name, t, ok && strings.HasPrefix(path, thing.Collection+"/")
}

// counted is a store that counts commits, and the rows of resources and operations that they write.
type counted struct {
	*storage.Store
	commits, rows atomic.Int64
}

func (s *counted) Commit(ctx context.Context, b *engine.Batch) error {
	s.commits.Add(1)
	s.rows.Add(int64(len(b.Records) + len(b.Operations)))
	return s.Store.Commit(ctx, b)
}
