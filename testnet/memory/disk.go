package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

// Disk is what a site has on disk. It implements engine.Store and engine.Ledger. What it returns is shared and must not be
// changed.
type Disk struct {
	// Now is the site's clock: answers to keyed requests are kept for a day.
	Now func() time.Time

	documents  map[engine.DocumentID]*stored
	dropped    map[engine.DocumentID]*stored // for Epochs alone
	past       []*stored                     // what was dropped before the disk was set back to a backup, for Epochs alone
	resources  []*resource                   // as they came
	byDocument map[engine.DocumentID]*resource
	byName     map[name][]*resource
	byLocal    map[local][]*resource
	operations []*engine.OperationRow // as they came
	byID       map[engine.OperationID]int
	intents    map[engine.OperationID]engine.Intent
	outbox     map[engine.OperationID]engine.Kept
	answers    map[[32]byte]engine.KeyedAnswer
	events     []engine.Event
	conflicts  map[engine.ConflictID]engine.Conflict
	choices    map[engine.DocumentID]engine.Choice
	settled    map[engine.OperationID]time.Time // since when operations are
	forgotten  time.Time
	former     map[engine.OperationID]*engine.OperationRow // that were forgotten, for Recalled alone
}

// stored is a document with its changes, as they came.
type stored struct {
	row     engine.DocumentRow
	changes []engine.ChangeRow
	version engine.Version
}

type resource struct {
	engine.ResourceRow
	n int
}

type name struct {
	service engine.ServiceName
	kind    engine.KindName
	id      engine.ResourceID
}

type local struct {
	service engine.ServiceName
	kind    engine.KindName
	id      engine.LocalID
}

// NewDisk returns an empty disk.
func NewDisk(now func() time.Time) *Disk {
	return &Disk{
		Now: now, documents: map[engine.DocumentID]*stored{}, dropped: map[engine.DocumentID]*stored{}, byDocument: map[engine.DocumentID]*resource{}, byName: map[name][]*resource{},
		byLocal: map[local][]*resource{}, byID: map[engine.OperationID]int{}, intents: map[engine.OperationID]engine.Intent{},
		outbox: map[engine.OperationID]engine.Kept{}, answers: map[[32]byte]engine.KeyedAnswer{},
		conflicts: map[engine.ConflictID]engine.Conflict{}, choices: map[engine.DocumentID]engine.Choice{},
		settled: map[engine.OperationID]time.Time{}, former: map[engine.OperationID]*engine.OperationRow{},
	}
}

// Clone returns a copy that later commits leave as it is: a backup.
func (d *Disk) Clone() *Disk {
	c := NewDisk(d.Now)
	for id, s := range d.documents {
		c.documents[id] = &stored{s.row, slices.Clone(s.changes), maps.Clone(s.version)}
	}
	maps.Copy(c.dropped, d.dropped)
	for _, r := range d.resources {
		c.put(r.ResourceRow)
	}
	c.operations, c.byID = slices.Clone(d.operations), maps.Clone(d.byID)
	c.intents, c.outbox, c.answers, c.events = maps.Clone(d.intents), maps.Clone(d.outbox), maps.Clone(d.answers), slices.Clone(d.events)
	c.conflicts, c.choices = maps.Clone(d.conflicts), maps.Clone(d.choices)
	c.settled, c.forgotten, c.former = maps.Clone(d.settled), d.forgotten, maps.Clone(d.former)
	c.past = slices.Clone(d.past)
	return c
}

// Remember has a disk that was set back to a backup tell in Epochs what the lost one had dropped.
func (d *Disk) Remember(lost *Disk) {
	for _, s := range lost.past {
		if !slices.Contains(d.past, s) {
			d.past = append(d.past, s)
		}
	}
	for id, s := range lost.dropped {
		if d.dropped[id] == nil {
			d.past = append(d.past, s)
		}
	}
}

