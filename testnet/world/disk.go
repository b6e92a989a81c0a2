package world

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

// Disk is what a site has on disk. It implements engine.Store. What it returns is shared and must not be changed.
type Disk struct {
	now func() time.Time

	records    []*record // as they came
	byDocument map[engine.DocumentID]*record
	byName     map[name][]*record
	operations []*engine.OperationRow // as they came
	byID       map[engine.OperationID]int
	errands    map[engine.OperationID]engine.Errand
	outbox     map[engine.OperationID]engine.Kept
	answers    map[[32]byte]engine.KeyedAnswer
	events     []engine.Event
	conflicts  map[engine.ConflictID]engine.Conflict
	mesh       []engine.SignedRecord
	settled    map[engine.OperationID]time.Time // since when operations are
	forgotten  time.Time
	// past is what was dropped or forgotten, for those who check.
	past past
}

// record is what a disk has of a resource. One without a row has changes only.
type record struct {
	engine.Record
	n       int
	changes []*engine.Change // as they came
	forks   []engine.ProvenFork
}

type name struct {
	service engine.ServiceName
	kind    engine.KindName
	id      engine.ResourceID
}

// NewDisk returns an empty disk. Now is the site's clock.
func NewDisk(now func() time.Time) *Disk {
	return &Disk{now: now, byDocument: map[engine.DocumentID]*record{}, byName: map[name][]*record{}, byID: map[engine.OperationID]int{},
		errands: map[engine.OperationID]engine.Errand{}, outbox: map[engine.OperationID]engine.Kept{}, answers: map[[32]byte]engine.KeyedAnswer{},
		conflicts: map[engine.ConflictID]engine.Conflict{}, settled: map[engine.OperationID]time.Time{}, past: newPast()}
}

// Clone returns a copy that later commits leave as it is: a backup.
func (d *Disk) Clone() *Disk {
	c := NewDisk(d.now)
	for _, r := range d.records {
		copied := &record{r.Record, r.n, slices.Clone(r.changes), slices.Clone(r.forks)}
		c.records, c.byDocument[r.Row.Document] = append(c.records, copied), copied
		if r.About != nil {
			c.byName[nameOf(r)] = append(c.byName[nameOf(r)], copied)
		}
	}
	c.operations, c.byID = slices.Clone(d.operations), maps.Clone(d.byID)
	c.errands, c.outbox, c.answers, c.events = maps.Clone(d.errands), maps.Clone(d.outbox), maps.Clone(d.answers), slices.Clone(d.events)
	c.conflicts, c.mesh = maps.Clone(d.conflicts), slices.Clone(d.mesh)
	c.settled, c.forgotten = maps.Clone(d.settled), d.forgotten
	c.past.join(d.past)
	return c
}

func nameOf(r *record) name { return name{r.Row.Service, r.Row.Kind, r.Row.ID} }

// Commit implements engine.Store.
func (d *Disk) Commit(_ context.Context, b *engine.Batch) error {
	if err := d.check(b); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	for _, e := range b.Dropped {
		if r := d.byDocument[e.Document]; r != nil {
			d.past.changes(r.changes)
			r.changes = slices.DeleteFunc(slices.Clone(r.changes), func(c *engine.Change) bool { return c.Epoch == e.Epoch })
		}
	}
	for i := range b.Records {
		d.putRecord(&b.Records[i])
	}
	for _, c := range b.Changes {
		r := d.recordOf(c.Document)
		if r.change(c) == nil {
			r.changes = append(r.changes, c)
		}
	}
	for _, f := range b.Forks {
		r := d.recordOf(f.Document)
		r.forks = append(slices.DeleteFunc(slices.Clone(r.forks), func(old engine.ProvenFork) bool { return old.Line == f.Line || old.Line == f.Instead }), f)
		r.changes = slices.DeleteFunc(slices.Clone(r.changes), func(c *engine.Change) bool {
			return c.Line == f.Line && f.Voids(c.Epoch, c.Number) || f.All != nil && c.Author() == f.Line.Site() && c.Epoch >= *f.All
		})
	}
	for i := range b.Operations {
		d.putOperation(b.Operations[i])
	}
	for _, e := range b.Errands {
		d.errands[e.Operation] = e
	}
	for _, id := range b.Ended {
		delete(d.errands, id)
	}
	for _, k := range b.Outbox {
		d.outbox[k.Operation] = k
	}
	for _, id := range b.Delivered {
		delete(d.outbox, id)
	}
	for _, a := range b.Answers {
		if d.answers[a.Key] = a; a.Answer == nil {
			delete(d.answers, a.Key)
		}
	}
	for _, c := range b.Conflicts {
		d.conflicts[c.ID] = c
	}
	for _, id := range b.Resolved {
		delete(d.conflicts, id)
	}
	for i := range b.Events {
		b.Events[i].Seq = uint64(len(d.events) + 1)
		d.events = append(d.events, b.Events[i])
	}
	if err := d.putMesh(b.Mesh); err != nil {
		return err
	}
	for _, dropped := range b.MeshDropped {
		d.mesh = slices.DeleteFunc(slices.Clone(d.mesh), func(s engine.SignedRecord) bool {
			return s.Author == dropped.Author && bytes.Equal(s.Record, dropped.Record)
		})
	}
	return nil
}

