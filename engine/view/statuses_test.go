package view

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestALostStatusIsKeptForItsSite: a site whose disk was set back says less than it had said. In whichever order its statuses come, both are kept, and
// two sites that have them have one digest, until it says that it knows.
func TestALostStatusIsKeptForItsSite(t *testing.T) {
	before := engine.Status{Number: 2, Settled: engine.Vector{"nantes/1": 2, "paris/1": 1}}
	after := engine.Status{Number: 3, Settled: engine.Vector{"nantes/1": 1, "paris/1": 1}}
	take := func(s *Statuses, st engine.Status) (news bool) {
		_, news = s.newer(&st, engine.SignedStatus{Site: "paris", Status: engine.Encode(&st)})
		return news
	}
	var one, two Statuses
	if !take(&one, before) || !take(&one, after) || !take(&two, after) || take(&two, before) {
		t.Error("the newest alone is news")
	}
	for _, s := range []*Statuses{&one, &two} {
		if lost := s.LostStatuses(); len(lost) != 1 || string(lost[0].Status) != string(engine.Encode(&before)) || s.of["paris"].status.Number != 3 || s.digest != one.digest {
			t.Errorf("%d lost statuses, the newest is %d", len(lost), s.of["paris"].status.Number)
		}
	}
	for what, st := range map[string]engine.Status{
		"it says that it joins anew":  {Number: 4, Rejoins: true},
		"it has settled that again":   {Number: 4, Settled: engine.Vector{"nantes/1": 2, "paris/2": 1}},
		"it was removed meanwhile":    {Number: 4, Left: &engine.Left{}},
		"it was removed and let in":   {Number: 4, Joined: "again"},
		"its own line alone is short": {Number: 4, Settled: engine.Vector{"nantes/1": 2}},
	} {
		var s, plain Statuses
		take(&s, before)
		take(&s, after)
		take(&s, st)
		take(&plain, st)
		if len(s.LostStatuses()) != 0 || s.digest != plain.digest {
			t.Errorf("%s: the lost status is kept", what)
		}
	}
}
