package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// containerOf returns the cross resource that a request lies in, when this site holds a part of it.
func (s *Site) containerOf(ctx context.Context, k *Kind, within string) (ResourceRow, bool, error) {
	c := s.known.Load().by[kindKey{k.Service, k.Within}]
	if c == nil || within == "" {
		return ResourceRow{}, false, nil
	}
	row, err := s.Lookup(ctx, c, c.FromContainer(within))
	if errors.Is(err, ErrNotFound) {
		return row, false, nil
	}
	if err != nil {
		return row, false, fmt.Errorf("look for container %s: %w", within, err)
	}
	return row, row.Collaboration == Cross && row.Sites[s.cfg.Self].Part > 0, nil
}

// contained lists the kinds of what lies in containers of a kind.
func (s *Site) contained(k *Kind) []*Kind {
	var kinds []*Kind
	for _, other := range s.known.Load().all {
		if other.Service == k.Service && other.Within == k.Name {
			kinds = append(kinds, other)
		}
	}
	return kinds
}

// Contents returns what the parts of a container are known here to hold, of one kind, oldest first. ErrNotFound: the document is
// not here.
func (s *Site) Contents(ctx context.Context, id DocumentID, kind KindName) ([]Contained, error) {
	_, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return nil, fmt.Errorf("contents of a container: %w", err)
	}
	return v.inside(kind), nil
}

// claimInside takes a name inside a container for a request that creates something, unless it is given already, as far as this site
// knows. Release gives it back once the request is over. Key is the resource that is created, empty for what is not replicated.
func (s *Site) claimInside(ctx context.Context, container ResourceRow, k *Kind, name string, key ResourceID) (release func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	taken := func(site SiteID) error {
		return &Refusal{Status: http.StatusConflict, Type: "name-taken", Detail: fmt.Sprintf(
			"%s %q exists already in %s %s, at %s; nothing has happened", k.Name, name, container.Kind, container.ID, s.name(site))}
	}
	claimed := string(container.Document) + "\x00" + string(k.Name) + "\x00" + name
	if _, busy := s.claims.LoadOrStore(claimed, true); busy {
		return nil, taken(s.cfg.Self)
	}
	release = func() { s.claims.Delete(claimed) }
	all, err := s.Contents(ctx, container.Document, k.Name)
	if err != nil {
		release()
		return nil, err
	}
	for _, i := range all {
		// An application that gives identifiers only once says so itself.
		if i.Name == name && !i.Own && (key == "" || i.Resource != key) && (i.Site != s.cfg.Self || k.Unique != "") {
			release()
			return nil, taken(i.Site)
		}
	}
	return release, nil
}

// claimedName returns the name that a request wants to give inside a container, empty for one that creates nothing.
func (s *Site) claimedName(r Request) string {
	if !r.creates() {
		return ""
	}
	_, own := r.Kind.Split(r.Target)
	return r.Kind.NameIn(r.Body, own)
}

// runInside runs a request for something that lies in this site's part of a container, and tells the other parts of it.
func (s *Site) runInside(ctx context.Context, r Request, container ResourceRow, k keeper) (Answer, error) {
	c := s.crossingOf(r, k)
	c.Plain, c.Inside = true, container.Document
	if err := s.settleSame(ctx, r.Kind, c); err != nil {
		return Answer{}, err
	}
	_, own := r.Kind.Split(r.Target)
	name := s.claimedName(r)
	if name != "" && own != "" { // a PUT of what is there creates nothing
		all, err := s.Contents(ctx, container.Document, r.Kind.Name)
		if err != nil {
			return Answer{}, err
		}
		if slices.ContainsFunc(all, func(i Contained) bool { return i.Site == s.cfg.Self && i.Local == own }) {
			name = ""
		}
	}
	release, err := s.claimInside(ctx, container, r.Kind, name, "")
	if err != nil {
		return Answer{}, err
	}
	defer release()
	return s.cross(ctx, nil, r.Kind, c, Fold{}, s.addressed(ctx, r.Kind, r.Target, r.Within))
}

// createInside is create, for what may lie in a container that is spread over sites.
func (s *Site) createInside(ctx context.Context, r Request, k keeper) (Answer, error) {
	container, inside, err := s.containerOf(ctx, r.Kind, r.Within)
	if err != nil || !inside {
		if err != nil {
			return Answer{}, err
		}
		return s.create(ctx, r, k)
	}
	key := ResourceID(r.Target)
	if key == "" && r.Kind.Natural() {
		key = ResourceID(r.Kind.inside(r.Within, ChosenID(r.Kind, r.Body)))
	}
	release, err := s.claimInside(ctx, container, r.Kind, s.claimedName(r), key)
	if err != nil {
		return Answer{}, err
	}
	defer release()
	a, err := s.create(ctx, r, k)
	if err == nil && a.Resource != "" {
		err = s.tellReplica(ctx, container.Document, r.Kind, a.Resource, a.Body)
	}
	return a, err
}

// tellLater has the container of a resource looked into, where it is spread over sites.
func (s *Site) tellLater(ctx context.Context, v *view) {
	within, _ := v.kind.Split(string(v.about.Key))
	if container, inside, err := s.containerOf(ctx, v.kind, within); inside && err == nil {
		s.queue.add(job{contents: container.Document}, 0)
	}
}