// check returns why a batch cannot be stored.
func (d *Disk) check(b *engine.Batch) error {
	for _, c := range b.Changes {
		dropped := slices.Contains(b.Dropped, engine.EpochOf{Document: c.Document, Epoch: c.Epoch})
		if r := d.byDocument[c.Document]; r != nil && !dropped {
			if there := r.change(c); there != nil && !bytes.Equal(there.Bytes, c.Bytes) {
				return fmt.Errorf("another change of %s has number %d", c.Line, c.Number)
			}
		}
	}
	for i := range b.Records {
		r := &b.Records[i]
		if before := d.byDocument[r.Row.Document]; r.About == nil && (before == nil || before.About == nil) {
			return fmt.Errorf("the record of document %s does not say what it begins with", r.Row.Document)
		}
	}
	return nil
}

// change returns the change that has the line and number of another.
func (r *record) change(c *engine.Change) *engine.Change {
	for _, there := range r.changes {
		if there.Line == c.Line && there.Number == c.Number && there.Epoch == c.Epoch {
			return there
		}
	}
	return nil
}

func (d *Disk) recordOf(id engine.DocumentID) *record {
	r := d.byDocument[id]
	if r == nil {
		r = &record{n: len(d.records)}
		r.Row.Document = id
		d.records, d.byDocument[id] = append(d.records, r), r
	}
	return r
}

func (d *Disk) putRecord(rec *engine.Record) {
	r := d.recordOf(rec.Row.Document)
	now, first := *rec, r.About == nil
	keep := func(now *[]byte, before []byte) {
		if *now == nil {
			*now = before
		}
	}
	keep(&now.About, r.About)
	keep(&now.Mine, r.Mine)
	keep(&now.Statuses, r.Statuses)
	keep(&now.Checkpoint, r.Checkpoint)
	now.Peers = slices.Sorted(slices.Values(now.Peers))
	r.Record = now
	if first {
		d.byName[nameOf(r)] = append(d.byName[nameOf(r)], r)
	}
}

func (d *Disk) putOperation(row engine.OperationRow) {
	i, there := d.byID[row.ID]
	if there && row.Document == "" && d.operations[i].Document != "" {
		return
	}
	if since, ok := d.settled[row.ID]; !row.Settled() {
		delete(d.settled, row.ID)
	} else if !ok || d.now().Before(since) {
		d.settled[row.ID] = d.now()
	}
	row.Sites = maps.Clone(row.Sites)
	if there {
		d.operations[i] = &row
		return
	}
	d.byID[row.ID] = len(d.operations)
	d.operations = append(d.operations, &row)
}

func (d *Disk) putMesh(records []engine.SignedRecord) error {
	decode := func(s engine.SignedRecord) (r engine.MeshRecord, err error) { return r, engine.Decode(s.Record, &r) }
	for _, s := range records {
		r, err := decode(s)
		if err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		at := slices.IndexFunc(d.mesh, func(o engine.SignedRecord) bool {
			other, err := decode(o)
			return err == nil && o.Author == s.Author && other.Key == r.Key
		})
		if at < 0 {
			d.mesh = append(d.mesh, s)
		} else if before, err := decode(d.mesh[at]); err == nil && r.Number >= before.Number {
			d.mesh = slices.Clone(d.mesh)
			d.mesh[at] = s
		}
	}
	return nil
}

// Record implements engine.Store.
func (d *Disk) Record(_ context.Context, id engine.DocumentID) (engine.Record, error) {
	if r := d.byDocument[id]; r != nil && r.About != nil {
		return r.Record, nil
	}
	return engine.Record{}, engine.ErrNotFound
}

// Forks implements engine.Store.
func (d *Disk) Forks(_ context.Context, id engine.DocumentID) ([]engine.ProvenFork, error) {
	if r := d.byDocument[id]; r != nil {
		return r.forks, nil
	}
	return nil, nil
}

// Forkers implements engine.Store.
func (d *Disk) Forkers(context.Context) (map[engine.SiteID]int, error) {
	all := map[engine.SiteID]int{}
	for _, r := range d.records {
		for _, f := range r.forks {
			all[f.Line.Site()]++
		}
	}
	return all, nil
}

