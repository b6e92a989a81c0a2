package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Documents are the open documents of one process. They implement engine.Documents.
type Documents struct {
	self    engine.SiteID
	actor   string
	disk    *Disk
	changes *Changes
	open    map[engine.DocumentID]*document
}

// NewDocuments returns the documents of a process of the site self, over what is on its disk. Actor is the process's own and
// never used before.
func NewDocuments(self engine.SiteID, actor string, disk *Disk, changes *Changes) *Documents {
	return &Documents{self: self, actor: actor, disk: disk, changes: changes, open: map[engine.DocumentID]*document{}}
}

// document is one open document.
type document struct {
	maps   []engine.MapName
	known  map[*change]bool
	heads  []*change // by n
	last   map[string]uint64
	op     uint64 // the highest number of an operation
	values map[slot][]value
}

type slot struct {
	name engine.MapName
	key  string
}

// value is what was put into a slot, and by which change. What two changes have put that do not know of each other stands there both;
// the last counts.
type value struct {
	bytes []byte
	op    uint64
	by    *change
}

// at returns the value that counts in a slot.
func (d *document) at(s slot) (v value, ok bool) {
	if all := d.values[s]; len(all) > 0 {
		return all[len(all)-1], true
	}
	return value{}, false
}

func newDocument(schema engine.Schema) *document {
	return &document{maps: schema.Maps(), known: map[*change]bool{}, last: map[string]uint64{}, values: map[slot][]value{}}
}

// Encode implements engine.Documents.
func (d *Documents) Encode(about engine.About) ([]byte, engine.DocumentID, error) {
	b, err := json.Marshal(about)
	if err != nil {
		return nil, "", err
	}
	return b, identify(b), nil
}

func identify(about []byte) engine.DocumentID {
	h := sha256.Sum256(about)
	return engine.DocumentID(hex.EncodeToString(h[:]))
}

// Create implements engine.Documents.
func (d *Documents) Create(id engine.DocumentID, about []byte) (engine.About, error) {
	var a engine.About
	if err := json.Unmarshal(about, &a); err != nil {
		return a, fmt.Errorf("create document %s: %w: %w", id, engine.ErrRefused, err)
	}
	if identify(about) != id {
		return a, fmt.Errorf("create document %s: %w: its about makes another", id, engine.ErrRefused)
	}
	if _, err := d.use(id); err != nil {
		d.open[id] = newDocument(a.Schema)
	}
	return a, nil
}

// use opens a document.
func (d *Documents) use(id engine.DocumentID) (*document, error) {
	if doc := d.open[id]; doc != nil {
		return doc, nil
	}
	stored := d.disk.documents[id]
	if stored == nil {
		return nil, fmt.Errorf("open document %s: %w", id, engine.ErrNotFound)
	}
	var about engine.About
	if err := json.Unmarshal(stored.row.About, &about); err != nil {
		return nil, fmt.Errorf("open document %s: %w", id, err)
	}
	doc := newDocument(about.Schema)
	for _, r := range stored.changes {
		c, err := d.changes.decode(r.Bytes)
		if err != nil {
			return nil, fmt.Errorf("open document %s: %w", id, err)
		}
		if err := doc.check(c, r.Author); err != nil {
			return nil, fmt.Errorf("open document %s: what is stored is not whole: %w", id, err)
		}
		doc.apply(c)
	}
	d.open[id] = doc
	return doc, nil
}

// Write implements engine.Documents.
func (d *Documents) Write(_ context.Context, id engine.DocumentID, entries []engine.Entry) (engine.ChangeRow, error) {
	doc, err := d.use(id)
	if err != nil {
		return engine.ChangeRow{}, err
	}
	c := &change{actor: d.actor, seq: doc.last[d.actor] + 1, deps: slices.Clone(doc.heads), op: doc.op + 1, entries: entries}
	d.changes.add(c)
	if err := doc.check(c, d.self); err != nil {
		return engine.ChangeRow{}, fmt.Errorf("write to document %s: %w", id, err)
	}
	doc.apply(c)
	return c.row(id, d.self), nil
}

// check decides whether a site would take a change by author in.
func (d *document) check(c *change, author engine.SiteID) error {
	for _, dep := range c.deps {
		if !d.known[dep] {
			return engine.ErrMissing
		}
	}
	if c.seq != d.last[c.actor]+1 {
		return fmt.Errorf("%w: change %d of actor %s after its change %d", engine.ErrRefused, c.seq, c.actor, d.last[c.actor])
	}
	for _, e := range c.entries {
		rest, ok := strings.CutPrefix(e.Key, string(author))
		if !ok || rest != "" && rest[0] != '/' {
			return fmt.Errorf("%w: key %q is not of site %s", engine.ErrRefused, e.Key, author)
		}
		if !slices.Contains(d.maps, e.Map) {
			return fmt.Errorf("%w: no map %q", engine.ErrRefused, e.Map)
		}
		if len(e.Value) > engine.MaxEntry {
			return fmt.Errorf("%w: an entry of %d bytes", engine.ErrTooLarge, len(e.Value))
		}
		if !e.Map.WriteOnce() {
			continue
		}
		if v, ok := d.at(slot{e.Map, e.Key}); ok && slices.ContainsFunc(c.deps, func(h *change) bool { return h.covers(v.by) }) {
			return fmt.Errorf("%w: key %q of %s is written already", engine.ErrRefused, e.Key, e.Map)
		}
	}
	return nil
}

