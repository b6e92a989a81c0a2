package members

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// draft is a change on its way to the disk: the state as it will be, and what that brings.
type draft struct {
	*mesh.State
	m   *Members
	now time.Time
	say engine.SiteRecord

	// news has in Own what others have brought only.
	news mesh.News
	// said are the records that this site has just made.
	said   []engine.SignedRecord
	events []engine.Event
	// after is done once it is durable, without a lock.
	after []func()
}

// change lets f draft a change, makes that durable and tells others of what this site has said. After an error of f, or of the disk,
// nothing has happened. ErrCloned: this site says nothing more, and takes nothing in.
func (m *Members) change(ctx context.Context, f func(d *draft) error) error {
	return m.alter(ctx, func(d *draft) error {
		if d.say.Cloned {
			return ErrCloned
		}
		return f(d)
	})
}

// alter is change also for a site that has found its copy.
func (m *Members) alter(ctx context.Context, f func(d *draft) error) error {
	d, err := m.durable(ctx, f)
	if err != nil {
		return err
	}
	for _, then := range d.after {
		then()
	}
	if len(d.said) > 0 {
		m.send(d.said, nil)
	}
	if m.cfg.Changed != nil && (len(d.news.Records) > 0 || len(d.events) > 0) {
		m.cfg.Changed(d.news)
	}
	return nil
}

// durable is change as far as its locks are held.
func (m *Members) durable(ctx context.Context, f func(d *draft) error) (*draft, error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	m.mu.Lock()
	d := &draft{State: m.state.Clone(), m: m, now: m.cfg.Now(), say: m.say}
	m.mu.Unlock()
	if err := f(d); err != nil {
		return nil, err
	}
	if len(d.news.Records) > 0 || len(d.events) > 0 {
		// It is not given up half way because a client has gone.
		b := &engine.Batch{Mesh: d.news.Records, MeshDropped: d.news.Dropped, Events: d.events}
		if err := m.cfg.Store.Commit(context.WithoutCancel(ctx), b); err != nil {
			return nil, fmt.Errorf("keep records of the mesh: %w", err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state, m.say = d.State, d.say
	return d, nil
}

// own makes what this site says.
func (d *draft) own() mesh.Author { return d.By(d.Self()) }

// hear takes in verified records of whoever has signed them; after an error, those with which nothing is wrong.
func (d *draft) hear(records []engine.SignedRecord) error {
	news, err := d.Take(records...)
	d.add(news)
	for _, id := range news.Overreach {
		d.after = append(d.after, func() {
			d.m.cfg.Log.Warn("a member says what only authorities of the mesh may; it does not count", "peer", id, "site", nameOf(d.State, id))
		})
	}
	return err
}

// put signs records of this site and takes them in.
func (d *draft) put(records ...engine.MeshRecord) error {
	for _, r := range records {
		b := engine.Encode(r)
		raw := engine.SignedRecord{Author: d.Self(), Record: b, Signature: d.m.cfg.Documents.Sign(mesh.Message(b))}
		news, err := d.Take(raw)
		if err == nil && len(news.Records) == 0 {
			err = errors.New("what another one has said of that has a higher number than any")
		}
		if err != nil {
			return fmt.Errorf("say something of kind %s: %w", r.Key.Kind, err)
		}
		news.Own = nil
		d.add(news)
		d.said = append(d.said, raw)
	}
	return nil
}

func (d *draft) add(news mesh.News) {
	d.news.Records = append(d.news.Records, news.Records...)
	d.news.Dropped = append(d.news.Dropped, news.Dropped...)
	d.news.Joined = append(d.news.Joined, news.Joined...)
	d.news.Removed = append(d.news.Removed, news.Removed...)
	d.news.Revoked = append(d.news.Revoked, news.Revoked...)
	d.news.Told = append(d.news.Told, news.Told...)
	d.news.Own = append(d.news.Own, news.Own...)
	d.news.Rules = d.news.Rules || news.Rules
}

// event adds an entry about a site to the event log, with something that is to be known beside its name.
func (d *draft) event(kind string, about engine.SiteID, key string, value any) {
	name := nameOf(d.State, about)
	data, err := json.Marshal(map[string]any{"site": name, key: value})
	if err != nil {
		panic(fmt.Sprintf("encode an event: %v", err)) // its values are words
	}
	d.events = append(d.events, engine.Event{Type: kind, Subject: string(name), Time: d.now, Data: data})
}

// send sends records to the members that are not among some that have them. Who gets them passes them on to others: to those
// that cannot be reached from here.
func (m *Members) send(records []engine.SignedRecord, have []engine.SiteID) {
	m.mu.Lock()
	network, members := m.network, m.state.Members()
	m.mu.Unlock()
	if network == nil {
		return
	}
	status := network.Status()
	var to, sent []engine.SiteID
	for _, other := range members {
		switch {
		case other.ID == m.cfg.Self:
		case slices.Contains(have, other.ID):
			sent = append(sent, other.ID)
		default:
			to = append(to, other.ID)
			if status[other.ID].Reachable {
				sent = append(sent, other.ID)
			}
		}
	}
	if len(to) > 0 {
		network.Send(to, &engine.Letter{Records: records, Sent: sent})
	}
}
