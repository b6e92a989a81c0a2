package storage

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestForgetOperations lets time pass over operations of every state: only those go that have been settled for long, and nobody
// has to decide about.
func TestForgetOperations(t *testing.T) {
	now := time.Unix(1_790_000_000, 0).UTC()
	s, err := Open(t.TempDir(), Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	put := func(id engine.OperationID, at ...engine.State) {
		t.Helper()
		row := engine.OperationRow{ID: id, Document: document(string(id)), State: at[0], Sites: map[engine.SiteID]engine.OperationStatus{}}
		for i, state := range at {
			row.Sites[engine.SiteID(fmt.Sprint("site", i))] = engine.OperationStatus{State: state}
		}
		mustCommit(t, s, &engine.Batch{Operations: []engine.OperationRow{row}})
	}
	put("applied", engine.StateApplied, engine.StateSuperseded)
	put("left", engine.StateLeft)
	put("pending", engine.StatePending, engine.StateApplied)
	put("hidden", engine.StateApplied, engine.StatePaused)
	put("uncertain", engine.StateUncertain)
	put("refused", engine.StateRejected, engine.StateApplied)
	put("waits", engine.StateRejected, engine.StateApplied)
	put("kept", engine.StateApplied)
	mustCommit(t, s, &engine.Batch{Outbox: []engine.Kept{{Operation: "kept", KeptAt: now}}})
	mustCommit(t, s, &engine.Batch{Conflicts: []engine.Conflict{{ID: "c", Document: document("waits"), Since: now}}})
	settled := now
	now = now.Add(time.Hour)
	put("applied", engine.StateApplied, engine.StateApplied) // again: it has been settled before
	put("late", engine.StateApplied)
	put("again", engine.StateApplied)
	put("again", engine.StatePending)

	forget := func(before time.Time, most, want int) {
		t.Helper()
		if n, err := s.ForgetOperations(t.Context(), before, most); n != want || err != nil {
			t.Fatalf("%d were forgotten, %v; want %d", n, err, want)
		}
	}
	forget(settled, 100, 0)
	if until, err := s.ForgottenUntil(t.Context()); !until.IsZero() || err != nil {
		t.Fatalf("forgotten until %v, %v", until, err)
	}
	forget(settled.Add(1), 100, 3)
	if until, err := s.ForgottenUntil(t.Context()); !until.Equal(settled) || err != nil {
		t.Errorf("forgotten until %v, %v; want %v", until, err, settled)
	}
	there := func(id engine.OperationID) bool {
		_, err := s.Operation(t.Context(), id)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	for id, want := range map[engine.OperationID]bool{"applied": false, "left": false, "refused": false, "pending": true, "hidden": true,
		"uncertain": true, "waits": true, "kept": true, "late": true, "again": true} {
		if there(id) != want {
			t.Errorf("%s is there: %v, want %v", id, !want, want)
		}
	}
	if rows, _, err := s.Operations(t.Context(), engine.OperationFilter{Site: "site0"}); len(rows) != 7 || err != nil {
		t.Errorf("the list has %d, %v", len(rows), err)
	}
	for i := range 300 {
		now = now.Add(time.Second)
		put(engine.OperationID(fmt.Sprint("many", i)), engine.StateApplied)
	}
	forget(settled, 10, forgetAtOnce) // late is the oldest
	forget(settled, 10, 35)
	forget(settled, 10, 0)
	if there("late") || there("many289") || !there("many290") {
		t.Error("of too many, others went than the oldest")
	}
	mustCommit(t, s, &engine.Batch{Resolved: []engine.ConflictID{"c"}, Delivered: []engine.OperationID{"kept"}})
	forget(settled.Add(1), 100, 2)
	if there("waits") || there("kept") {
		t.Error("what nobody has to decide about any more stays")
	}
	// What was forgotten is written anew where something becomes of it after all.
	put("applied", engine.StatePending, engine.StateApplied)
	if !there("applied") {
		t.Error("an operation that was forgotten does not come back")
	}
}
