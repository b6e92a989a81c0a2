package engine

import (
	"strings"
	"testing"
)

// TestCheckpointsThatNoAgentMakesAreRefused has a member send checkpoints with which a site could not go on, now or later.
func TestCheckpointsThatNoAgentMakesAreRefused(t *testing.T) {
	const kept = `{"id":"a","type":"merge","method":"PATCH","path":"/images/{id}","origin":"nantes","run":"00000001","seq":1,"time":1`
	for name, c := range map[string]struct{ members, why string }{
		"nothing amiss":             {`"kept":[` + kept + `,"change":{}}],"former":{"paris":{"settled":{},"at":"2026-01-01T00:00:00Z","lost":{"local_id":"1","had":{},"others":[{"local_id":"2","settled":{}}],"settled":{}}}}`, ""},
		"null is kept":              {`"kept":[null]`, "an operation that is none"},
		"null is late":              {`"late":[null]`, "an operation that is none"},
		"a repair of nothing":       {`"kept":[` + kept + `,"repair":true}]`, "a repair that says nothing"},
		"a placement that is none":  {`"kept":[` + strings.Replace(kept, "merge", "place", 1) + `}]`, "a placement change that is none"},
		"objects beside none":       {`"former":{"paris":{"settled":{},"at":"2026-01-01T00:00:00Z","lost":{"others":[{"local_id":"2","settled":{}}],"settled":{}}}}`, "lost objects that are none"},
		"objects beside an unknown": {`"former":{"paris":{"settled":{},"at":"2026-01-01T00:00:00Z","lost":{"local_id":"1","others":[{"local_id":"2","settled":{}}],"settled":{}}}}`, "lost objects that are none"},
		"an object without a name":  {`"former":{"paris":{"settled":{},"at":"2026-01-01T00:00:00Z","lost":{"local_id":"1","had":{},"others":[{"local_id":"","settled":{}}],"settled":{}}}}`, "lost objects that are none"},
		"a member of no meaning":    {`"more":1`, "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newView("paris", func(s SiteID) SiteName { return SiteName(s) }, "d", About{Placement: []SiteID{"paris", "nantes"}}, nil, &Kind{})
			err := v.begin([]byte(`{"seen":{},"firm":{},"time":1,"first":1,"count":0,"newest":[],"writers":["nantes","paris"],` + c.members + `}`))
			switch {
			case c.why == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
				t.Errorf("it is refused with %v, not because of %s", err, c.why)
			}
		})
	}
}

// TestLostObjectsOfNothingAreLeft ends a recheck with what an earlier version may have stored: objects beside none.
func TestLostObjectsOfNothingAreLeft(t *testing.T) {
	for _, l := range []*Lost{{Others: []LostObject{{Local: "2"}}}, {Local: "1", Others: []LostObject{{Local: "2"}}}} {
		if rest := l.without("1"); rest != nil {
			t.Errorf("of %+v %+v is left", l, rest)
		}
	}
}
