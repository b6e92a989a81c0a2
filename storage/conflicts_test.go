package storage

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestConflicts(t *testing.T) {
	s := open(t, t.TempDir())
	since := time.Unix(1000, 0).UTC()
	var b engine.Batch
	for i := range 5 {
		c := engine.Conflict{ID: engine.ConflictID(fmt.Sprint("c", i)), Kind: engine.ConflictRefused, Document: document("d"), Service: "images", KindName: "image", Site: "paris",
			Since: since.Add(time.Duration(i) * time.Second), Reason: "no", Actions: []engine.Action{engine.ActionRetry}}
		if i == 4 {
			c.Document, c.Kind, c.Site = "", engine.ConflictUncertain, "nantes"
		}
		b.Conflicts = append(b.Conflicts, c)
	}
	b.Conflicts[0].Accepted = &engine.Decision{Action: engine.ActionDrop, By: "paris", At: since.UnixMicro(), For: since.UnixMicro()}
	if err := s.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	list := func(f engine.ConflictFilter) string {
		t.Helper()
		text := ""
		for {
			page, next, err := s.Conflicts(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page {
				text += string(c.ID)
			}
			if f.Cursor = next; next == "" {
				return text
			}
			text += "/"
		}
	}
	for want, f := range map[string]engine.ConflictFilter{
		"c4c3c2c1": {}, "c4c3/c2c1": {Limit: 2}, "c0": {Accepted: true}, "c4": {Kind: engine.ConflictUncertain},
		"c3c2c1": {Site: "paris"}, "": {Service: "servers"}, "c3/c2/c1": {Document: document("d"), Limit: 1},
	} {
		if got := list(f); got != want {
			t.Errorf("%+v lists %q, want %q", f, got, want)
		}
	}
	if _, _, err := s.Conflicts(t.Context(), engine.ConflictFilter{Cursor: "x"}); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("a cursor that is none: %v", err)
	}
	if of, err := s.ConflictsOf(t.Context(), document("d")); err != nil || len(of) != 4 || of[0].Accepted == nil {
		t.Errorf("of the document: %+v, %v", of, err)
	}
	if of, err := s.ConflictsOf(t.Context(), ""); err != nil || len(of) != 0 {
		t.Errorf("of no document: %+v, %v", of, err)
	}
	refused := engine.Cause{About: engine.ConflictRefused, Site: "paris", Service: "images", Kind: "image"}
	uncertain := engine.Cause{About: engine.ConflictUncertain, Site: "nantes", Service: "images", Kind: "image"}
	if n, err := s.CountConflicts(t.Context()); err != nil || !maps.Equal(n, map[engine.Cause]engine.CauseTally{refused: {Number: 3, Newest: "c3"}, uncertain: {Number: 1, Newest: "c4"}}) {
		t.Errorf("counted %v, %v", n, err)
	}
	if err := s.Commit(t.Context(), &engine.Batch{Resolved: []engine.ConflictID{"c3", "none"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Conflict(t.Context(), "c3"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a resolved one: %v", err)
	}
	if n, err := s.CountConflicts(t.Context()); err != nil || n[refused] != (engine.CauseTally{Number: 2, Newest: "c2"}) {
		t.Errorf("without the resolved one: %v, %v", n, err)
	}
	if c, err := s.Conflict(t.Context(), "c2"); err != nil || !c.Since.Equal(since.Add(2*time.Second)) || len(c.Actions) != 1 {
		t.Errorf("another one: %+v, %v", c, err)
	}
}
