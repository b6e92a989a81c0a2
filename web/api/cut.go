package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/chronicle"
	"github.com/skerry/skerry/web/shape"
)

// What a report of a cut looks at, so that a long cut does not take a site's time.
const (
	cutOperations = 5000 // the newest that were issued in it
	cutResources  = 200  // that both sides have changed
	cutListed     = 200  // of each sort
)

// CutReport is a cut, what each side did meanwhile, and what came of that when the sides met again.
type CutReport struct {
	shape.Cut
	// Ours and Theirs are what was issued meanwhile at sites that could be reached from here, and at those that could not. While the cut goes
	// on, theirs is not known.
	Ours   CutSide `json:"ours"`
	Theirs CutSide `json:"theirs"`
	// Overwritten are values that one side had set and the other side's later operation took the place of. Each can be restored.
	Overwritten []Overwritten `json:"overwritten"`
	// Lost are changes of one side to what the other side has deleted.
	Lost []Lost `json:"lost"`
	// Deletions are those of either side that have run; Held is how many wait to be confirmed.
	Deletions []shape.Operation `json:"deletions"`
	Held      int               `json:"held"`
	// Conflicts are what the merge could not settle and waits for a person still.
	Conflicts []shape.Conflict `json:"conflicts"`
	// More says that the cut was longer than a report: the newest operations of it are looked at. ForgottenUntil is by when those were settled
	// of which nothing is known any more; nil: all are.
	More           bool       `json:"more"`
	ForgottenUntil *time.Time `json:"forgotten_until"`
}

// CutSide is what one side did in a cut.
type CutSide struct {
	Operations int            `json:"operations"`
	Types      map[string]int `json:"types"` // of them, by type
	// Items are the newest of them.
	Items []shape.Operation `json:"items"`
}

// Overwritten is a value that was lost, with the resource that it is of.
type Overwritten struct {
	Resource string `json:"resource"`
	Service  string `json:"service"`
	Kind     string `json:"kind"`
	Label    string `json:"label"` // what people call it; empty where that is not known
	shape.Superseded
}

// Lost is a change of what the other side has deleted.
type Lost struct {
	Change   shape.Operation `json:"change"`
	Deletion shape.Operation `json:"deletion"`
}

// Cuts lists those that are remembered, newest first.
func (a *API) Cuts(ctx context.Context) ([]shape.Cut, error) {
	all, err := a.Chronicle.Cuts(ctx, 1000)
	if err != nil {
		return nil, fmt.Errorf("list cuts: %w", err)
	}
	n, list := a.names(), []shape.Cut{}
	for _, c := range all {
		list = append(list, n.Cut(c, a.SelfName()))
	}
	return list, nil
}

// Cut tells what happened in a cut, and what came of it. It follows from what is known of the operations now.
func (a *API) Cut(ctx context.Context, id string) (CutReport, error) {
	c, err := a.Chronicle.Cut(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return CutReport{}, refuse(http.StatusNotFound, "not-found", "this site remembers no cut %q", id)
	}
	if err != nil {
		return CutReport{}, err
	}
	m := merged{api: a, t: a.teller(), cut: c, by: map[engine.OperationID]engine.OperationRow{}, of: map[engine.DocumentID][]engine.OperationRow{},
		CutReport: CutReport{Cut: a.names().Cut(c, a.SelfName()), Overwritten: []Overwritten{}, Lost: []Lost{}, Deletions: []shape.Operation{}, Conflicts: []shape.Conflict{},
			Ours: CutSide{Types: map[string]int{}, Items: []shape.Operation{}}, Theirs: CutSide{Types: map[string]int{}, Items: []shape.Operation{}}}}
	for _, step := range []func(context.Context) error{m.operations, m.bothSides, m.clashes} {
		if err := step(ctx); err != nil {
			return CutReport{}, fmt.Errorf("report cut %s: %w", id, err)
		}
	}
	return m.CutReport, nil
}

// merged is a report that is being made.
type merged struct {
	CutReport
	api *API
	t   teller
	cut chronicle.Cut
	by  map[engine.OperationID]engine.OperationRow
	of  map[engine.DocumentID][]engine.OperationRow // newest first
	// Documents in the order in which they are met.
	documents []engine.DocumentID
}

// theirs reports whether an operation was issued where it could not be known here.
func (m *merged) theirs(o engine.OperationRow) bool { return m.cut.AwayAt(o.Origin, o.IssuedAt) }

