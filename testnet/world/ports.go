package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/skerry/skerry/engine"
)

// mortal is the disk of a process.
type mortal struct {
	engine.Store
	p *Process
}

// Commit implements engine.Store.
func (m mortal) Commit(ctx context.Context, b *engine.Batch) (err error) {
	s := m.p.site
	if b.Told != nil && !m.p.dead {
		s.w.tell(m.p, b.Told)
		b.Told = nil
	}
	if !m.p.effect(b, func() {
		if s.Full && !b.Settles {
			err = fmt.Errorf("commit: %w", engine.ErrStorage)
			return
		}
		if err = m.Store.Commit(ctx, b); err != nil && !errors.Is(err, engine.ErrStorage) {
			s.w.Problem("%s: %v", s.Name, err)
		}
	}) {
		return errDead
	}
	return err
}

// client is a process's way to its application.
type client struct{ p *Process }

// Do implements engine.Application.
func (c client) Do(ctx context.Context, call engine.Call) (r engine.Reply, err error) {
	s, w := c.p.site, c.p.site.w
	if call.Content != nil {
		body, err := io.ReadAll(call.Content)
		if err != nil {
			return r, err
		}
		call.Body, call.Content = body, nil
	}
	c.takesTime()
	if !c.p.effect(call, func() {
		if s.Instead != nil {
			r, err = s.Instead.Do(ctx, call)
		} else {
			if s.App.Watch != nil {
				s.App.Watch(call)
			}
			r, err = s.App.Serve(call, w.Rng.IntN(1000))
		}
		w.Log.Info("application", "site", s, "method", call.Method, "path", call.Path, "local", string(call.Local),
			"key", call.Key, "body", short(call.Body), "status", r.Status, "answer", short(r.Body), "err", err)
	}) {
		return engine.Reply{}, errDead
	}
	c.takesTime()
	if call.Stream && r.Status == http.StatusOK {
		r.Content, r.Length = io.NopCloser(newReader(r.Body)), int64(len(r.Body))
		r.Body = nil
	}
	return r, err
}

// takesTime lets others go on while a request is on its way.
func (c client) takesTime() {
	if w := c.p.site.w; w.Latency > 0 && w.current != nil && w.Chance(3) {
		w.sleep(1 + w.latency())
	}
}

// short is a body as logs have it.
func short(body []byte) string {
	if len(body) <= 512 {
		return string(body)
	}
	return fmt.Sprintf("%d bytes", len(body))
}

// Present implements engine.Application: it puts the meta-identifier in the place of the application's own.
func (c client) Present(ctx context.Context, k *engine.Kind, r engine.Reply) (engine.Reply, error) {
	if other := c.p.site.Instead; other != nil {
		return other.Present(ctx, k, r)
	}
	if len(r.Body) == 0 || r.Body[0] != '{' || k.Natural() {
		return r, nil
	}
	var o map[string]json.RawMessage
	var id, mark string
	if json.Unmarshal(r.Body, &o) != nil || json.Unmarshal(o["id"], &id) != nil {
		return r, nil
	}
	if k.Marker != "" && json.Unmarshal(o["mark"], &mark) == nil {
		o["mark"] = encode(trimMarker(mark))
		r.Body = encode(o)
	}
	if meta, ok := c.p.Site.Meta(ctx, k.Service, k.Name, engine.LocalID(id)); ok {
		o["id"] = encode(string(meta))
		r.Body = encode(o)
	}
	return r, nil
}

// Find implements engine.Application.
func (c client) Find(ctx context.Context, k *engine.Kind, request string) (found []engine.Reply, err error) {
	if !c.p.effect(nil, func() {
		if other := c.p.site.Instead; other != nil {
			found, err = other.Find(ctx, k, request)
			return
		}
		if c.p.site.App.Mood.Down {
			err = fmt.Errorf("connect: %w", engine.ErrUnreachable)
			return
		}
		found = c.p.site.App.find(k, request)
	}) {
		return nil, errDead
	}
	return found, err
}

// Items implements engine.Application.
func (c client) Items(k *engine.Kind, body []byte) ([][]byte, error) {
	if other := c.p.site.Instead; other != nil {
		return other.Items(k, body)
	}
	return items(body)
}
