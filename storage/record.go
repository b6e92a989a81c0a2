package storage

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// resourceMemory is what the writer remembers of a row of resources: its number, and a digest of each group of its columns.
type resourceMemory struct {
	n      int64
	groups [groupCount]uint64
}

// The groups of columns (statements.go), as they are stored.
type (
	identityColumns struct {
		id, collaboration, past, relations, blobs string
		kind, createdAt                           int64
	}
	placingColumns struct {
		hollow    bool
		placement int64
		local     string
		same      bool // local is the identifier, and stored as null
	}
	standingColumns struct {
		state         string
		open, pending bool
	}
)

// putRecord writes what is new of a record: its row, and the blobs that are given. One statement does it, but for a
// checkpoint, and for a row that is there and was not written lately.
func (w *writer) putRecord(r *engine.Record) error {
	w.room.begin()
	if r.Brief {
		n, err := w.findResource(r.Row.Document)
		if err != nil {
			return err
		}
		return w.exec(putMine, w.room.seal(w.vault, r.Mine, "resources.mine", string(r.Row.Document)), n)
	}
	key, err := keyOf(r.Row.Document)
	if err != nil {
		return err
	}
	w.filter.add(string(key[:]), string(r.Row.ID), string(r.Row.Local))
	sites := sitesOf(r.Row.Sites)
	of, at, is, err := w.groupsOf(r, sites)
	if err != nil {
		return err
	}
	always, err := w.alwaysOf(r, sites)
	if err != nil {
		return err
	}
	named := func(mask int) []driver.Value {
		args := always
		if mask&(1<<identity) != 0 {
			args = append(args, of.id, of.kind, of.collaboration, of.createdAt, of.past, of.relations, of.blobs, r.About)
		}
		if mask&(1<<placing) != 0 {
			local := driver.Value(at.local)
			if at.same {
				local = nil
			}
			args = append(args, at.hollow, at.placement, local)
		}
		if mask&(1<<standing) != 0 {
			args = append(args, is.state, is.open, is.pending)
		}
		return args
	}
	now := resourceMemory{groups: [groupCount]uint64{
		identity: maphash.Comparable(w.seed, of), placing: maphash.Comparable(w.seed, at), standing: maphash.Comparable(w.seed, is)}}
	before, known := w.resources.get(key)
	added := int64(0)
	if !known {
		if added, now.n, err = w.run(addResource, append(named(1<<groupCount-1), key[:])...); err != nil {
			return err
		}
		if added == 0 {
			if before.n, err = w.number(findResource, key[:]); err != nil {
				return err
			}
		}
	}
	if added == 0 {
		mask := 0
		for i, digest := range now.groups {
			if digest != before.groups[i] || i == identity && r.About != nil {
				mask |= 1 << i
			}
		}
		now.n = before.n
		if err := w.exec(changeResource+statement(mask), append(named(mask), now.n)...); err != nil {
			return err
		}
	}
	w.resources.put(key, now)
	if r.Checkpoint == nil {
		return nil
	}
	return w.exec(putCheckpoint, now.n, w.room.seal(w.vault, r.Checkpoint, "checkpoints.bytes", string(r.Row.Document)))
}

// resource returns the number of a document's row. Where there is none it makes one that nothing shows.
func (w *writer) resource(id engine.DocumentID) (int64, error) {
	n, err := w.findResource(id)
	if !errors.Is(err, engine.ErrNotFound) {
		return n, err
	}
	key, err := keyOf(id)
	if err != nil {
		return 0, err
	}
	w.filter.add(string(key[:]))
	if _, n, err = w.run(addHollow, key[:]); err != nil {
		return 0, fmt.Errorf("resource of document %s: %w", id, err)
	}
	w.resources.put(key, resourceMemory{n: n})
	return n, nil
}

// findResource returns the number of a document's row, or ErrNotFound.
func (w *writer) findResource(id engine.DocumentID) (int64, error) {
	key, err := keyOf(id)
	if err != nil {
		return 0, err
	}
	if memory, ok := w.resources.get(key); ok {
		return memory.n, nil
	}
	n, err := w.number(findResource, key[:])
	if err != nil {
		return 0, fmt.Errorf("resource of document %s: %w", id, err)
	}
	w.resources.put(key, resourceMemory{n: n})
	return n, nil
}

