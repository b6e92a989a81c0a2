package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// "A ^ B" puts what clients give a name at exactly one of its sites. Its candidates share a small document for each name, of
// collaboration ExactlyOne, in which each of them says what it holds under the name. Nothing else is replicated: the object is
// its site's, and requests for it are forwarded there.

// ExactlyOne is the collaboration of documents that say who holds a name.
const ExactlyOne = "exactly-one"

// Holding is what one site holds under a name. It is the site's entry in the document of the name.
type Holding struct {
	Operation OperationID `json:"operation"` // that created it
	Local     LocalID     `json:"local_id"`
	User      string      `json:"user,omitempty"`
	// At is when it was created, in Unix microseconds, and later than all its site knew to hold the name.
	At int64 `json:"at"`
	// Gone says that it was deleted since.
	Gone bool `json:"gone,omitempty"`
}

// Choice is the index entry of a name: who holds it, as far as is known here.
type Choice struct {
	Document DocumentID
	Service  ServiceName
	Kind     KindName
	ID       ResourceID
	Holders  map[SiteID]Holding // those that are gone left out
}

// owner returns the site that the name belongs to: of those that hold it the one that has held it longest. Empty: none.
func owner(holders map[SiteID]Holding) SiteID {
	var first SiteID
	for site, h := range holders {
		if first == "" || cmp.Or(cmp.Compare(h.At, holders[first].At), cmp.Compare(site, first)) < 0 {
			first = site
		}
	}
	return first
}

// holders returns who holds a name, whichever candidates it was to choose from.
func (s *Site) holders(ctx context.Context, k *Kind, id ResourceID) (map[SiteID]Holding, error) {
	rows, err := s.cfg.Store.Choices(ctx, k.Service, k.Name, id)
	if err != nil {
		return nil, fmt.Errorf("look up who holds %s: %w", id, err)
	}
	all := map[SiteID]Holding{}
	for _, row := range rows {
		for site, h := range row.Holders {
			if old, known := all[site]; !known || h.At < old.At {
				all[site] = h
			}
		}
	}
	return all, nil
}

// Chosen returns the site at which what a name stands for is, under "^", empty when none is known here; and whether this site
// holds something under it, though the name may be another's.
func (s *Site) Chosen(ctx context.Context, k *Kind, id string) (at SiteID, here bool, err error) {
	if !k.Natural() || id == "" {
		return "", false, nil
	}
	holders, err := s.holders(ctx, k, ResourceID(id))
	_, here = holders[s.cfg.Self]
	return owner(holders), here, err
}

// exactlyOne runs a request of a scope with "^".
func (s *Site) exactlyOne(ctx context.Context, r Request, k keeper) (Answer, error) {
	if a, ok, err := s.withContainer(ctx, r, k); ok || err != nil {
		return a, err
	}
	name := r.Target
	if name == "" {
		name = r.Kind.inside(r.Within, ChosenID(r.Kind, r.Body))
	}
	switch {
	case !r.Kind.Natural():
		return Answer{}, &Refusal{Status: http.StatusUnprocessableEntity, Type: "scope-type", Detail: fmt.Sprintf(
			"\"^\" is for kinds whose names clients choose: the application names each %s itself\nhelp: name one site in the scope", r.Kind.Name)}
	case name == "":
		return Answer{}, &Refusal{Status: http.StatusUnprocessableEntity, Type: "scope-type", Detail: fmt.Sprintf(
			"the request gives the new %s no name at %s, which \"^\" goes by", r.Kind.Name, r.Kind.ID.At)}
	case !slices.Contains(r.Placement, s.cfg.Self) && len(r.Via) > 0:
		return Answer{}, notHere(s.name(s.cfg.Self), r)
	case !slices.Contains(r.Placement, s.cfg.Self):
		return s.passOn(ctx, r, r.Placement, k)
	}
	holders, err := s.holders(ctx, r.Kind, ResourceID(name))
	if err != nil {
		return Answer{}, err
	}
	at := owner(holders)
	makes := r.Type == TypeCreate || r.Method == http.MethodPut && r.Path == r.Kind.Item
	switch {
	case at == "" && makes:
		return s.createAtOne(ctx, r, k, ResourceID(name))
	case at == "" || at == s.cfg.Self && r.Type != TypeCreate:
		return s.alone(ctx, r, k)
	case at == s.cfg.Self:
		reply, err := s.read(ctx, r.Kind, s.here(ctx, r.Kind, name))
		if err == nil && (reply.Status == http.StatusNotFound || reply.Status == http.StatusGone) { // deleted behind the agent
			return s.createAtOne(ctx, r, k, ResourceID(name))
		}
	case r.Type != TypeCreate && len(r.Via) == 0:
		return s.passOn(ctx, r, []SiteID{at}, k)
	case r.Type != TypeCreate:
		return Answer{}, notHere(s.name(s.cfg.Self), r) // whoever has passed it on asks the others
	}
	return Answer{}, &Refusal{Status: http.StatusConflict, Type: "name-taken", Detail: fmt.Sprintf(
		"%s %q exists at %s, as one of %s; nothing has happened", r.Kind.Name, name, s.name(at), s.names(r.Placement))}
}

