package plan

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestDeletesOfTwoUsersAreTakenBackApart has a site do two deletes, of two users, of which another create leaves an object, and a concurrent change
// takes both away: no one request does both.
func TestDeletesOfTwoUsersAreTakenBackApart(t *testing.T) {
	k := *lab
	k.UpdateWins = true
	a, b, c, d := deskOf("a", &k), deskOf("b", &k), deskOf("c", &k), deskOf("d", &k)
	create := a.issue(t, engine.TypeCreate, "/images", `{"name":"n","size":1}`, 1)
	c.hears(t, create)
	d.hears(t, create)
	change := a.issue(t, engine.TypeMerge, "/images/{id}", `{"tags":["x"]}`, 2)
	first, second := c.issue(t, engine.TypeDelete, "/images/{id}", "", 3), d.issue(t, engine.TypeDelete, "/images/{id}", "", 4)
	second.Asker = &engine.Asker{User: "bob"}
	other := b.issue(t, engine.TypeCreate, "/images", `{"name":"m"}`, 5) // which nobody has seen
	b.hears(t, create)
	b.hears(t, first)
	b.hears(t, second)
	if b.shows == nil || other == nil {
		t.Fatal("b shows nothing: the deletes have not seen its create")
	}
	b.hears(t, change) // each step is asked for by one user
	b.lawful(t)
	if got := b.shows.(map[string]any); got["size"] == nil || got["tags"] == nil {
		t.Errorf("b shows %v", got)
	}
}
