package world

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
)

func inOrder(a, b *engine.Change) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Number, b.Number), bytes.Compare(a.Hash[:], b.Hash[:]))
}

// older orders resources by creation.
func older(a, b *record) int { return cmp.Or(a.Row.CreatedAt.Compare(b.Row.CreatedAt), a.n-b.n) }

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// counting returns the one that counts of several resources: a living one before those that are past, as less orders the living.
func counting(list []*record, less func(a, b *record) int) (engine.ResourceRow, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(r *record) bool { return r.Hollow })
	if len(list) == 0 {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	return slices.MinFunc(list, func(a, b *record) int {
		past := a.Row.State.Past()
		if past != b.Row.State.Past() {
			return rank(past) - rank(!past)
		}
		if past {
			return older(b, a)
		}
		return less(a, b)
	}).Row, nil
}

// ResourceByID implements engine.Store.
func (d *Disk) ResourceByID(_ context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.ResourceRow, error) {
	return counting(d.byName[name{service, kind, id}], func(a, b *record) int {
		return cmp.Or(rank(a.Row.Local == "")-rank(b.Row.Local == ""), older(a, b))
	})
}

// ResourceByLocal implements engine.Store.
func (d *Disk) ResourceByLocal(_ context.Context, service engine.ServiceName, kind engine.KindName, id engine.LocalID) (engine.ResourceRow, error) {
	var list []*record
	for _, r := range d.records {
		if id != "" && r.Row.Local == id && r.Row.Service == service && r.Row.Kind == kind {
			list = append(list, r)
		}
	}
	return counting(list, older)
}

// KnownLocally implements engine.Store.
func (d *Disk) KnownLocally(ctx context.Context, service engine.ServiceName, kind engine.KindName, ids []engine.LocalID) (map[engine.LocalID]bool, error) {
	known := map[engine.LocalID]bool{}
	for _, id := range ids {
		if _, err := d.ResourceByLocal(ctx, service, kind, id); err == nil {
			known[id] = true
		}
	}
	return known, nil
}

// ResourceByDocument implements engine.Store.
func (d *Disk) ResourceByDocument(_ context.Context, id engine.DocumentID) (engine.ResourceRow, error) {
	if r := d.byDocument[id]; r != nil && r.About != nil && !r.Hollow {
		return r.Row, nil
	}
	return engine.ResourceRow{}, engine.ErrNotFound
}

// Names implements engine.Store.
func (d *Disk) Names(_ context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) ([]engine.DocumentID, error) {
	return d.named(name{service, kind, id}, func(r *record) bool { return r.Row.Collaboration == engine.ExactlyOne }), nil
}

// SameName implements engine.Store.
func (d *Disk) SameName(_ context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) ([]engine.DocumentID, error) {
	return d.named(name{service, kind, id}, func(r *record) bool {
		return r.Row.Collaboration != engine.ExactlyOne && !r.Row.State.Past()
	}), nil
}

func (d *Disk) named(n name, fits func(*record) bool) (list []engine.DocumentID) {
	for _, r := range d.byName[n] {
		if fits(r) {
			list = append(list, r.Row.Document)
		}
	}
	slices.Sort(list)
	return list
}

// page cuts a list: a cursor is the number of rows before it.
func page[T any](all []T, limit int, cursor string) ([]T, string, error) {
	from := 0
	if cursor != "" {
		var err error
		if from, err = strconv.Atoi(cursor); err != nil {
			return nil, "", err
		}
	}
	all = all[min(from, len(all)):]
	if limit = min(cmp.Or(limit, 100), 1000); len(all) > limit {
		return all[:limit], strconv.Itoa(from + limit), nil
	}
	return all, "", nil
}

// Resources implements engine.Store.
func (d *Disk) Resources(_ context.Context, f engine.ResourceFilter) ([]engine.ResourceRow, string, error) {
	from := d.records
	if f.ID != "" && f.Service != "" && f.Kind != "" {
		from = d.byName[name{f.Service, f.Kind, f.ID}]
	}
	var fit []*record
	for _, r := range from {
		row := &r.Row
		_, placed := row.Sites[f.Site]
		switch {
		case r.About == nil || r.Hollow != f.Names, f.Names && row.Collaboration != engine.ExactlyOne:
		case f.ID != "" && row.ID != f.ID, f.Service != "" && row.Service != f.Service, f.Kind != "" && row.Kind != f.Kind:
		case f.RefersTo != (engine.Target{}) && !refers(row, f), f.Related && len(row.Relations) == 0:
		case f.Site != "" && !placed, f.State != "" && row.State != f.State, f.State == "" && row.State.Past():
		case !strings.Contains(strings.ToLower(string(row.ID)+"\n"+row.Label+"\n"+string(row.Local)), strings.ToLower(f.Query)):
		default:
			fit = append(fit, r)
		}
	}
	slices.SortFunc(fit, func(a, b *record) int { return older(b, a) })
	fit, next, err := page(fit, f.Limit, f.Cursor)
	rows := make([]engine.ResourceRow, len(fit))
	for i, r := range fit {
		rows[i] = r.Row
	}
	return rows, next, err
}

// refers reports whether a resource refers to what the filter names, or relies on it if that is asked for.
func refers(row *engine.ResourceRow, f engine.ResourceFilter) bool {
	return slices.ContainsFunc(row.Relations, func(to engine.Relation) bool {
		return to.Target == f.RefersTo && (!f.Relying || to.Type == engine.RelationReliance)
	})
}