// createAtOne creates what is to be at one site only here.
func (s *Site) createAtOne(ctx context.Context, r Request, k keeper, name ResourceID) (Answer, error) {
	if err := s.takeLarge(ctx, r); err != nil {
		return Answer{}, err
	}
	placement := slices.Clone(r.Placement)
	slices.Sort(placement)
	c := s.crossingOf(r, k)
	c.Plain = true
	c.Choice = &About{Schema: SchemaChoice, Service: r.Kind.Service, Kind: r.Kind.Name, Collaboration: ExactlyOne, Key: name, Placement: placement}
	_, id, err := s.cfg.Documents.Encode(*c.Choice)
	if err != nil {
		return Answer{}, fmt.Errorf("make the document of the name %s: %w", name, err)
	}
	res := s.registry.acquire(id) // two requests for one name run after each other
	defer s.registry.release(res)
	if err := res.take(ctx); err != nil {
		return Answer{}, fmt.Errorf("wait for other requests on %s: %w", name, err)
	}
	defer res.pass()
	container, inside, err := s.containerOf(ctx, r.Kind, r.Within)
	if err != nil {
		return Answer{}, err
	}
	if inside {
		release, err := s.claimInside(ctx, container, r.Kind, s.claimedName(r), "")
		if err != nil {
			return Answer{}, err
		}
		defer release()
		c.Inside = container.Document
	}
	return s.cross(ctx, nil, r.Kind, c, Fold{}, s.addressed(ctx, r.Kind, r.Target, r.Within))
}

// said is what a request that has run here alone makes this site say about names. The mutexes of their documents are held until
// end.
type said struct {
	site      *Site
	resources []*resource
	placement [][]SiteID
	envelopes []Envelope
}

// end lets others at the documents, and tells the other candidates what is stored; what is not has not been said.
func (x *said) end(stored bool) {
	for i, r := range x.resources {
		switch {
		case !stored:
			x.site.cfg.Documents.Forget(r.id)
		case i < len(x.envelopes):
			x.site.network.Publish(x.placement[i], x.envelopes[i])
		}
		r.mu.Unlock()
		x.site.registry.release(r)
	}
}

// say adds to b what a request that has run makes of the names that this site holds. The caller ends what it returns.
func (s *Site) say(ctx context.Context, c *crossing, reply Reply, b *Batch) (*said, error) {
	x, o := &said{site: s}, &c.Operation
	switch {
	case c.Choice != nil:
		local := cmp.Or(reply.Local, s.here(ctx, s.known.Load().by[kindKey{c.Service, c.Kind}], string(c.Choice.Key)))
		raw, id, err := s.cfg.Documents.Encode(*c.Choice)
		if err != nil {
			return x, fmt.Errorf("make the document of the name %s: %w", c.Choice.Key, err)
		}
		return x, x.holds(ctx, id, raw, Holding{Operation: o.ID, Local: local, User: o.User, At: s.cfg.Now().UnixMicro()}, b)
	case o.Type == TypeDelete && c.Target != "":
		rows, err := s.cfg.Store.Choices(ctx, c.Service, c.Kind, ResourceID(c.Target))
		if err != nil {
			return x, fmt.Errorf("look up who holds %s: %w", c.Target, err)
		}
		for _, row := range rows { // in one order, so that two deletions never wait for each other
			if mine, ok := row.Holders[s.cfg.Self]; ok {
				mine.Gone = true
				if err := x.holds(ctx, row.Document, nil, mine, b); err != nil {
					return x, err
				}
			}
		}
	}
	return x, nil
}

// holds adds to b the change that says what this site holds under a name.
func (x *said) holds(ctx context.Context, id DocumentID, raw []byte, h Holding, b *Batch) error {
	s := x.site
	r := s.registry.acquire(id)
	r.mu.Lock()
	x.resources = append(x.resources, r)
	about, raw, entries, err := s.openChoice(ctx, id, raw)
	if err != nil {
		return err
	}
	for _, e := range entries {
		var other Holding
		if json.Unmarshal(e.Value, &other) == nil && !h.Gone && SiteID(e.Key) != s.cfg.Self {
			h.At = max(h.At, other.At+1)
		}
	}
	mine := Entry{Map: MapHoldings, Key: string(s.cfg.Self), Value: compactStruct(h)}
	change, err := s.cfg.Documents.Write(ctx, id, []Entry{mine})
	if err == nil {
		err = s.indexChoice(ctx, id, about, raw, append(entries, mine), b)
	}
	if err != nil {
		return fmt.Errorf("say who holds %s: %w", about.Key, err)
	}
	b.Changes = append(b.Changes, change)
	x.placement = append(x.placement, about.Placement)
	x.envelopes = append(x.envelopes, Envelope{Document: id, About: raw, Changes: []SignedChange{change.SignedChange}})
	return nil
}