func (w *writer) groupsOf(r *engine.Record, sites []engine.SiteID) (of identityColumns, at placingColumns, is standingColumns, err error) {
	row := &r.Row
	of = identityColumns{id: string(row.ID), collaboration: string(row.Collaboration), blobs: lines(r.Blobs), createdAt: nanos(row.CreatedAt)}
	if row.State.Past() {
		of.past = string(row.State)
	}
	if of.relations, err = listJSON(row.Relations); err != nil {
		return of, at, is, fmt.Errorf("its relations: %w", err)
	}
	if of.kind, err = w.kind(row.Service, row.Kind); err != nil {
		return of, at, is, err
	}
	at = placingColumns{hollow: r.Hollow, local: string(row.Local), same: row.Local != "" && string(row.Local) == string(row.ID)}
	at.placement, err = w.placement(sites)
	is = standingColumns{state: string(row.State), pending: row.Pending,
		open: row.Pending || !r.Hollow && of.past == "" && row.State != engine.StateConverged}
	return of, at, is, err
}

// alwaysOf returns the values of the columns that every update names, with room for those of the groups.
func (w *writer) alwaysOf(r *engine.Record, sites []engine.SiteID) ([]driver.Value, error) {
	row := &r.Row
	peers, err := w.placement(sorted(r.Peers))
	if err != nil {
		return nil, err
	}
	in := &w.room
	in.args = append(in.args, row.Label, row.Reason, nanos(row.UpdatedAt), searchText(row), encodeBySite(in, sites, row.Sites, (*fields).replica), int64(r.Epoch),
		in.digest(r.Digest), peers, encodeApart(r.Apart), in.seal(w.vault, r.Mine, "resources.mine", string(row.Document)),
		in.seal(w.vault, r.Statuses, "resources.statuses", string(row.Document)))
	return in.args, nil
}

// searchText is what ResourceFilter.Query is looked for in.
func searchText(r *engine.ResourceRow) string {
	words := append(make([]string, 0, 8), string(r.ID))
	add := func(word string) {
		if word != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	add(r.Label)
	add(string(r.Local))
	for _, s := range r.Sites {
		add(string(s.Local))
	}
	return strings.ToLower(strings.Join(words, "\n"))
}

const recordColumns = resourceColumns + `, r.hollow, r.about, r.epoch, r.mine, r.statuses, c.bytes, r.digest,
	coalesce(p.sites, ''), r.apart, r.blobs`

const readRecord = `SELECT ` + recordColumns + ` FROM resources r` + named + `
	LEFT JOIN placements p ON p.n = r.peers LEFT JOIN checkpoints c ON c.resource = r.n WHERE r.document = ? AND r.hollow < 2`

// Record implements engine.Store. Peers are sorted.
func (s *Store) Record(ctx context.Context, id engine.DocumentID) (engine.Record, error) {
	r, err := s.record(ctx, id)
	return r, found(err, "record of document", id)
}

func (s *Store) record(ctx context.Context, id engine.DocumentID) (r engine.Record, err error) {
	key, err := keyOf(id)
	if err != nil || !s.filter.has(string(key[:])) {
		return r, noRow
	}
	var digest, apart []byte
	var peers, blobs string
	row, err := scanResource(s.reads.one(ctx, readRecord, key[:]), &r.Hollow, &r.About, &r.Epoch, &r.Mine, &r.Statuses, &r.Checkpoint,
		&digest, &peers, &apart, &blobs)
	if err != nil {
		return engine.Record{}, err
	}
	r.Row, r.Digest, r.Peers, r.Blobs = row.row, decodeDigest(digest), parseLines[engine.SiteID](peers), parseLines[engine.BlobHash](blobs)
	if r.Apart, err = decodeApart(apart); err != nil {
		return engine.Record{}, err
	}
	for _, sealed := range []struct {
		value  *[]byte
		column string
	}{{&r.Mine, "resources.mine"}, {&r.Statuses, "resources.statuses"}, {&r.Checkpoint, "checkpoints.bytes"}} {
		if err := s.vault.open(sealed.value, place(sealed.column, string(id))); err != nil {
			return engine.Record{}, err
		}
	}
	return r, nil
}
