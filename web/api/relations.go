package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// maxGraph bounds the nodes of one graph.
const maxGraph = 200

// RelationQuery asks for the relations of one resource, or of all with an empty ID.
type RelationQuery struct {
	ResourceRef
	// Objects asks this site's application for objects of its own that refer to the resource.
	Objects bool
	// Header is the caller's; its Authorization goes with the question what this site's application has.
	Header http.Header
	Cursor string
	Limit  int
}

// grapher collects one graph.
type grapher struct {
	a     *API
	names shape.Names
	graph *shape.RelationGraph
	rows  map[engine.Target]*engine.ResourceRow // what was looked up; nil: not shared here
	nodes map[string]int                        // by key, in graph.Nodes
	edges map[shape.RelationEdge]bool
	full  bool
}

func (a *API) grapher() *grapher {
	return &grapher{a: a, names: a.names(), rows: map[engine.Target]*engine.ResourceRow{}, nodes: map[string]int{}, edges: map[shape.RelationEdge]bool{},
		graph: &shape.RelationGraph{Nodes: []shape.RelationNode{}, Edges: []shape.RelationEdge{}, Unknown: []string{}}}
}

// Relations draws what a resource refers to and what refers to it, through as many steps as there are. Without an
// identifier it draws one page of all that refer to something.
func (a *API) Relations(ctx context.Context, q RelationQuery) (shape.RelationGraph, error) {
	g := a.grapher()
	if q.ID == "" {
		err := g.all(ctx, q)
		return *g.graph, err
	}
	root, err := g.root(ctx, q.ResourceRef)
	if err != nil {
		return *g.graph, err
	}
	g.graph.Root = shape.KeyOf(root)
	if err := errors.Join(g.walk(ctx, root, g.needs), g.walk(ctx, root, g.neededBy)); err != nil {
		return *g.graph, fmt.Errorf("relations of %s: %w", root.ID, err)
	}
	if q.Objects {
		if err := g.objects(ctx, root, q.Header); err != nil {
			return *g.graph, fmt.Errorf("relations of %s: %w", root.ID, err)
		}
	}
	if g.full {
		g.graph.Unknown = append(g.graph.Unknown, fmt.Sprintf("more than %d resources belong to this: ask for one of them", maxGraph))
	}
	return *g.graph, nil
}

// root finds what a reference names. With its service and kind it need not be shared.
func (g *grapher) root(ctx context.Context, ref ResourceRef) (engine.Target, error) {
	row, err := g.a.rowToRead(ctx, ref)
	refusal := (*engine.Refusal)(nil)
	if errors.As(err, &refusal) && refusal.Status == http.StatusNotFound && ref.Service != "" && ref.Kind != "" {
		return engine.Target{Service: engine.ServiceName(ref.Service), Kind: engine.KindName(ref.Kind), ID: engine.ResourceID(ref.ID)}, nil
	}
	if err != nil {
		return engine.Target{}, err
	}
	t := targetOf(row)
	g.rows[t] = &row
	return t, nil
}

// relationsOf lists what a resource refers to, and then what refers to it.
func (a *API) relationsOf(ctx context.Context, row engine.ResourceRow) ([]shape.RelationEdge, error) {
	g := a.grapher()
	t := targetOf(row)
	g.rows[t] = &row
	_, needs := g.needs(ctx, t)
	_, neededBy := g.neededBy(ctx, t)
	if err := errors.Join(needs, neededBy); err != nil {
		return nil, fmt.Errorf("relations of %s: %w", row.ID, err)
	}
	return g.graph.Edges, nil
}

func (g *grapher) all(ctx context.Context, q RelationQuery) error {
	if err := g.a.checkKind(q.Service, q.Kind); err != nil {
		return err
	}
	rows, next, err := g.a.Store.Resources(ctx, engine.ResourceFilter{Related: true, Service: engine.ServiceName(q.Service),
		Kind: engine.KindName(q.Kind), Limit: q.Limit, Cursor: q.Cursor})
	if err != nil {
		return fmt.Errorf("list relations: %w", err)
	}
	g.graph.Next = next
	for i := range rows {
		g.rows[targetOf(rows[i])] = &rows[i]
	}
	for _, row := range rows {
		if _, err := g.needs(ctx, targetOf(row)); err != nil {
			return fmt.Errorf("list relations: %w", err)
		}
	}
	return nil
}