// Commit implements engine.Store.
func (d *Disk) Commit(_ context.Context, b *engine.Batch) error {
	for _, c := range b.Changes {
		if s := d.documents[c.Document]; s != nil && c.Seq <= s.version[c.Actor] {
			if !slices.ContainsFunc(s.changes, func(r engine.ChangeRow) bool { return r.Hash == c.Hash }) {
				return errors.New("commit: another change has its actor and number")
			}
		}
	}
	for _, id := range b.Dropped {
		if s := d.documents[id]; s != nil && len(s.changes) > 0 {
			d.dropped[id] = s
		}
		delete(d.documents, id)
	}
	for _, r := range b.Documents {
		if s := d.documents[r.ID]; s != nil {
			if r.Checkpoint == nil {
				r.Checkpoint = s.row.Checkpoint
			}
			s.row = r
		} else {
			d.documents[r.ID] = &stored{row: r, version: engine.Version{}}
		}
	}
	for _, c := range b.Changes {
		s := d.documents[c.Document]
		if s == nil {
			return fmt.Errorf("commit: a change of document %s, which is not stored", c.Document)
		}
		if c.Seq > s.version[c.Actor] {
			s.changes, s.version[c.Actor] = append(s.changes, c), c.Seq
		}
	}
	for _, r := range b.Resources {
		d.put(r)
	}
	for _, c := range b.Choices {
		d.choices[c.Document] = c
	}
	for _, r := range b.Operations {
		if since, ok := d.settled[r.ID]; !r.Settled() {
			delete(d.settled, r.ID)
		} else if !ok || d.Now().Before(since) {
			d.settled[r.ID] = d.Now()
		}
		if i, ok := d.byID[r.ID]; ok {
			d.operations[i] = &r
			continue
		}
		d.byID[r.ID] = len(d.operations)
		d.operations = append(d.operations, &r)
	}
	for _, i := range b.Intents {
		d.intents[i.Operation] = i
	}
	for _, id := range b.Settled {
		delete(d.intents, id)
	}
	for _, k := range b.Outbox {
		d.outbox[k.Operation] = k
	}
	for _, id := range b.Delivered {
		delete(d.outbox, id)
	}
	for _, a := range b.Answers {
		d.answers[a.Key] = a
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
	return nil
}

func (d *Disk) put(row engine.ResourceRow) {
	r := d.byDocument[row.Document]
	if r == nil {
		r = &resource{n: len(d.resources)}
		d.resources, d.byDocument[row.Document] = append(d.resources, r), r
		called := name{row.Service, row.Kind, row.ID}
		d.byName[called] = append(d.byName[called], r)
	}
	if r.Local != row.Local {
		before, now := local{r.Service, r.Kind, r.Local}, local{row.Service, row.Kind, row.Local}
		d.byLocal[before] = slices.DeleteFunc(d.byLocal[before], func(o *resource) bool { return o == r })
		if row.Local != "" {
			d.byLocal[now] = append(d.byLocal[now], r)
		}
	}
	r.ResourceRow = row
}

// Document implements engine.Store.
func (d *Disk) Document(_ context.Context, id engine.DocumentID) (engine.DocumentRow, error) {
	if s := d.documents[id]; s != nil {
		return s.row, nil
	}
	return engine.DocumentRow{}, engine.ErrNotFound
}

// MeshDocument implements engine.Store.
func (d *Disk) MeshDocument(context.Context) (engine.DocumentRow, error) {
	for _, s := range d.documents {
		if s.row.Mesh {
			return s.row, nil
		}
	}
	return engine.DocumentRow{}, engine.ErrNotFound
}

func counting(list []*resource) (engine.ResourceRow, error) {
	if len(list) == 0 {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	return slices.MinFunc(list, counts).ResourceRow, nil
}

// counts orders the incarnations of a name as engine.Store says.
func counts(a, b *resource) int {
	switch past := a.State.Past(); {
	case past != b.State.Past():
		return rank(past) - rank(b.State.Past())
	case past:
		return older(b, a)
	}
	return cmp.Or(rank(a.Local == "")-rank(b.Local == ""), a.CreatedAt.Compare(b.CreatedAt), b.n-a.n)
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

func older(a, b *resource) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), a.n-b.n) }

// ResourceByID implements engine.Store.
func (d *Disk) ResourceByID(_ context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.ResourceRow, error) {
	return counting(d.byName[name{service, kind, id}])
}

// ResourceByLocal implements engine.Store.
func (d *Disk) ResourceByLocal(_ context.Context, service engine.ServiceName, kind engine.KindName, id engine.LocalID) (engine.ResourceRow, error) {
	if id == "" {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	return counting(d.byLocal[local{service, kind, id}])
}

// ResourceByDocument implements engine.Store.
func (d *Disk) ResourceByDocument(_ context.Context, id engine.DocumentID) (engine.ResourceRow, error) {
	if r := d.byDocument[id]; r != nil {
		return r.ResourceRow, nil
	}
	return engine.ResourceRow{}, engine.ErrNotFound
}

// Operation implements engine.Store.
func (d *Disk) Operation(_ context.Context, id engine.OperationID) (engine.OperationRow, error) {
	if i, ok := d.byID[id]; ok {
		return *d.operations[i], nil
	}
	return engine.OperationRow{}, engine.ErrNotFound
}

// NeedsBlob implements engine.Store.
func (d *Disk) NeedsBlob(ctx context.Context, h engine.BlobHash) (bool, error) {
	all, err := d.NeededBlobs(ctx)
	return slices.Contains(all, h), err
}

// NeededBlobs implements engine.Store.
func (d *Disk) NeededBlobs(context.Context) ([]engine.BlobHash, error) {
	var all []engine.BlobHash
	for _, o := range d.operations {
		if o.NeedsBlob {
			all = append(all, o.Blob.Hash)
		}
	}
	for _, i := range d.intents {
		if i.Blob != "" {
			all = append(all, i.Blob)
		}
	}
	return all, nil
}

// Answer implements engine.Store.
func (d *Disk) Answer(_ context.Context, key [32]byte) (engine.KeyedAnswer, error) {
	if a, ok := d.answers[key]; ok && d.Now().Sub(a.At) <= 24*time.Hour {
		return a, nil
	}
	return engine.KeyedAnswer{}, engine.ErrNotFound
}

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
			gone[r.ID], d.former[r.ID] = true, r
			delete(d.settled, r.ID)
			if since.After(d.forgotten) {
				d.forgotten = since
			}
		}
	}
	d.operations = slices.DeleteFunc(d.operations, func(r *engine.OperationRow) bool { return gone[r.ID] })
	clear(d.byID)
	for i, r := range d.operations {
		d.byID[r.ID] = i
	}
	return len(gone), nil
}

// ForgottenUntil implements engine.Store.
func (d *Disk) ForgottenUntil(context.Context) (time.Time, error) { return d.forgotten, nil }

// Recalled returns the disk with what was forgotten of operations: for who wants to know what has become of all of them.
func (d *Disk) Recalled() *Disk {
	c := *d
	c.operations, c.byID = slices.Clone(d.operations), maps.Clone(d.byID)
	for _, id := range slices.Sorted(maps.Keys(d.former)) {
		if _, again := c.byID[id]; !again {
			c.byID[id], c.operations = len(c.operations), append(c.operations, d.former[id])
		}
	}
	return &c
}
