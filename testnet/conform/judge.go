package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// calm is how long what is degraded has to stay so until it counts as settled: it is tried again meanwhile.
const calm = 5 * time.Second

// settled waits until both agents say of every resource how it is for good: the same at both sites, or waiting for a person.
func (r *run) settled(ctx context.Context) error {
	since, before := time.Now(), ""
	late := r.until(ctx, "the sites settle", func() error {
		restless, degraded, err := r.restless(ctx)
		if err != nil {
			return err
		}
		if degraded != before {
			since, before = time.Now(), degraded
		}
		switch {
		case len(restless) > 0:
			return fmt.Errorf("%d are not, the first: %s", len(restless), restless[0])
		case degraded != "" && time.Since(since) < calm:
			return errors.New("what is degraded may be tried again")
		}
		return nil
	})
	for _, s := range r.sites {
		if err := s.decisions(ctx); err != nil {
			return err
		}
	}
	return late
}

// restless asks both agents, and tells which resources are still being brought to be the same, and which are degraded.
func (r *run) restless(ctx context.Context) (restless []string, degraded string, err error) {
	for _, s := range r.sites {
		if err := s.hear(ctx); err != nil {
			return nil, "", err
		}
		for _, key := range slices.Sorted(maps.Keys(s.known)) {
			switch x := s.known[key]; x.State {
			case "converged", "conflict":
			case "degraded":
				degraded += s.name + key + x.Reason
			default:
				restless = append(restless, fmt.Sprintf("%s at %s is %s: %s", key, s.name, x.State, x.Reason))
			}
		}
	}
	return restless, degraded, nil
}

// judge says what came of a pair.
func (r *run) judge(ctx context.Context, p *pair, late error) {
	c := Case{First: p.ops[0].Name, Second: p.ops[1].Name, Verdict: Same}
	if p.refused != "" {
		c.Verdict, c.Why = Refusal, p.refused
		p.report.Cases = append(p.report.Cases, c)
		return
	}
	for _, o := range p.objects {
		v, why := r.judgeOne(ctx, p, o, late)
		if rank[v] > rank[c.Verdict] {
			c.Verdict, c.Why = v, why
		}
	}
	p.report.Cases = append(p.report.Cases, c)
}

// judgeOne compares what direct clients are shown of one object.
func (r *run) judgeOne(ctx context.Context, p *pair, o *object, late error) (Verdict, string) {
	diff, shown, err := r.compared(ctx, o)
	if err != nil {
		return Differs, err.Error()
	}
	told := r.told(o, late)
	if len(diff) > 0 && told == "" {
		// The agents say that it is the same. They may look again; what they say then counts beside what was seen.
		r.look(ctx, o)
		first := diff
		if diff, shown, err = r.compared(ctx, o); err != nil {
			return Differs, err.Error()
		}
		if told = r.told(o, nil); len(diff) == 0 && told == "" {
			return Early, fmt.Sprintf("called converged while %s still differed", words(first))
		}
	}
	switch {
	case len(diff) > 0 && told == "":
		return Differs, fmt.Sprintf("called converged, and %s", apart(diff, shown))
	case len(diff) > 0:
		return Asked, fmt.Sprintf("%s; %s", told, apart(diff, shown))
	case told != "":
		return AskedSame, told
	}
	if lost := p.lost(shown[0]); lost != "" {
		return Lost, lost
	}
	return Same, ""
}

// compared asks both applications.
func (r *run) compared(ctx context.Context, o *object) (diff []engine.Pointer, shown [2]*representation, err error) {
	for i, s := range r.sites {
		if shown[i], err = s.shows(ctx, r, o); err != nil {
			return nil, shown, err
		}
	}
	return differences(shown[0], shown[1]), shown, nil
}

// told is what the agents said last of an object that is not converged, empty where they said that it is.
func (r *run) told(o *object, late error) (said string) {
	key := nameOf(o.kind) + " " + o.id
	for _, s := range r.sites {
		if x, known := s.known[key]; known && x.State != "converged" {
			said = cmp.Or(said, fmt.Sprintf("%s at %s: %s", x.State, s.name, x.Reason))
			if late != nil && x.State != "conflict" && x.State != "degraded" {
				return "never settled: " + said
			}
		}
		said = cmp.Or(s.asks[key], said)
	}
	return said
}

