package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
)

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
	from := d.resources
	if f.ID != "" && f.Service != "" && f.Kind != "" {
		from = d.byName[name{f.Service, f.Kind, f.ID}]
	}
	var fit []*resource
	for _, r := range from {
		_, placed := r.Sites[f.Site]
		switch {
		case f.ID != "" && r.ID != f.ID, f.Service != "" && r.Service != f.Service, f.Kind != "" && r.Kind != f.Kind:
		case f.RefersTo != (engine.Target{}) && !refers(r, f), f.Related && len(r.Relations) == 0:
		case f.Site != "" && !placed, f.State != "" && r.State != f.State, f.State == "" && r.State.Past():
		case !strings.Contains(string(r.ID)+" "+string(r.Local), f.Query):
		default:
			fit = append(fit, r)
		}
	}
	slices.SortFunc(fit, func(a, b *resource) int { return older(b, a) })
	fit, next, err := page(fit, f.Limit, f.Cursor)
	rows := make([]engine.ResourceRow, len(fit))
	for i, r := range fit {
		rows[i] = r.ResourceRow
	}
	return rows, next, err
}

// refers reports whether a resource refers to what the filter names, or relies on it if that is asked for.
func refers(r *resource, f engine.ResourceFilter) bool {
	return slices.ContainsFunc(r.Relations, func(to engine.Relation) bool {
		return to.Target == f.RefersTo && (!f.Relying || to.Type == engine.RelationReliance)
	})
}

// Operations implements engine.Store.
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
		case f.Site != "" && !known, f.State != "" && state != f.State:
		default:
			rows = append(rows, *r)
		}
	}
	slices.SortStableFunc(rows, func(a, b engine.OperationRow) int { return b.IssuedAt.Compare(a.IssuedAt) })
	return page(rows, f.Limit, f.Cursor)
}

// Choices implements engine.Store.
func (d *Disk) Choices(_ context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) ([]engine.Choice, error) {
	var list []engine.Choice
	for _, c := range d.choices {
		if c.Service == service && c.Kind == kind && c.ID == id {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b engine.Choice) int { return cmp.Compare(a.Document, b.Document) })
	return list, nil
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
	var ids []engine.DocumentID
	for _, r := range d.resources {
		if r.Pending {
			ids = append(ids, r.Document)
		}
	}
	return ids, nil
}

// CountResources implements engine.Store.
func (d *Disk) CountResources(context.Context) (map[engine.State]int, error) {
	n := map[engine.State]int{}
	for _, r := range d.resources {
		n[r.State]++
	}
	return n, nil
}

// Intents implements engine.Store.
func (d *Disk) Intents(context.Context) ([]engine.Intent, error) {
	if len(d.intents) == 0 {
		return nil, nil
	}
	return slices.SortedFunc(maps.Values(d.intents), func(a, b engine.Intent) int {
		return cmp.Or(a.OpenedAt.Compare(b.OpenedAt), cmp.Compare(a.Operation, b.Operation))
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

// Summaries implements engine.Ledger.
func (d *Disk) Summaries(_ context.Context, with engine.SiteID, from, to engine.DocumentID) ([]engine.Summary, error) {
	var list []engine.Summary
	for id, s := range d.documents {
		heads, shown := s.row.Former[with]
		if s.row.Mesh || slices.Contains(s.row.Sites, with) || slices.Contains(s.row.Leaving, with) {
			heads, shown = s.row.Heads, true
		}
		if shown && id >= from && (to == "" || id < to) {
			list = append(list, engine.Summary{Document: id, Heads: heads})
		}
	}
	slices.SortFunc(list, func(a, b engine.Summary) int { return cmp.Compare(a.Document, b.Document) })
	return list, nil
}

// Version implements engine.Ledger.
func (d *Disk) Version(_ context.Context, id engine.DocumentID) (engine.Version, error) {
	if s := d.documents[id]; s != nil {
		return maps.Clone(s.version), nil
	}
	return engine.Version{}, nil
}

// Authors implements engine.Ledger.
func (d *Disk) Authors(_ context.Context, id engine.DocumentID) (map[engine.SiteID]uint64, error) {
	counts := map[engine.SiteID]uint64{}
	if s := d.documents[id]; s != nil {
		for _, c := range s.changes {
			counts[c.Author]++
		}
	}
	return counts, nil
}

// Changes implements engine.Ledger. Every change counts as one byte.
func (d *Disk) Changes(_ context.Context, id engine.DocumentID, have engine.Version, limit int) ([]engine.ChangeRow, bool, error) {
	s := d.documents[id]
	if s == nil {
		return nil, false, nil
	}
	var rows []engine.ChangeRow
	for _, c := range s.changes {
		if c.Seq <= have[c.Actor] {
			continue
		}
		if limit > 0 && len(rows) >= limit {
			return rows, true, nil
		}
		rows = append(rows, c)
	}
	return rows, false, nil
}

// Vault is one that hides nothing: what it sealed is on a Disk, which nobody else reads.
type Vault struct{}

// Seal implements engine.Vault.
func (Vault) Seal(_ engine.OperationID, data []byte) []byte { return slices.Clone(data) }

// Unseal implements engine.Vault.
func (Vault) Unseal(_ engine.OperationID, sealed []byte) ([]byte, error) { return sealed, nil }
