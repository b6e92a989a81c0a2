package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/shape"
)

// PartsOf are the sites of each part that a request of a scope, or of a known resource, concerns; nil when it is not about a
// Cross resource. What is known of the resource counts before the scope.
func PartsOf(n shape.Names, row *engine.ResourceRow, a scope.Alternative) [][]string {
	if row == nil {
		return a.Parts
	}
	return n.Parts(row)
}

// Cross plans a request about a resource whose parts these are. It reports false for what is planned like any other.
func (p *Planner) Cross(m glue.Match, row *engine.ResourceRow, alone bool, parts [][]string, body json.RawMessage) bool {
	if len(parts) == 0 || m.Kind == nil {
		return false
	}
	over := make([]string, len(parts))
	for i, part := range parts {
		over[i] = strings.Join(part, " & ")
	}
	spread := strings.Join(over, " % ")
	switch {
	case m.Verb == glue.VerbRead && alone && row != nil:
		return false // one part is read
	case m.Verb == glue.VerbRead:
		p.Plan.Summary = "Every part is asked at once (" + spread + ") and their answers are made one; parts that do not answer are named."
		for _, part := range parts {
			if s := p.nearest(part); s != "" {
				p.step(s, "answers with its part")
				continue
			}
			p.step(part[0], "cannot answer: what it showed last counts")
		}
	case m.Verb == glue.VerbList:
		return false
	case row == nil && p.adopts(m, slices.Concat(parts...)):
		p.Plan.Summary = fmt.Sprintf("If the application of %s has this %s and nobody replicates it, it is spread over %s: "+
			"its create is made from what it shows, nothing is sent there but the request and its share.", p.self, m.Kind.Name, spread)
		p.step(p.self, "makes a resource of the object that it has, runs the request, and is brought to its share")
		for _, s := range slices.Concat(parts...) {
			if s != p.self {
				p.step(s, "makes its part", p.self)
			}
		}
	default:
		summary := "One " + string(m.Kind.Name) + " spread over " + spread + "."
		if row != nil {
			summary = fmt.Sprintf("%s %s is spread over %s: the change goes to every part, whatever the scope says.", m.Kind.Name, row.ID, spread)
		}
		shares := tree.Shares(m.Kind, body, len(parts))
		if len(shares) > 0 {
			summary += " " + inShares(shares)
		}
		p.write(slices.Concat(parts...), summary)
		for i := range p.Plan.Steps {
			st := &p.Plan.Steps[i]
			at := slices.IndexFunc(parts, func(part []string) bool { return slices.Contains(part, st.Site) })
			if len(shares) > 0 && at >= 0 {
				st.Does += "; its share: " + share(shares[at])
			}
		}
	}
	return true
}

// inShares says how what is divided is divided.
func inShares(shares []map[engine.Pointer]json.RawMessage) string {
	texts := make([]string, len(shares))
	for i, s := range shares {
		texts[i] = share(s)
	}
	return "Divided: " + strings.Join(texts, "; ") + "."
}

func share(s map[engine.Pointer]json.RawMessage) string {
	var texts []string
	for p, v := range s {
		texts = append(texts, fmt.Sprintf("%s %s", p, v))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