// look has both agents look at what their applications show, and waits until they have settled.
func (r *run) look(ctx context.Context, o *object) {
	_ = r.sites[0].Client().Call(ctx, http.MethodPost, "/api/v1/resources/"+url.PathEscape(o.id)+"/check?service="+string(o.kind.Service)+"&kind="+string(o.kind.Name), nil, nil)
	_ = r.settled(ctx) // what is not settled is told
}

// lost says what an acknowledged operation has set and neither application shows, empty where all is as it has to be: a field that one side
// has changed has that value, one that both have changed that of the later side, and a counter both increments.
func (p *pair) lost(shown *representation) string {
	x, y := p.ops[0], p.ops[1]
	switch {
	case x.ends && y.ends, x.makes:
		return ""
	case (x.idle || y.idle) && (x.ends || y.ends):
		if deleted := x.Name == "DELETE" || y.Name == "DELETE"; deleted != (shown == nil) {
			return "it was deleted, or made again, and that does not show"
		}
		return ""
	case x.ends || y.ends:
		deletes := x.Name == "DELETE" || y.Name == "DELETE"
		switch {
		case deletes && !p.kind.UpdateWins && shown != nil:
			return "it was deleted, and it is there"
		case p.kind.UpdateWins && shown == nil:
			return "it was changed, and it is gone"
		}
		return ""
	case shown == nil:
		return "nobody has deleted it, and it is gone"
	case x.field == "" && !x.idle || y.field == "" && !y.idle || p.kind.ReplaceWhole && (strings.HasPrefix(x.Name, "PUT") || strings.HasPrefix(y.Name, "PUT")):
		return p.uncounted(shown)
	}
	for i, op := range p.ops {
		within := !x.idle && !y.idle && (x.field.Contains(y.field) || y.field.Contains(x.field))
		if op.idle || within && (i == 0 || strings.Contains(x.Name, ":") || strings.Contains(y.Name, ":")) {
			continue // the later one counts, and lists are merged
		}
		if want, got := p.between[i].text(op.field), shown.text(op.field); !p.between[i].same(shown, op.field) {
			return fmt.Sprintf("%s at %s has set %s to %s, and it is %s", op.Name, [2]string{First, Second}[i], op.field, pretty(json.RawMessage(want)), pretty(json.RawMessage(got)))
		}
	}
	return ""
}

// uncounted says which counter has not got what both sides added.
func (p *pair) uncounted(shown *representation) string {
	n := p.kind.Operations
	x := slices.IndexFunc(n, func(o engine.NamedOperation) bool { return o.Name == p.ops[0].Name })
	y := slices.IndexFunc(n, func(o engine.NamedOperation) bool { return o.Name == p.ops[1].Name })
	if x < 0 || x != y || n[x].Counter == "" {
		return ""
	}
	at := n[x].Counter
	base, all := number(p.before, at), number(shown, at)
	if want := number(p.between[0], at) + number(p.between[1], at) - base; all != want {
		return fmt.Sprintf("%s counts %d, and what both sides have added makes %d", at, all, want)
	}
	return ""
}

func number(x *representation, at engine.Pointer) (n int64) {
	if x == nil {
		return 0
	}
	if v, ok := tree.ValueAt(x.document, at); ok {
		if text, ok := v.(json.Number); ok {
			n, _ = text.Int64()
		}
	}
	return n
}

// apart says how two applications differ.
func apart(diff []engine.Pointer, shown [2]*representation) string {
	switch {
	case shown[0] == nil:
		return "it is at " + Second + " alone"
	case shown[1] == nil:
		return "it is at " + First + " alone"
	}
	p := diff[0]
	more := ""
	if len(diff) > 1 {
		more = fmt.Sprintf(", and %d more", len(diff)-1)
	}
	return fmt.Sprintf("%s is %s at %s and %s at %s%s", p, orAbsent(shown[0].values[p]), First, orAbsent(shown[1].values[p]), Second, more)
}

func orAbsent(v json.RawMessage) string {
	if v == nil {
		return "absent"
	}
	return pretty(v)
}

func words(pointers []engine.Pointer) string {
	texts := make([]string, len(pointers))
	for i, p := range pointers {
		texts[i] = cmp.Or(string(p), "the object")
	}
	return strings.Join(texts, ", ")
}
