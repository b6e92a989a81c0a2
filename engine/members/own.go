package members

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
	"github.com/skerry/skerry/engine/vivaldi"
)

// Found makes a new mesh, whose first site and authority this is, and says there what the site is.
func (m *Members) Found(ctx context.Context, record engine.SiteRecord) error {
	err := m.change(ctx, func(d *draft) error {
		if id := d.ID(); id != "" {
			return fmt.Errorf("this site belongs to mesh %s", id)
		}
		if err := d.put(d.own().Found(m.cfg.NewID(), d.now)); err != nil {
			return err
		}
		d.sayOf(record)
		return d.announce()
	})
	if err != nil {
		return fmt.Errorf("found a mesh: %w", err)
	}
	return nil
}

// Announce tells what this site's configuration and catalog say of it, if that is not what it has told: Name, Addresses,
// Services, Application, Catalog, Version and ApplicationVersion. The rest of its record follows from what it does.
func (m *Members) Announce(ctx context.Context, record engine.SiteRecord) error {
	return m.changeOwn(ctx, func(d *draft) { d.sayOf(record) })
}

func (d *draft) sayOf(r engine.SiteRecord) {
	d.say.Name, d.say.Addresses, d.say.Services, d.say.Application = r.Name, r.Addresses, r.Services, r.Application
	d.say.Catalog, d.say.Version, d.say.ApplicationVersion = r.Catalog, r.Version, r.ApplicationVersion
}

// SetKinds tells which rules this site has, all of them.
func (m *Members) SetKinds(ctx context.Context, kinds []*engine.Kind) error {
	rules := make(map[string]string, len(kinds))
	for _, k := range kinds {
		digest, err := mesh.Digest(k)
		if err != nil {
			return err
		}
		rules[mesh.RuleName(k.Service, k.Name)] = digest
	}
	return m.changeOwn(ctx, func(d *draft) { d.say.Rules = rules })
}

// Bulletin is what this site has told last of its state; nil: nothing.
func (m *Members) Bulletin() *engine.Bulletin {
	return look(m, func(s *mesh.State) *engine.Bulletin { return s.Bulletin(m.cfg.Self) })
}

// Publish tells all members how this site is. Whoever calls it keeps to the pace of Bulletin.Every.
func (m *Members) Publish(ctx context.Context, b engine.Bulletin) error {
	return m.change(ctx, func(d *draft) error {
		if !d.WasAdmitted(d.Self()) {
			return nil
		}
		r, err := d.own().Publish(b)
		if err != nil {
			return err
		}
		return d.put(r)
	})
}

// maxWhy is how much is told of why a service does not let the agent in.
const maxWhy = 1000

// SetQueues tells which services of this site's application do not let its agent in: those that are paused. One that merely
// fails is told to nobody: it may do so every few seconds for years.
func (m *Members) SetQueues(ctx context.Context, queues map[engine.ServiceName]engine.QueueStatus) error {
	return m.changeOwn(ctx, func(d *draft) {
		told := map[engine.ServiceName]engine.QueueStatus{}
		for name, q := range queues {
			if q.State != engine.QueuePaused {
				continue
			}
			if was, known := d.say.Queues[name]; known { // it has been tried since, and that is news to nobody
				told[name] = was
				continue
			}
			why := strings.ToValidUTF8(q.Reason[:min(len(q.Reason), maxWhy)], "")
			told[name] = engine.QueueStatus{State: q.State, Since: q.Since, Reason: why}
		}
		if d.say.Queues = nil; len(told) > 0 {
			d.say.Queues = told
		}
	})
}

// Moved tells where this site is among the others.
func (m *Members) Moved(ctx context.Context, at vivaldi.Coordinate) error {
	return m.changeOwn(ctx, func(d *draft) { d.say.Coordinate = &at })
}

// Coordinate is where this site last said that it is; the zero value when it has not.
func (m *Members) Coordinate() vivaldi.Coordinate {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.say.Coordinate == nil {
		return vivaldi.Coordinate{}
	}
	return *m.say.Coordinate
}

// changeOwn lets f change what this run says of the site.
func (m *Members) changeOwn(ctx context.Context, f func(d *draft)) error {
	return m.change(ctx, func(d *draft) error {
		f(d)
		return d.announce()
	})
}

// announce says what this run has to say of the site, where that is not what counts. Before it has a name, it keeps it
// for when it has.
func (d *draft) announce() error {
	if d.say.Name == "" {
		return nil
	}
	if d.IsAuthority(d.Self()) && !d.Certified(d.Self()) { // it has founded the mesh
		r, err := d.own().Certify(d.Self(), d.say.Name, time.Time{}, d.now)
		if err == nil {
			err = d.put(r)
		}
		if err != nil {
			return fmt.Errorf("certify this site: %w", err)
		}
	}
	record, changed, err := d.own().Announce(d.say, d.now)
	if err != nil || !changed {
		return err
	}
	return d.put(record)
}
