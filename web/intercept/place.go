package intercept

import (
	"errors"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/problem"
	"github.com/skerry/skerry/web/world"
)

// surroundings is what the names in scopes are looked up in.
type surroundings struct {
	engine.Membership
	Site
}

// place parses, checks and resolves the scope of a request. It returns false when it has refused the request. A
// service that the scope does not bind runs here.
func (h *Handler) place(q *request.Request) bool {
	s, err := scope.Parse(q.Text)
	if err != nil {
		detail, extra := err.Error(), map[string]any{}
		var syntax *scope.SyntaxError
		if errors.As(err, &syntax) {
			detail, extra["position"] = syntax.Picture(), syntax.Offset
		}
		h.Answered(q)
		problem.Write(q.W, http.StatusBadRequest, "scope-syntax", detail, extra)
		return false
	}
	if h.Removed() {
		h.Refuse(q, http.StatusConflict, "removed", "this site was taken out of the mesh for good: requests run here, without a scope")
		return false
	}
	known, ids := world.Of(surroundings{h.Membership, h.Site}, h.Application, h.Services, string(h.Service))
	problems := s.Check(known)
	location, bound := s.For(string(h.Service), string(h.Service))
	var alternatives []scope.Alternative
	if len(problems) == 0 && bound {
		if alternatives, err = scope.Resolve(location, known); err != nil {
			var p *scope.Problem
			if !errors.As(err, &p) {
				p = &scope.Problem{Type: scope.TypeError, Detail: err.Error()}
			}
			problems = []scope.Problem{*p}
		}
	}
	if len(problems) > 0 {
		details := make([]string, len(problems))
		for i, p := range problems {
			details[i] = p.Detail
		}
		h.Answered(q)
		problem.Write(q.W, http.StatusUnprocessableEntity, problems[0].Type, strings.Join(details, "\n"),
			map[string]any{"position": problems[0].Position, "errors": problems})
		return false
	}
	q.Parsed = s
	q.Scope = s.String()
	if !bound {
		if len(s.Bindings) > 0 { // who names some service means something by it, and may have mistyped this one
			q.Unnamed = world.Unnamed(string(h.Service), h.Name(h.Membership.Self()))
			q.Warnings = append(q.Warnings, "299 - "+request.Quoted(q.Unnamed))
		}
		return true
	}
	for _, a := range alternatives {
		c := request.Choice{Either: a.Either, Agreement: engine.Agreement(a.Wait), ExactlyOne: a.Mode == scope.ExactlyOne}
		for _, name := range a.Sites {
			c.Sites = append(c.Sites, ids[name])
		}
		for _, names := range a.Parts {
			var part []engine.SiteID
			for _, name := range names {
				part = append(part, ids[name])
			}
			c.Parts = append(c.Parts, part)
		}
		q.Choices = append(q.Choices, c)
	}
	if q.Choice = q.Choices[0]; len(q.Choices) == 1 {
		q.Choices = nil
	}
	return true
}