// CountResources implements engine.Store.
func (d *Disk) CountResources(context.Context) (map[engine.State]int, error) {
	n := map[engine.State]int{}
	for _, r := range d.records {
		if r.About != nil && !r.Hollow {
			n[r.Row.State]++
		}
	}
	return n, nil
}

// Operations implements engine.Store. It does not look for words.
func (d *Disk) Operations(_ context.Context, f engine.OperationFilter) ([]engine.OperationRow, string, error) {
	var rows []engine.OperationRow
	for _, r := range slices.Backward(d.operations) {
		at, known := r.Sites[f.Site]
		state := r.State
		if f.Site != "" {
			state = at.State
		}
		switch {
		case f.Resource != "" && r.Resource != f.Resource, f.Document != "" && r.Document != f.Document:
		case f.Site != "" && !known, f.State != "" && state != f.State, !strings.HasPrefix(string(r.ID), f.Begins):
		default:
			rows = append(rows, *r)
		}
	}
	slices.SortStableFunc(rows, func(a, b engine.OperationRow) int { return b.IssuedAt.Compare(a.IssuedAt) })
	if f.Oldest {
		slices.Reverse(rows)
	}
	return page(rows, f.Limit, f.Cursor)
}

// Conflict implements engine.Store.
func (d *Disk) Conflict(_ context.Context, id engine.ConflictID) (engine.Conflict, error) {
	if c, ok := d.conflicts[id]; ok {
		return c, nil
	}
	return engine.Conflict{}, engine.ErrNotFound
}

// ConflictsOf implements engine.Store.
func (d *Disk) ConflictsOf(_ context.Context, id engine.DocumentID) ([]engine.Conflict, error) {
	return d.conflictsWith(func(c engine.Conflict) bool { return id != "" && c.Document == id }), nil
}

// Conflicts implements engine.Store.
func (d *Disk) Conflicts(_ context.Context, f engine.ConflictFilter) ([]engine.Conflict, string, error) {
	return page(d.conflictsWith(func(c engine.Conflict) bool {
		return c.Open() != f.Accepted && (f.Document == "" || f.Document == c.Document) && (f.Service == "" || f.Service == c.Service) &&
			(f.Kind == "" || f.Kind == c.Kind) && (f.Site == "" || f.Site == c.Site)
	}), f.Limit, f.Cursor)
}

// conflictsWith lists conflicts, the newest first.
func (d *Disk) conflictsWith(wanted func(engine.Conflict) bool) []engine.Conflict {
	var list []engine.Conflict
	for _, c := range d.conflicts {
		if wanted(c) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b engine.Conflict) int { return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Pending implements engine.Store.
func (d *Disk) Pending(context.Context) ([]engine.DocumentID, error) {
	var fit []*record
	for _, r := range d.records {
		if r.Row.Pending {
			fit = append(fit, r)
		}
	}
	slices.SortFunc(fit, older)
	var ids []engine.DocumentID
	for _, r := range fit {
		ids = append(ids, r.Row.Document)
	}
	return ids, nil
}

// Errands implements engine.Store.
func (d *Disk) Errands(context.Context) ([]engine.Errand, error) {
	return slices.SortedFunc(maps.Values(d.errands), func(a, b engine.Errand) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Operation, b.Operation))
	}), nil
}

// Outbox implements engine.Store.
func (d *Disk) Outbox(context.Context) ([]engine.Kept, error) {
	return slices.SortedFunc(maps.Values(d.outbox), func(a, b engine.Kept) int {
		return cmp.Or(a.KeptAt.Compare(b.KeptAt), cmp.Compare(a.Operation, b.Operation))
	}), nil
}

// Kept implements engine.Store.
func (d *Disk) Kept(_ context.Context, id engine.OperationID) (engine.Kept, error) {
	k, ok := d.outbox[id]
	if !ok {
		return engine.Kept{}, engine.ErrNotFound
	}
	return k, nil
}

// Events implements engine.Store.
func (d *Disk) Events(_ context.Context, after uint64, limit int) ([]engine.Event, error) {
	rest := d.events[min(after, uint64(len(d.events))):]
	return rest[:min(len(rest), cmp.Or(limit, 100))], nil
}

// NeededBlobs implements engine.Store.
func (d *Disk) NeededBlobs(context.Context) ([]engine.NeededBlob, error) {
	all := map[engine.BlobHash]engine.NeededBlob{}
	add := func(h engine.BlobHash) {
		if _, known := all[h]; h != "" && !known {
			all[h] = engine.NeededBlob{BlobRef: engine.BlobRef{Hash: h}}
		}
	}
	for _, o := range d.operations {
		if o.NeedsBlob {
			all[o.Blob.Hash] = engine.NeededBlob{BlobRef: *o.Blob, Origin: o.Origin}
		}
	}
	for _, e := range d.errands {
		add(e.Blob)
	}
	for _, r := range d.records {
		for _, h := range r.Blobs {
			add(h)
		}
	}
	return slices.Collect(maps.Values(all)), nil
}

// NeedsBlob implements engine.Store.
func (d *Disk) NeedsBlob(ctx context.Context, h engine.BlobHash) (bool, error) {
	all, err := d.NeededBlobs(ctx)
	return slices.ContainsFunc(all, func(b engine.NeededBlob) bool { return b.Hash == h }), err
}