// apply takes a change in and returns the entries whose values it has changed.
func (d *document) apply(c *change) []engine.Entry {
	d.known[c] = true
	d.last[c.actor] = c.seq
	d.op = max(d.op, c.last())
	d.heads = slices.DeleteFunc(d.heads, func(h *change) bool { return slices.Contains(c.deps, h) })
	d.heads = append(d.heads, c)
	sortChanges(d.heads)
	var changed []engine.Entry
	for i, e := range c.entries {
		s, v := slot{e.Map, e.Key}, value{e.Value, c.op + uint64(i), c}
		all := slices.DeleteFunc(slices.Clone(d.values[s]), func(old value) bool {
			return old.by.actor == c.actor || slices.ContainsFunc(c.deps, func(h *change) bool { return h.covers(old.by) })
		})
		all = append(all, v)
		slices.SortFunc(all, func(a, b value) int { return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.by.actor, b.by.actor)) })
		if d.values[s] = all; all[len(all)-1].by == c {
			changed = append(changed, e)
		}
	}
	return changed
}

// Merge implements engine.Documents.
func (d *Documents) Merge(_ context.Context, id engine.DocumentID, changes []engine.SignedChange, writes func(engine.SiteID) bool) (rows []engine.ChangeRow, entries []engine.Entry, err error) {
	doc, err := d.use(id)
	if err != nil {
		return nil, nil, err
	}
	var refused error
	waiting := slices.Clone(changes)
	for again := true; again; {
		again = false
		waiting = slices.DeleteFunc(waiting, func(s engine.SignedChange) bool {
			c, err := d.changes.decode(s.Bytes)
			if err == nil && doc.known[c] {
				return true
			}
			if err == nil {
				err = doc.check(c, s.Author)
			}
			if err == nil && !writes(s.Author) {
				err = fmt.Errorf("%w: %s may not write it", engine.ErrRefused, s.Author)
			}
			switch {
			case err == engine.ErrMissing:
				return false
			case err != nil:
				refused = err
				return true
			}
			entries = append(entries, doc.apply(c)...)
			rows = append(rows, c.row(id, s.Author))
			again = true
			return true
		})
	}
	for i, e := range entries { // as they are after all of them
		v, _ := doc.at(slot{e.Map, e.Key})
		entries[i].Value = v.bytes
	}
	switch {
	case refused != nil:
		err = fmt.Errorf("merge into document %s: %w", id, refused)
	case len(waiting) > 0:
		err = fmt.Errorf("merge into document %s: %w: %d changes", id, engine.ErrMissing, len(waiting))
	}
	return rows, entries, err
}

// Entries implements engine.Documents: map by map, sorted by key.
func (d *Documents) Entries(_ context.Context, id engine.DocumentID) ([]engine.Entry, error) {
	doc, err := d.use(id)
	if err != nil {
		return nil, err
	}
	slots := slices.SortedFunc(maps.Keys(doc.values), func(a, b slot) int {
		return cmp.Or(slices.Index(doc.maps, a.name)-slices.Index(doc.maps, b.name), cmp.Compare(a.key, b.key))
	})
	entries := make([]engine.Entry, len(slots))
	for i, s := range slots {
		v, _ := doc.at(s)
		entries[i] = engine.Entry{Map: s.name, Key: s.key, Value: v.bytes}
	}
	return entries, nil
}

// Values implements engine.Documents.
func (d *Documents) Values(_ context.Context, id engine.DocumentID, m engine.MapName, key string) ([][]byte, error) {
	doc, err := d.use(id)
	if err != nil {
		return nil, err
	}
	var values [][]byte
	for _, v := range doc.values[slot{m, key}] {
		values = append(values, v.bytes)
	}
	return values, nil
}

// WrittenAt implements engine.Documents.
func (d *Documents) WrittenAt(_ context.Context, id engine.DocumentID, m engine.MapName, key string) ([32]byte, engine.Version, error) {
	doc, err := d.use(id)
	if err != nil {
		return [32]byte{}, nil, err
	}
	v, ok := doc.at(slot{m, key})
	if !ok {
		return [32]byte{}, nil, fmt.Errorf("entry %s of %s in document %s: %w", key, m, id, engine.ErrNotFound)
	}
	have := engine.Version{}
	for c := range v.by.history() {
		have[c.actor] = max(have[c.actor], c.seq)
	}
	return digest([]*change{v.by}), have, nil
}

// Heads implements engine.Documents.
func (d *Documents) Heads(_ context.Context, id engine.DocumentID) ([32]byte, error) {
	doc, err := d.use(id)
	if err != nil {
		return [32]byte{}, err
	}
	return digest(doc.heads), nil
}

func digest(heads []*change) [32]byte {
	var b []byte
	for _, h := range heads {
		b = binary.BigEndian.AppendUint64(b, h.n)
	}
	return sha256.Sum256(b)
}

// Forget implements engine.Documents.
func (d *Documents) Forget(id engine.DocumentID) { delete(d.open, id) }
