package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// Trial is what to try. Its Client is used as nobody else's: it is given identifiers that mean themselves.
type Trial struct {
	Catalog *glue.Catalog
	Client  *glue.Client
	// Kinds are those to try; the containers that they lie in have to be among them.
	Kinds []*engine.Kind
	// Bodies are what creates the objects of a kind, by SERVICE/KIND. Those of other kinds get a name alone.
	Bodies map[string]json.RawMessage
	// Credentials are who asks; nil: the agent itself.
	Credentials *engine.Credentials
	// Patience is how long the application may take until it shows what it has accepted.
	Patience time.Duration
	// Name makes a name that nothing has yet.
	Name func() string
}

// Finding is one thing that was seen of a kind.
type Finding struct {
	Kind string `json:"kind"` // SERVICE/KIND
	// Untrue says that the catalog tells something else; other findings are worth knowing.
	Untrue bool   `json:"untrue"`
	Seen   string `json:"seen"`
	// Say is what the catalog would say of it, in YAML; empty where nothing can be said.
	Say string `json:"say,omitempty"`
}

// Report is what came of a trial.
type Report struct {
	// Tried are the kinds of which an object was made.
	Tried    []string  `json:"tried"`
	Findings []Finding `json:"findings"`
	// Left are the paths of objects that could not be deleted.
	Left []string `json:"left"`
}

// True reports whether the catalog is true as far as it was seen, and nothing is left.
func (r *Report) True() bool {
	return len(r.Left) == 0 && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Untrue })
}

// run is a trial under way.
type run struct {
	*Trial
	report Report
	made   []*object          // in the order in which they were made
	first  map[string]*object // of each kind
}

// object is one that was made.
type object struct {
	kind *engine.Kind
	id   engine.LocalID
	sent []byte
	// settling are the fields that were seen to change by themselves.
	settling []engine.Pointer
}

// Run tries all kinds and then deletes what it has made, also where ctx has ended meanwhile.
func (t *Trial) Run(ctx context.Context) Report {
	t.Client.Use(itself{})
	r := &run{Trial: t, first: map[string]*object{}}
	for _, k := range Order(t.Catalog, t.Kinds) {
		if ctx.Err() == nil {
			r.try(ctx, k)
		}
	}
	for _, o := range slices.Backward(r.made) {
		r.delete(context.WithoutCancel(ctx), o)
	}
	return r.report
}

// Order has containers before what lies in them, and what is referred to before what refers to it. Of two that refer to each other that goes first
// which the other one requires.
func Order(c *glue.Catalog, of []*engine.Kind) (kinds []*engine.Kind) {
	seen := map[*engine.Kind]bool{}
	var visit func(k *engine.Kind)
	visit = func(k *engine.Kind) {
		if k == nil || seen[k] || !slices.Contains(of, k) {
			return
		}
		seen[k] = true
		visit(c.Kind(k.Service, k.Within))
		for _, ref := range k.Refs {
			if other := c.Kind(ref.Service, ref.Kind); other != nil && !requires(other, k) {
				visit(other)
			}
		}
		kinds = append(kinds, k)
	}
	for _, k := range of {
		visit(k)
	}
	return kinds
}

// requires reports whether a kind cannot be without one of another.
func requires(k, other *engine.Kind) bool {
	return slices.ContainsFunc(k.Refs, func(ref engine.Ref) bool {
		return ref.Relation == engine.RelationRequirement && ref.Service == other.Service && ref.Kind == other.Name
	})
}

func (r *run) untrue(k *engine.Kind, say, format string, args ...any) {
	r.report.Findings = append(r.report.Findings, Finding{nameOf(k), true, fmt.Sprintf(format, args...), say})
}

func (r *run) note(k *engine.Kind, say, format string, args ...any) {
	r.report.Findings = append(r.report.Findings, Finding{nameOf(k), false, fmt.Sprintf(format, args...), say})
}

func nameOf(k *engine.Kind) string { return string(k.Service) + "/" + string(k.Name) }

// try finds out about one kind.
func (r *run) try(ctx context.Context, k *engine.Kind) {
	o, shown, ok := r.make(ctx, k, r.Name())
	if !ok {
		return
	}
	r.first[nameOf(k)] = o
	r.report.Tried = append(r.report.Tried, nameOf(k))
	if again, ok := r.read(ctx, o); ok {
		r.settle(o, shown.Body, again.Body)
		r.twin(ctx, o, again.Body)
	}
	if again, ok := r.read(ctx, o); ok {
		r.putBack(ctx, o, again)
	}
	r.list(ctx, o)
	r.content(ctx, o)
}

// call sends one request about an object, or about its collection.
func (r *run) call(ctx context.Context, k *engine.Kind, method, path string, local engine.LocalID, body []byte, header map[string]string) (engine.Reply, error) {
	all := map[string]string{"Accept": "application/json"}
	if body != nil {
		all["Content-Type"] = "application/json"
	}
	maps.Copy(all, header)
	return r.Client.Do(ctx, engine.Call{Kind: k, Method: method, Path: path, Local: local, Header: all, Body: body, Credentials: r.Credentials})
}

// eventually calls until ok takes the answer, or patience has ended; it returns the last answer.
func (r *run) eventually(ctx context.Context, call func() (engine.Reply, error), ok func(engine.Reply) bool) (reply engine.Reply, asked int, err error) {
	deadline := time.Now().Add(r.Patience)
	for {
		reply, err = call()
		asked++
		if err != nil || ok(reply) || !time.Now().Before(deadline) {
			return reply, asked, err
		}
		select {
		case <-ctx.Done():
			return reply, asked, ctx.Err()
		case <-time.After(min(r.Patience/4, 250*time.Millisecond)):
		}
	}
}

// fine reports whether a status says that what was asked for was done, or will be.
func fine(status int) bool { return status >= 200 && status < 300 }

// excerpt is the beginning of an answer, in one line.
func excerpt(r engine.Reply) string {
	text := strings.Join(strings.Fields(string(r.Body)), " ")
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	if text == "" {
		return fmt.Sprint(r.Status)
	}
	return fmt.Sprintf("%d %s", r.Status, text)
}

// itself has every identifier mean itself: nothing is replicated.
type itself struct{}

func (itself) Local(context.Context, engine.ServiceName, engine.KindName, engine.ResourceID) (engine.LocalID, bool) {
	return "", false
}

func (itself) Meta(context.Context, engine.ServiceName, engine.KindName, engine.LocalID) (engine.ResourceID, bool) {
	return "", false
}

func (itself) Translated(engine.ServiceName, engine.KindName) bool { return false }

// gone reports whether an answer says that there is nothing any more.
func gone(r engine.Reply) bool { return r.Status == http.StatusNotFound || r.Status == http.StatusGone }
