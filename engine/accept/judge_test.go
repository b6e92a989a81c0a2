package accept

import (
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// region is a mesh of nantes, where rules count, paris, and lyon, which is in the zone south.
type region struct{}

func (region) Self() engine.SiteID                   { return "nantes" }
func (region) WasAdmitted(id engine.SiteID) bool     { return id != "unheard" }
func (region) Name(id engine.SiteID) engine.SiteName { return engine.SiteName(id) }
func (region) Zones() []engine.Zone {
	return []engine.Zone{{Name: "south", Sites: []engine.SiteID{"lyon"}}}
}
func wish(from engine.SiteID, act engine.Act) engine.Wish {
	return engine.Wish{From: from, Service: "images", Kind: "image", Act: act, Scope: engine.Replication}
}

func TestTheFirstRuleThatFitsCounts(t *testing.T) {
	image, network := Kind{"images", "image"}, Kind{"networks", Any}
	only := func(acts ...engine.Act) []engine.Act { return append([]engine.Act{}, acts...) }
	for _, c := range []struct {
		name  string
		rules []Rule
		wish  engine.Wish
		want  bool
		rule  int
	}{
		{"no rules", nil, wish("paris", engine.ActDelete), true, 0},
		{"no rules, and no authority has let it in", nil, wish("unheard", engine.ActDelete), false, 0},
		{"an empty list", []Rule{}, wish("paris", engine.ActRead), false, 0},
		{"its own", []Rule{}, wish("nantes", engine.ActDelete), true, 0},
		{"by name", []Rule{{From: "paris"}}, wish("paris", engine.ActDelete), true, 1},
		{"of another name", []Rule{{From: "paris"}}, wish("lyon", engine.ActRead), false, 0},
		{"by zone", []Rule{{From: "paris"}, {From: "south"}}, wish("lyon", engine.ActRead), true, 2},
		{"not in the zone", []Rule{{From: "south"}}, wish("paris", engine.ActRead), false, 0},
		{"everybody", []Rule{{From: Any}}, wish("lyon", engine.ActRead), true, 1},
		{"everybody but whom no authority has let in", []Rule{{From: Any}}, wish("unheard", engine.ActRead), false, 0},
		{"the first forbids what the second lets", []Rule{{From: "paris", Acts: only(engine.ActRead)}, {From: Any}}, wish("paris", engine.ActDelete), false, 1},
		{"the first lets what the second forbids", []Rule{{From: "paris"}, {From: Any, Acts: only()}}, wish("paris", engine.ActDelete), true, 1},
		{"nothing", []Rule{{From: "paris", Acts: only()}, {From: Any}}, wish("paris", engine.ActRead), false, 1},
		{"of another kind the next counts", []Rule{{From: "paris", Kinds: []Kind{network}, Acts: only()}, {From: Any}}, wish("paris", engine.ActRead), true, 2},
		{"of the kind it counts", []Rule{{From: "paris", Kinds: []Kind{network, image}, Acts: only()}, {From: Any}}, wish("paris", engine.ActRead), false, 1},
		{"any service", []Rule{{From: "paris", Kinds: []Kind{{Any, "image"}}}}, wish("paris", engine.ActRead), true, 1},
		{"no kind", []Rule{{From: Any, Kinds: []Kind{}}}, wish("paris", engine.ActRead), false, 0},
		{"what the application says of itself", []Rule{{From: Any, Kinds: []Kind{image}}}, engine.Wish{From: "paris", Service: "images", Act: engine.ActRead, Scope: engine.Sharing}, true, 1},
		{"of another service", []Rule{{From: Any, Kinds: []Kind{network}}}, engine.Wish{From: "paris", Service: "images", Act: engine.ActRead, Scope: engine.Sharing}, false, 0},
		{"the scope", []Rule{{From: Any, Scopes: []engine.Collaboration{engine.Replication}}}, wish("paris", engine.ActCreate), true, 1},
		{"another scope", []Rule{{From: Any, Scopes: []engine.Collaboration{engine.Sharing, engine.Cross}}, {From: Any}}, wish("paris", engine.ActCreate), false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := &Judge{c.rules, region{}}
			got := j.Accepts(c.wish)
			if got.Accepted != c.want || got.Rule != c.rule || got.Reason == "" {
				t.Errorf("%+v, want %v by rule %d", got, c.want, c.rule)
			}
			if !c.want && !strings.HasPrefix(got.Reason, "nantes does not accept "+string(c.wish.Act)) {
				t.Errorf("the reason is %q", got.Reason)
			}
		})
	}
}

func TestRulesAreTold(t *testing.T) {
	r := Rule{From: "paris", Kinds: []Kind{{Any, Any}, {"images", Any}}, Acts: []engine.Act{engine.ActRead, engine.ActCreate}, Scopes: []engine.Collaboration{}}
	if got, want := r.String(), "from paris, kinds * images/*, operations read create, scopes none"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEveryTypeIsAnAct(t *testing.T) {
	for typ, act := range map[engine.Type]engine.Act{engine.TypeCreate: engine.ActCreate, engine.TypeReplace: engine.ActChange, engine.TypeMerge: engine.ActChange,
		engine.TypePatch: engine.ActChange, engine.TypeAbsolute: engine.ActChange, engine.TypeAction: engine.ActAction, engine.TypeDelete: engine.ActDelete} {
		if got := typ.Act(); got != act {
			t.Errorf("%s is %s, want %s", typ, got, act)
		}
	}
}

// TestRestricts: rules may forbid anybody something; without rules, whom no authority has let in.
func TestRestricts(t *testing.T) {
	for _, c := range []struct {
		rules []Rule
		site  engine.SiteID
		want  bool
	}{{nil, "paris", false}, {nil, "unheard", true}, {[]Rule{}, "paris", true}, {[]Rule{{From: Any}}, "nantes", true}} {
		if got := (&Judge{c.rules, region{}}).Restricts(c.site); got != c.want {
			t.Errorf("%v, %s: %v", c.rules, c.site, got)
		}
	}
	if (&Judge{nil, alone{}}).Restricts("nantes") {
		t.Error("a site that belongs to no mesh restricts itself")
	}
}

// alone belongs to no mesh.
type alone struct{ region }

func (alone) WasAdmitted(engine.SiteID) bool { return false }

// TestCheckpointsCountAsCreates: nobody but its sender has signed what is in a checkpoint.
func TestCheckpointsCountAsCreates(t *testing.T) {
	of := engine.About{Service: "images", Kind: "image", Collaboration: engine.Replication}
	for _, c := range []struct {
		rules []Rule
		from  engine.SiteID
		why   string
	}{
		{nil, "paris", ""},
		{nil, "unheard", "no authority"},
		{[]Rule{{From: "paris", As: engine.AsAgent}}, "paris", ""},
		{[]Rule{{From: "paris", Acts: []engine.Act{engine.ActChange}}}, "paris", "nantes does not accept create"},
		{[]Rule{{From: "paris", As: engine.AsUser}}, "paris", "does not prove who has asked"},
	} {
		err := (&Judge{c.rules, region{}}).Checkpoint(c.from, of)
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%v, %s: %v, want %q", c.rules, c.from, err, c.why)
		}
	}
}