// Changes implements engine.Store.
func (d *Disk) Changes(_ context.Context, id engine.DocumentID, have map[uint64]map[engine.Line]uint64, limit int) ([]engine.StoredChange, bool, error) {
	r := d.byDocument[id]
	if r == nil {
		return nil, false, nil
	}
	sorted := slices.SortedFunc(slices.Values(r.changes), func(a, b *engine.Change) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Number, b.Number))
	})
	var list []engine.StoredChange
	size := 0
	for _, c := range sorted {
		if c.Number <= have[c.Epoch][c.Line] {
			continue
		}
		if limit > 0 && size >= limit {
			return list, true, nil
		}
		size += len(c.Bytes) + len(c.Signature)
		list = append(list, engine.StoredChange{SignedChange: c.SignedChange, Epoch: c.Epoch, Number: c.Number})
	}
	return list, false, nil
}

// Digests implements engine.Store.
func (d *Disk) Digests(_ context.Context, with engine.SiteID, in engine.Range) ([]engine.Digest, error) {
	if !in.Valid() {
		return nil, engine.ErrRefused
	}
	var list []engine.Digest
	for _, r := range d.records {
		if r.About == nil || !in.Contains(r.Row.Document) {
			continue
		}
		if apart, ok := r.Apart[with]; ok {
			list = append(list, engine.Digest{Document: r.Row.Document, Digest: apart})
		} else if slices.Contains(r.Peers, with) {
			list = append(list, engine.Digest{Document: r.Row.Document, Digest: r.Digest})
		}
	}
	slices.SortFunc(list, func(a, b engine.Digest) int { return cmp.Compare(a.Document, b.Document) })
	return list, nil
}

// AllDigests implements engine.Store.
func (d *Disk) AllDigests(_ context.Context, each func(engine.Digest, []engine.SiteID, map[engine.SiteID]engine.Fingerprint)) error {
	for _, r := range d.records {
		if len(r.Peers)+len(r.Apart) > 0 {
			each(engine.Digest{Document: r.Row.Document, Digest: r.Digest}, r.Peers, r.Apart)
		}
	}
	return nil
}

// Operation implements engine.Store.
func (d *Disk) Operation(_ context.Context, id engine.OperationID) (engine.OperationRow, error) {
	if i, ok := d.byID[id]; ok {
		return *d.operations[i], nil
	}
	return engine.OperationRow{}, engine.ErrNotFound
}

// Answer implements engine.Store.
func (d *Disk) Answer(_ context.Context, key [32]byte) (engine.KeyedAnswer, error) {
	if a, ok := d.answers[key]; ok && d.now().Sub(a.At) <= 24*time.Hour {
		return a, nil
	}
	return engine.KeyedAnswer{}, engine.ErrNotFound
}

// Mesh implements engine.Store.
func (d *Disk) Mesh(context.Context) ([]engine.SignedRecord, error) { return d.mesh, nil }

// ForgetOperations implements engine.Store.
func (d *Disk) ForgetOperations(_ context.Context, before time.Time, most int) (int, error) {
	var old []*engine.OperationRow
	for _, r := range d.operations {
		if _, settled := d.settled[r.ID]; settled {
			old = append(old, r)
		}
	}
	slices.SortStableFunc(old, func(a, b *engine.OperationRow) int { return d.settled[a.ID].Compare(d.settled[b.ID]) })
	crowded := max(0, len(old)-most)
	gone := map[engine.OperationID]bool{}
	for i, r := range old {
		waits := r.State == engine.StateRejected && slices.ContainsFunc(slices.Collect(maps.Values(d.conflicts)),
			func(c engine.Conflict) bool { return c.Document == r.Document && c.Document != "" })
		if _, kept := d.outbox[r.ID]; kept {
			continue
		}
		if since := d.settled[r.ID]; !waits && (i < crowded || since.Before(before)) {
			gone[r.ID], d.past.rows[r.ID] = true, r
			delete(d.settled, r.ID)
			if since.After(d.forgotten) {
				d.forgotten = since
			}
		}
	}
	d.operations = slices.DeleteFunc(slices.Clone(d.operations), func(r *engine.OperationRow) bool { return gone[r.ID] })
	clear(d.byID)
	for i, r := range d.operations {
		d.byID[r.ID] = i
	}
	return len(gone), nil
}

// ForgottenUntil implements engine.Store.
func (d *Disk) ForgottenUntil(context.Context) (time.Time, error) { return d.forgotten, nil }

// errDead is what a process gets that has died, of all that it still tries.
var errDead = errors.New("the process has died")