// walk goes through all that is reached by step, each resource once.
func (g *grapher) walk(ctx context.Context, root engine.Target, step func(context.Context, engine.Target) ([]engine.Target, error)) error {
	seen := map[engine.Target]bool{root: true}
	for queue := []engine.Target{root}; len(queue) > 0 && !g.full; queue = queue[1:] {
		if err := g.node(ctx, queue[0]); err != nil {
			return err
		}
		next, err := step(ctx, queue[0])
		if err != nil {
			return err
		}
		for _, t := range next {
			if !seen[t] {
				seen[t] = true
				queue = append(queue, t)
			}
		}
	}
	return nil
}

// needs adds what a resource refers to.
func (g *grapher) needs(ctx context.Context, t engine.Target) ([]engine.Target, error) {
	row, err := g.row(ctx, t)
	if err != nil || row == nil {
		return nil, err
	}
	var targets []engine.Target
	for _, r := range row.Relations {
		if err := g.edge(ctx, row, r); err != nil {
			return nil, err
		}
		targets = append(targets, r.Target)
	}
	if len(row.Relations) == engine.MaxRelations {
		g.unknown(fmt.Sprintf("%s refers to %d resources or more: only so many are kept", row.ID, engine.MaxRelations))
	}
	return targets, nil
}

// neededBy adds what refers to a resource.
func (g *grapher) neededBy(ctx context.Context, t engine.Target) ([]engine.Target, error) {
	rows, next, err := g.a.Store.Resources(ctx, engine.ResourceFilter{RefersTo: t, Limit: maxGraph})
	if err != nil {
		return nil, err
	}
	if next != "" {
		g.unknown(fmt.Sprintf("more than %d resources refer to %s", maxGraph, t.ID))
	}
	var targets []engine.Target
	for i := range rows {
		from := targetOf(rows[i])
		g.rows[from] = &rows[i]
		for _, r := range rows[i].Relations {
			if r.Target != t {
				continue
			}
			if err := g.edge(ctx, &rows[i], r); err != nil {
				return nil, err
			}
		}
		targets = append(targets, from)
	}
	return targets, nil
}