// tellReplica tells the other parts of a container that this site's one holds a replica of a resource.
func (s *Site) tellReplica(ctx context.Context, container DocumentID, k *Kind, key ResourceID, representation []byte) error {
	_, own := k.Split(string(key))
	row, err := s.cfg.Store.ResourceByID(ctx, k.Service, k.Name, key)
	if err != nil {
		return fmt.Errorf("tell of %s: %w", key, err)
	}
	r, v, unlock, err := s.locked(ctx, container)
	defer unlock()
	if err != nil {
		return err
	}
	if row.Local != "" {
		_, own = k.Split(string(row.Local))
	}
	now, ok := v.contentOf(k, own, representation, s.cfg.Now())
	if !ok {
		return nil
	}
	now.Resource = key
	entries := v.contentNews(now, false)
	if len(entries) == 0 {
		return nil
	}
	return s.write(ctx, r, entries, &Batch{})
}

// publishInside makes durable, together with done, what a request has made of something inside a container.
func (s *Site) publishInside(ctx context.Context, k *Kind, c *crossing, reply Reply, done *Batch) error {
	local := string(s.here(ctx, k, c.Target))
	if reply.Local != "" {
		local = string(reply.Local)
	}
	_, own := k.Split(local)
	r, v, unlock, err := s.locked(ctx, c.Inside)
	defer unlock()
	if errors.Is(err, ErrNotFound) {
		return s.commit(ctx, done)
	}
	if err != nil {
		return err
	}
	var entries []Entry
	now, ok := v.contentOf(k, own, reply.Body, s.cfg.Now())
	switch {
	case c.Operation.Type == TypeDelete && own != "":
		entries = v.contentGone(k.Name, own)
	case ok && (c.Operation.Type == TypeCreate || now.Digest != "" && shows(k, reply.Body, own)):
		entries = v.contentNews(now, false)
	default:
		s.queue.add(job{contents: c.Inside}, 0)
	}
	if len(entries) == 0 {
		return s.commit(ctx, done)
	}
	return s.write(ctx, r, entries, done)
}

// shows reports whether a representation is that of what an identifier names.
func shows(k *Kind, representation []byte, id string) bool {
	tree, err := parseJSON(representation)
	if err != nil {
		return false
	}
	shown, ok := idAt(tree, k.ID.At)
	return ok && shown == id
}

// contentNews is this site's entry of a thing that it holds, none where all of it is known, or where this site has been removed
// meanwhile: it may have left. Own says that no request made it that came through the agent.
func (v *view) contentNews(now Inner, own bool) []Entry {
	if !v.holds(v.self) {
		return nil
	}
	key := contentKey(v.self, now.Kind, now.Local)
	old, known := v.contents[key]
	if known = known && !old.Gone; known {
		now.At, own = old.At, old.Own && own
		if now.Resource == "" {
			now.Resource = old.Resource
		}
	} else if v.holdsContents() >= maxContents {
		return nil
	}
	if now.Own = own; known && now.same(old) {
		return nil
	}
	return []Entry{{Map: MapContents, Key: key, Value: compactStruct(now)}}
}

func (c Inner) same(d Inner) bool {
	return c.Name == d.Name && c.Resource == d.Resource && c.Digest == d.Digest && c.Own == d.Own && (c.Summary == nil) == (d.Summary == nil)
}

func (v *view) contentGone(kind KindName, local string) []Entry {
	key := contentKey(v.self, kind, local)
	old, known := v.contents[key]
	if !known || old.Gone || !v.holds(v.self) {
		return nil
	}
	return []Entry{{Map: MapContents, Key: key, Value: compactStruct(Inner{Kind: kind, Local: local, At: old.At, Gone: true})}}
}

// holdsContents counts what this site tells of.
func (v *view) holdsContents() int {
	n := 0
	for _, i := range v.inside("") {
		if i.Site == v.self {
			n++
		}
	}
	return n
}

// ContentsChanged is to be called when a request that changes something inside a container has passed through this site.
func (s *Site) ContentsChanged(container DocumentID) { s.queue.add(job{contents: container}, 0) }

// tellContents compares what the application lists inside this site's part of a container with what this site has told of it.
func (s *Site) tellContents(ctx context.Context, id DocumentID) error {
	r := s.registry.acquire(id)
	defer s.registry.release(r)
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	kind, local, holds := v.kind, v.local(), v.holds(s.cfg.Self) && v.history.spread != nil
	unlock()
	if !holds || local == "" || s.cfg.Items == nil {
		return nil
	}
	within := kind.AsContainer(string(local))
	for _, k := range s.contained(kind) {
		bounded, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
		reply, err := s.cfg.App.Do(bounded, Call{Kind: k, Method: http.MethodGet, Path: k.Collection, Local: LocalID(Inside(within, "")),
			Header: map[string]string{"Accept": "application/json"}})
		cancel()
		if err != nil || reply.Status != http.StatusOK {
			continue // the next look tells
		}
		items, err := s.cfg.Items(k, reply.Body)
		if err != nil {
			continue
		}
		if err := s.compareContents(ctx, r, k, within, items); err != nil {
			return err
		}
	}
	return nil
}

// compareContents writes what is new in a list, and what is gone from it.
func (s *Site) compareContents(ctx context.Context, r *resource, k *Kind, within string, items [][]byte) error {
	seen := map[string]Inner{}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	for _, item := range items {
		now, ok := v.contentOf(k, "", item, s.cfg.Now())
		if !ok {
			continue
		}
		if meta, replicated := s.Meta(ctx, k.Service, k.Name, LocalID(Inside(within, now.Local))); replicated {
			now.Resource = meta
		}
		seen[now.Local] = now
	}
	var entries []Entry
	for _, now := range seen {
		entries = append(entries, v.contentNews(now, now.Resource == "")...)
	}
	for _, i := range v.inside(k.Name) {
		if _, there := seen[i.Local]; i.Site == s.cfg.Self && !there {
			entries = append(entries, v.contentGone(k.Name, i.Local)...)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return s.write(ctx, r, entries, &Batch{})
}