// openChoice loads the document of a name, or makes it from raw. The caller holds the mutex of its resource.
func (s *Site) openChoice(ctx context.Context, id DocumentID, raw []byte) (about About, _ []byte, entries []Entry, err error) {
	row, err := s.cfg.Store.Document(ctx, id)
	switch {
	case err == nil:
		raw = row.About
		entries, err = s.cfg.Documents.Entries(ctx, id)
	case errors.Is(err, ErrNotFound) && raw != nil:
		_, err = s.cfg.Documents.Create(id, raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, &about)
	}
	if err == nil && about.Schema != SchemaChoice {
		err = ErrRefused
	}
	if err != nil {
		return about, raw, nil, fmt.Errorf("open document %s: %w", id, err)
	}
	return about, raw, entries, nil
}

// indexChoice adds to b the rows that follow from the entries of a name's document; of one key the last counts.
func (s *Site) indexChoice(ctx context.Context, id DocumentID, about About, raw []byte, entries []Entry, b *Batch) error {
	heads, err := s.cfg.Documents.Heads(ctx, id)
	if err != nil {
		return fmt.Errorf("heads of document %s: %w", id, err)
	}
	row := Choice{Document: id, Service: about.Service, Kind: about.Kind, ID: about.Key, Holders: map[SiteID]Holding{}}
	for _, e := range entries {
		var h Holding
		delete(row.Holders, SiteID(e.Key))
		if err := decodeStrict(e.Value, &h); err != nil {
			s.cfg.Log.Warn("entry left out", "resource", string(about.Key), "peer", e.Key, "err", err)
			continue
		}
		if !h.Gone {
			row.Holders[SiteID(e.Key)] = h
		}
	}
	b.Documents = append(b.Documents, DocumentRow{ID: id, About: raw, Sites: about.Placement, Heads: heads})
	b.Choices = append(b.Choices, row)
	return s.indexConflicts(ctx, id, s.choiceConflicts(row), b)
}

// choiceConflicts are the sites that hold a name which is another's: both sides of a cut have chosen.
func (s *Site) choiceConflicts(row Choice) []Conflict {
	first := owner(row.Holders)
	var list []Conflict
	for _, site := range slices.Sorted(maps.Keys(row.Holders)) {
		h := row.Holders[site]
		if site == first {
			continue
		}
		list = append(list, Conflict{
			ID: conflictID(string(row.Document), string(site), string(h.Operation)), Kind: ConflictName, Document: row.Document, Resource: row.ID,
			Service: row.Service, KindName: row.Kind, Site: site, Operation: h.Operation, Type: TypeCreate, Since: time.UnixMicro(h.At), Actions: []Action{},
			Reason: fmt.Sprintf("%s and %s have both created it while they could not reach each other, and it was to be at one of them: the name is %s's, "+
				"who was first; delete the other, or that one", s.name(first), s.name(site), s.name(first)),
		})
	}
	return list
}

// receiveChoice takes in what another candidate says of a name. Own: there were changes in it that this site has made and did not
// know.
func (s *Site) receiveChoice(ctx context.Context, from SiteID, e Envelope) (own bool, err error) {
	r := s.registry.acquire(e.Document)
	defer s.registry.release(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	about, raw, _, err := s.openChoice(ctx, e.Document, e.About)
	if err != nil {
		return false, fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
	}
	if !slices.Contains(about.Placement, s.cfg.Self) || !slices.Contains(about.Placement, from) || s.known.Load().by[kindKey{about.Service, about.Kind}] == nil {
		s.cfg.Documents.Forget(e.Document)
		return false, fmt.Errorf("receive document %s from %s: %w: this site or that one has no part in it", e.Document, from, ErrRefused)
	}
	writes := func(id SiteID) bool { return slices.Contains(about.Placement, id) }
	rows, _, mergeErr := s.cfg.Documents.Merge(ctx, e.Document, e.Changes, writes)
	if len(rows) == 0 {
		s.cfg.Documents.Forget(e.Document) // it may have been made just now, and begins with its first stored change
	} else {
		b := &Batch{Changes: rows}
		entries, err := s.cfg.Documents.Entries(ctx, e.Document)
		if err == nil {
			err = s.indexChoice(ctx, e.Document, about, raw, entries, b)
		}
		if err == nil {
			err = s.commit(ctx, b)
		}
		if err != nil {
			s.cfg.Documents.Forget(e.Document)
			return false, fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
		}
	}
	own = slices.ContainsFunc(rows, func(c ChangeRow) bool { return c.Author == s.cfg.Self })
	if mergeErr != nil {
		return own, fmt.Errorf("receive document %s from %s: %w", e.Document, from, mergeErr)
	}
	return own, nil
}