// made adds what this site's application has made along with a resource, and with that in turn.
func (g *grapher) made(ctx context.Context, t engine.Target, credentials *engine.Credentials, deep int) error {
	found, err := g.a.Made(ctx, t, credentials)
	if err != nil {
		g.unknown(fmt.Sprintf("some of what this site's application makes along: could not %v", err))
	}
	for _, r := range found {
		if !r.Replicated {
			g.rows[r.Target] = nil
		}
		if err := g.node(ctx, r.Target); err != nil {
			return err
		}
		i, ok := g.nodes[shape.KeyOf(r.Target)]
		if !ok {
			continue
		}
		if !r.Replicated {
			g.graph.Nodes[i].Sites = []string{g.a.SelfName()}
		}
		e := shape.RelationEdge{From: shape.KeyOf(t), To: shape.KeyOf(r.Target), At: string(r.By.At), Relation: string(r.By.Type)}
		if g.edges[e] {
			continue
		}
		g.edges[e] = true
		g.graph.Edges = append(g.graph.Edges, e)
		if deep > 1 {
			if err := g.made(ctx, r.Target, credentials, deep-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxMade is through how many steps made goes: a deployment makes sets, and these make pods.
const maxMade = 3

// objects adds what refers to a resource and is an object of this site alone, and says what is not known of others.
func (g *grapher) objects(ctx context.Context, t engine.Target, caller http.Header) error {
	var credentials *engine.Credentials // none: the agent's own
	if v := caller.Get("Authorization"); v != "" {
		credentials = &engine.Credentials{Header: http.Header{"Authorization": {v}}}
	}
	ctx, cancel := context.WithTimeout(ctx, replicaWait)
	defer cancel()
	if err := errors.Join(g.node(ctx, t), g.made(ctx, t, credentials, maxMade)); err != nil {
		return err
	}
	may := false
	for _, s := range g.a.Services {
		for _, k := range s.Kinds() {
			may = may || slices.ContainsFunc(k.Refs, func(r engine.Ref) bool { return r.Service == t.Service && r.Kind == t.Kind })
		}
	}
	if !may {
		return nil
	}
	if others := len(g.a.Mesh.Members()) - 1; others > 0 {
		g.unknown("objects that another site has alone")
	}
	found, err := g.a.Referring(ctx, t, credentials)
	if err != nil {
		g.unknown(fmt.Sprintf("some objects of this site alone: could not %v", err))
	}
	for _, r := range found {
		if r.Replicated || r.ID == "" {
			continue
		}
		g.rows[r.Target] = nil // an object of this site, whatever a resource elsewhere is called
		if err := g.node(ctx, r.Target); err != nil {
			return err
		}
		if i, ok := g.nodes[shape.KeyOf(r.Target)]; ok {
			g.graph.Nodes[i].Sites = []string{g.a.SelfName()}
			g.graph.Edges = append(g.graph.Edges, shape.RelationEdge{From: shape.KeyOf(r.Target), To: shape.KeyOf(t), At: string(r.By.At), Relation: string(r.By.Type)})
		}
	}
	return nil
}

func (g *grapher) edge(ctx context.Context, from *engine.ResourceRow, r engine.Relation) error {
	if err := errors.Join(g.node(ctx, targetOf(*from)), g.node(ctx, r.Target)); err != nil || g.full {
		return err
	}
	to, err := g.row(ctx, r.Target)
	if err != nil {
		return err
	}
	e := shape.RelationEdge{From: shape.KeyOf(targetOf(*from)), To: shape.KeyOf(r.Target), At: string(r.At), Relation: string(r.Type), Warning: shape.Lacking(g.names, from, to, r)}
	if !g.edges[e] {
		g.edges[e] = true
		g.graph.Edges = append(g.graph.Edges, e)
	}
	return nil
}

func (g *grapher) node(ctx context.Context, t engine.Target) error {
	key := shape.KeyOf(t)
	if _, known := g.nodes[key]; known {
		return nil
	}
	if g.full = len(g.nodes) >= maxGraph; g.full {
		return nil
	}
	row, err := g.row(ctx, t)
	if err != nil {
		return err
	}
	n := shape.RelationNode{Key: key, Service: string(t.Service), Kind: string(t.Kind), ID: string(t.ID), Sites: []string{}}
	if row != nil {
		state, reason, _ := g.names.StateOf(row)
		n.Label, n.Shared, n.State, n.Reason = row.Label, true, string(state), reason
		n.Sites = append(n.Sites, g.names.Placement(row)...)
	}
	g.nodes[key] = len(g.graph.Nodes)
	g.graph.Nodes = append(g.graph.Nodes, n)
	return nil
}

// row returns nil for what is not shared with this site.
func (g *grapher) row(ctx context.Context, t engine.Target) (*engine.ResourceRow, error) {
	if row, known := g.rows[t]; known {
		return row, nil
	}
	row, err := g.a.row(ctx, ResourceRef{string(t.ID), string(t.Service), string(t.Kind)})
	refusal := (*engine.Refusal)(nil)
	switch {
	case errors.As(err, &refusal) && refusal.Status < 500:
		g.rows[t] = nil
	case err != nil:
		return nil, err
	default:
		g.rows[t] = &row
	}
	return g.rows[t], nil
}

func (g *grapher) unknown(what string) {
	if !slices.Contains(g.graph.Unknown, what) {
		g.graph.Unknown = append(g.graph.Unknown, what)
	}
}

func targetOf(row engine.ResourceRow) engine.Target {
	return engine.Target{Service: row.Service, Kind: row.Kind, ID: row.ID}
}

func (a *API) getRelations(c echo.Context) error {
	q, err := params(c, "resource", "service", "kind", "limit", "cursor")
	if err != nil {
		return err
	}
	n, err := limit(q)
	if err != nil {
		return err
	}
	v, err := a.Relations(c.Request().Context(), RelationQuery{
		ResourceRef: ResourceRef{q.Get("resource"), q.Get("service"), q.Get("kind")}, Cursor: q.Get("cursor"), Limit: n,
		Objects: true, Header: c.Request().Header,
	})
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}