func (m *merged) operations(ctx context.Context) error {
	f := engine.OperationFilter{From: m.cut.Began, Before: m.cut.Ended, Limit: 1000}
	for n := 0; n < cutOperations; {
		rows, next, err := m.api.Store.Operations(ctx, f)
		if err != nil {
			return err
		}
		for _, o := range rows {
			m.add(ctx, o)
		}
		n += len(rows)
		if f.Cursor = next; next == "" {
			break
		}
		m.More = n >= cutOperations
	}
	until, err := m.api.Store.ForgottenUntil(ctx)
	if until.After(m.cut.Began) {
		m.ForgottenUntil = shape.Moment(until)
	}
	return err
}

func (m *merged) add(ctx context.Context, o engine.OperationRow) {
	side := &m.Ours
	if m.theirs(o) {
		side = &m.Theirs
	}
	side.Operations++
	side.Types[string(o.Type)]++
	if len(side.Items) < cutListed {
		side.Items = append(side.Items, m.api.operation(ctx, o, m.t))
	}
	m.by[o.ID] = o
	if o.Document != "" {
		if m.of[o.Document] == nil {
			m.documents = append(m.documents, o.Document)
		}
		m.of[o.Document] = append(m.of[o.Document], o)
	}
	if o.Type != engine.TypeDelete {
		return
	}
	for _, at := range o.Sites {
		if at.State == engine.StateHeld {
			m.Held++
			return
		}
	}
	if o.State == engine.StateApplied && len(m.Deletions) < cutListed {
		m.Deletions = append(m.Deletions, m.api.operation(ctx, o, m.t))
	}
}

// bothSides finds what was lost of resources that both sides have changed.
func (m *merged) bothSides(ctx context.Context) error {
	looked := 0
	for _, id := range m.documents {
		ops := m.of[id]
		if !slices.ContainsFunc(ops, m.theirs) || !slices.ContainsFunc(ops, func(o engine.OperationRow) bool { return !m.theirs(o) }) {
			continue
		}
		if looked++; looked > cutResources {
			m.More = true
			return nil
		}
		row, err := m.api.Store.ResourceByDocument(ctx, id)
		if errors.Is(err, engine.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if row.State.Past() {
			m.lostToDeletes(ctx, ops)
			continue
		}
		if err := m.overwritten(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// lostToDeletes finds the changes of one side to what the other one has deleted.
func (m *merged) lostToDeletes(ctx context.Context, ops []engine.OperationRow) {
	for _, d := range ops {
		if d.Type != engine.TypeDelete {
			continue
		}
		for _, o := range ops {
			if o.Type != engine.TypeDelete && o.Type != engine.TypePlace && m.theirs(o) != m.theirs(d) && len(m.Lost) < cutListed {
				m.Lost = append(m.Lost, Lost{m.api.operation(ctx, o, m.t), m.api.operation(ctx, d, m.t)})
			}
		}
		return
	}
}

// overwritten finds the values of one side that the other side's took the place of.
func (m *merged) overwritten(ctx context.Context, row engine.ResourceRow) error {
	lost, err := m.api.Operator.Superseded(ctx, row.Document)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	n := m.api.names()
	for _, l := range lost {
		by, known := m.by[l.By]
		over, knownToo := m.by[l.Over]
		if known && knownToo && m.theirs(by) != m.theirs(over) && len(m.Overwritten) < cutListed {
			m.Overwritten = append(m.Overwritten, Overwritten{string(row.ID), string(row.Service), string(row.Kind), row.Label,
				shape.SupersededOf(l, n.Author(by), n.Author(over))})
		}
	}
	return nil
}

// clashes finds what waits for a person and is about what was issued in the cut, or is a name that both sides gave: what was made under
// it need be no operation that is known here.
func (m *merged) clashes(ctx context.Context) error {
	for f := (engine.ConflictFilter{Limit: 1000}); ; {
		list, next, err := m.api.Store.Conflicts(ctx, f)
		if err != nil {
			return err
		}
		for _, c := range list {
			_, issued := m.by[c.Operation]
			if (issued || m.of[c.Document] != nil || m.namedTwice(c)) && !c.Since.Before(m.cut.Began) && len(m.Conflicts) < cutListed {
				m.Conflicts = append(m.Conflicts, m.api.conflict(ctx, m.t, c))
			}
		}
		if f.Cursor = next; next == "" {
			return nil
		}
	}
}

// namedTwice reports whether a name was given in the cut at two sites, of which one was out of reach and the other was not.
func (m *merged) namedTwice(c engine.Conflict) bool {
	if c.Kind != engine.ConflictName && c.Kind != engine.ConflictNameTaken && c.Kind != engine.ConflictRival {
		return false
	}
	away := 0
	for _, s := range c.Sites {
		if m.cut.AwayAt(s, c.Since) {
			away++
		}
	}
	return away > 0 && away < len(c.Sites)
}

func (a *API) getCut(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	v, err := a.Cut(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}
