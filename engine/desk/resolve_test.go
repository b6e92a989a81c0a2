package desk

import (
	"errors"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestResolve(t *testing.T) {
	every := []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop, engine.ActionAdopt, engine.ActionKeep, engine.ActionDismiss}
	conflict := func(kind engine.ConflictKind, at engine.SiteID, actions ...engine.Action) engine.Conflict {
		return engine.Conflict{ID: "c", Kind: kind, Site: at, Document: "doc", Operation: "nantes-1", Actions: actions}
	}
	request := engine.Conflict{ID: "c", Kind: engine.ConflictUncertain, Site: "paris", Operation: "kept", Actions: every[:3]}
	for name, test := range map[string]struct {
		conflict engine.Conflict
		action   engine.Action
		want     string // what is decided, or what is refused
	}{
		"retry":                  {conflict(engine.ConflictRefused, "paris", every...), engine.ActionRetry, "doc: retry nantes-1 c ann nantes"},
		"done":                   {conflict(engine.ConflictUncertain, "paris", every...), engine.ActionDone, "doc: done nantes-1 c ann nantes"},
		"drop":                   {conflict(engine.ConflictRefused, "paris", every...), engine.ActionDrop, "doc: drop nantes-1 c ann nantes"},
		"drop a name":            {conflict(engine.ConflictName, "paris", engine.ActionDrop), engine.ActionDrop, "doc: drop name c ann nantes"},
		"resume what is aside":   {conflict(engine.ConflictAside, "paris", engine.ActionRetry), engine.ActionRetry, "doc: resume c ann nantes"},
		"keep this site":         {conflict(engine.ConflictDrift, "nantes", every...), engine.ActionKeep, "doc: keep c ann nantes by force"},
		"dismiss what is there":  {conflict(engine.ConflictDrift, "nantes", every...), engine.ActionDismiss, "doc: dismiss c ann nantes"},
		"dismiss what is here":   {conflict(engine.ConflictDrift, "paris", every...), engine.ActionDismiss, "doc: dismiss c ann nantes"},
		"ask again":              {conflict(engine.ConflictDrift, "nantes", engine.ActionReopen), engine.ActionReopen, "doc: reopen c ann nantes"},
		"a request: retry":       {request, engine.ActionRetry, "retry kept"},
		"a request: drop":        {request, engine.ActionDrop, "drop kept"},
		"a request: adopt":       {request, engine.ActionAdopt, `settle: "adopt" is nothing that can be decided about this conflict; it takes retry, done or drop`},
		"drop at another site":   {conflict(engine.ConflictRefused, "nantes", every...), engine.ActionDrop, "settle: the conflict is at the site nantes: it is resolved there"},
		"nothing can be decided": {conflict(engine.ConflictName, "paris"), engine.ActionDrop, `settle: "drop" is nothing that can be decided about this conflict; it takes nothing now: the reason says what it waits for`},
		"one thing can be":       {conflict(engine.ConflictName, "paris", engine.ActionDrop), engine.ActionKeep, `settle: "keep" is nothing that can be decided about this conflict; it takes drop`},
		"two things can be":      {conflict(engine.ConflictDrift, "paris", every[4:]...), engine.ActionDone, `settle: "done" is nothing that can be decided about this conflict; it takes keep or dismiss`},
		"an action that is none": {conflict(engine.ConflictDrift, "paris", engine.ActionKeep), "explode", `settle: "explode" is nothing that can be decided about this conflict; it takes keep`},
		"adopt the usual object": {conflict(engine.ConflictExists, "paris", every...), engine.ActionAdopt, "doc: adopt nantes-1 c ann nantes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.add("doc", boxes, nil, op("nantes", 1, engine.TypeCreate, &engine.Edit{}))
			b.store.conflicts["c"] = test.conflict
			b.requests.open["kept"] = every[:3]
			err := b.Resolve(t.Context(), "c", test.action, "", engine.Decider{User: "ann", Site: "nantes"})
			got := append(slices.Clone(b.site.decided), b.requests.settled...)
			if err != nil {
				got = append(got, err.Error())
			}
			if !slices.Equal(got, []string{test.want}) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if err := newBench(t).Resolve(t.Context(), "c", engine.ActionDrop, "", engine.Decider{}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a conflict that is no more: %v", err)
	}
}
