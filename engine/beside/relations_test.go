package beside

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

var (
	networkKind = &engine.Kind{Service: "lab", Name: "network", Collection: "/networks", Item: "/networks/{id}", ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}
	serverKind  = &engine.Kind{Service: "lab", Name: "server", Collection: "/servers", Item: "/servers/{id}", ID: engine.IDRule{From: engine.IDFromBody, At: "/id"},
		Refs: []engine.Ref{
			{At: "/networks/*/id", Service: "lab", Kind: "network", Relation: engine.RelationReliance},
			{At: "/image", Service: "lab", Kind: "image", Relation: engine.RelationRequirement},
			{At: "/disk", Service: "lab", Kind: "disk", Relation: engine.RelationComposition},
		}}
	pictureKind = &engine.Kind{Service: "lab", Name: "image", Collection: "/images", Item: "/images/{id}", ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}
	diskKind    = &engine.Kind{Service: "lab", Name: "disk", Collection: "/disks", Item: "/disks/{id}", ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}
	boxKind     = &engine.Kind{Service: "lab", Name: "box", Collection: "/boxes", Item: "/boxes/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/id"}}
	toolKind    = &engine.Kind{Service: "lab", Name: "tool", Collection: "/boxes/{box}/tools", Item: "/boxes/{box}/tools/{id}", Within: "box",
		ID:   engine.IDRule{From: engine.IDFromPath, At: "/id"},
		Refs: []engine.Ref{{At: "/beside", Service: "lab", Kind: "tool", Relation: engine.RelationReliance, Beside: true}}}
)

// shelves is a directory and an index.
type shelves struct {
	kinds []*engine.Kind
	rows  []*engine.ResourceRow
	fails error
}

func newShelves() *shelves {
	return &shelves{kinds: []*engine.Kind{networkKind, serverKind, pictureKind, diskKind, boxKind, toolKind}}
}

// put puts a row of the resource key with an object at each of some sites; a name in upper case has none yet.
func (s *shelves) put(k *engine.Kind, key engine.ResourceID, sites string, relations ...engine.Relation) *engine.ResourceRow {
	row := &engine.ResourceRow{Document: engine.DocumentID(key), ID: key, Service: k.Service, Kind: k.Name, Collaboration: engine.Replication,
		State: engine.StateConverged, Sites: map[engine.SiteID]engine.ReplicaStatus{}, Relations: relations}
	for _, site := range strings.Fields(sites) {
		id := engine.SiteID(strings.ToLower(site))
		st := engine.ReplicaStatus{State: engine.StateConverged, Applied: 1, Local: engine.LocalID(site + "-" + string(key))}
		if site != string(id) {
			st.Local, st.Applied, st.Pending = "", 0, 1
		}
		if row.Sites[id] = st; id == "a" {
			row.Local = st.Local
		}
	}
	s.rows = slices.DeleteFunc(s.rows, func(r *engine.ResourceRow) bool { return r.Document == row.Document })
	s.rows = append(s.rows, row)
	return row
}

func to(k *engine.Kind, id engine.ResourceID, t engine.RelationType, found ...engine.SiteID) engine.Relation {
	return engine.Relation{Target: engine.Target{Service: k.Service, Kind: k.Name, ID: id}, Type: t, Found: found}
}

func (s *shelves) Kind(service engine.ServiceName, name engine.KindName) *engine.Kind {
	for _, k := range s.kinds {
		if k.Service == service && k.Name == name {
			return k
		}
	}
	return nil
}

func (s *shelves) Kinds() []*engine.Kind { return s.kinds }

func (s *shelves) Replicates(k *engine.Kind) bool {
	return slices.ContainsFunc(s.rows, func(r *engine.ResourceRow) bool { return r.Kind == k.Name })
}

func (s *shelves) find(match func(*engine.ResourceRow) bool) (engine.ResourceRow, error) {
	if s.fails != nil {
		return engine.ResourceRow{}, s.fails
	}
	if i := slices.IndexFunc(s.rows, match); i >= 0 {
		return *s.rows[i], nil
	}
	return engine.ResourceRow{}, engine.ErrNotFound
}

func (s *shelves) Lookup(_ context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
	return s.find(func(r *engine.ResourceRow) bool {
		return r.Kind == k.Name && (string(r.ID) == id || string(r.Local) == id) && !r.State.Past() && !r.GoneAt("a")
	})
}

func (s *shelves) ResourceByID(_ context.Context, _ engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.ResourceRow, error) {
	return s.find(func(r *engine.ResourceRow) bool { return r.Kind == kind && r.ID == id })
}

func (s *shelves) ResourceByDocument(_ context.Context, id engine.DocumentID) (engine.ResourceRow, error) {
	return s.find(func(r *engine.ResourceRow) bool { return r.Document == id })
}

// Resources gives one row a page.
func (s *shelves) Resources(_ context.Context, f engine.ResourceFilter) (rows []engine.ResourceRow, next string, err error) {
	if s.fails != nil {
		return nil, "", s.fails
	}
	for _, r := range s.rows {
		past := r.State == f.State && f.State.Past() || f.State == "" && !r.State.Past()
		refers := func(to engine.Relation) bool { return to.Target == f.RefersTo }
		if past && (f.Kind == "" || r.Kind == f.Kind) && (f.Query == "" || strings.Contains(string(r.ID), f.Query)) &&
			(f.RefersTo == engine.Target{} || slices.ContainsFunc(r.Relations, refers)) && (!f.Related || len(r.Relations) > 0) && string(r.ID) > f.Cursor {
			rows = append(rows, *r)
		}
	}
	slices.SortFunc(rows, func(a, b engine.ResourceRow) int { return strings.Compare(string(a.ID), string(b.ID)) })
	if len(rows) > 1 {
		return rows[:1], string(rows[0].ID), nil
	}
	return rows, "", nil
}

// village is relations and all that is around them, at the site a.
type village struct {
	*clock
	*desktop
	*shelves
	*relations
	others map[engine.SiteID]engine.SiteStatus
	ids    int
}

func newVillage() *village {
	v := &village{clock: newClock(), desktop: &desktop{replicas: map[engine.DocumentID]*replica.Replica{}}, shelves: newShelves(), others: map[engine.SiteID]engine.SiteStatus{}}
	v.restart()
	return v
}

func (v *village) restart() {
	v.relations = newRelations(relating{self: "a", known: v.shelves, index: v.shelves, status: func() map[engine.SiteID]engine.SiteStatus { return v.others },
		look: v.desktop.look, tell: v.desktop.tell, name: siteName, newID: func() string { v.ids++; return "id" }, now: v.clock.now, backoff: seconds, log: quiet()})
}

// stores has rows stored in place of none.
func (v *village) stores(rows ...*engine.ResourceRow) {
	for _, row := range rows {
		v.kept(&engine.ResourceRow{}, row)
	}
	v.run(v.step)
}

func (v *village) up(sites ...engine.SiteID) {
	for _, s := range sites {
		v.others[s] = engine.SiteStatus{Reachable: true, LastSeen: v.now()}
	}
}

func (v *village) down(s engine.SiteID) { v.others[s] = engine.SiteStatus{LastSeen: v.now()} }

func TestUnsupported(t *testing.T) {
	v := newVillage()
	left := v.put(networkKind, "n", "a b")
	left.Sites["a"] = engine.ReplicaStatus{State: engine.StateLeaving}
	with := func(state engine.State, sites string) *engine.ResourceRow {
		row := newShelves().put(networkKind, "n", sites)
		row.State = state
		return row
	}
	const nobody = "relies on network n, and no site that has it can be reached"
	for _, c := range []struct {
		name   string
		found  []engine.SiteID
		target *engine.ResourceRow
		reach  engine.SiteID
		want   string
	}{
		{"a replica here", nil, with(engine.StateConverged, "a b"), "", ""},
		{"one elsewhere that can be reached", nil, with(engine.StateConverged, "b c"), "c", ""},
		{"none that can be reached", nil, with(engine.StateConverged, "b c"), "d", nobody + " (B, C)"},
		{"it leaves this site", nil, left, "", nobody + " (B)"},
		{"deleted", []engine.SiteID{"a"}, with(engine.StateDeleted, "a"), "", "relies on network n, which was deleted"},
		{"it was here and went elsewhere", []engine.SiteID{"b"}, with(engine.StateLeft, "a"), "", nobody + " (B)"},
		{"not replicated, as it was named", []engine.SiteID{"b"}, nil, "", nobody + " (B)"},
		{"not replicated and there", []engine.SiteID{"b"}, nil, "b", ""},
		{"not replicated and here", []engine.SiteID{"a"}, nil, "", ""},
		{"nobody knows", nil, nil, "", ""},
	} {
		reachable := func(s engine.SiteID) bool { return s == c.reach }
		if got := v.unsupported(to(networkKind, "n", engine.RelationReliance, c.found...), c.target, reachable); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestACutTakesAwayWhatIsReliedOn, and the end of the cut gives it back. A site that has just started gives others time.
func TestACutTakesAwayWhatIsReliedOn(t *testing.T) {
	v := newVillage()
	v.put(networkKind, "n", "b")
	s := v.put(serverKind, "s", "a", to(networkKind, "n", engine.RelationReliance, "b"), to(pictureKind, "i", engine.RelationRequirement, "c"))
	if v.stores(s); len(v.take()) > 0 {
		t.Error("it lacks what nobody was asked for yet")
	}
	v.pass(settling)
	v.run(v.step)
	const lacks = `s lacks "relies on network n, and no site that has it can be reached (B)"`
	if told := v.take(); !slices.Equal(told, []string{lacks}) {
		t.Errorf("told %v", told)
	}
	s.Reason = "A: relies on something"
	v.up("b", "c")
	v.relations.reached("c") // it has nothing of it
	if v.run(v.step); len(v.told) > 0 {
		t.Errorf("told %v", v.told)
	}
	v.relations.reached("b")
	v.run(v.step)
	if told := v.take(); !slices.Equal(told, []string{`s lacks ""`}) {
		t.Errorf("told %v", told)
	}
	s.Reason = ""
	v.down("b")
	v.relations.reached("b")
	v.run(v.step)
	if told := v.take(); !slices.Equal(told, []string{lacks}) {
		t.Errorf("told %v", told)
	}
	before := *s
	s.State, s.Relations = engine.StateDeleted, nil
	v.kept(&before, s)
	v.run(v.step)
	v.take()
	v.relations.reached("b")
	if v.run(v.step); len(v.told) > 0 {
		t.Errorf("told what is no more: %v", v.told)
	}
}

// TestWhatIsReferredToIsForgotten: what nothing refers to any more takes no memory, however it came to be referred to.
func TestWhatIsReferredToIsForgotten(t *testing.T) {
	v := newVillage()
	n := engine.Target{Service: networkKind.Service, Kind: networkKind.Name, ID: "n"}
	one, two := v.put(serverKind, "one", "A", to(networkKind, "n", engine.RelationReliance)), v.put(serverKind, "two", "A", to(networkKind, "n", engine.RelationRequirement))
	v.stores(one, two)
	v.restart()
	if err := v.takeUp(t.Context()); err != nil || v.referred[n] != 2 {
		t.Errorf("%d refer to it, %v", v.referred[n], err)
	}
	before := *one
	one.Relations = []engine.Relation{to(networkKind, "m", engine.RelationReliance)}
	v.kept(&before, one)
	v.kept(one, one)
	if v.referred[n] != 1 {
		t.Errorf("%d refer to it, one does", v.referred[n])
	}
	itself := engine.Target{Service: serverKind.Service, Kind: serverKind.Name, ID: "two"}
	for range 3 { // it is tried again and again
		v.relations.mu.Lock()
		v.await(itself, n)
		v.relations.mu.Unlock()
	}
	if v.referred[n] != 2 {
		t.Errorf("%d refer to it, or wait for it", v.referred[n])
	}
	one.State, two.State = engine.StateDeleted, engine.StateDeleted
	v.kept(one, one)
	v.kept(two, two)
	if len(v.refers)+len(v.referred)+len(v.awaited) > 0 {
		t.Errorf("kept of what is no more: %v, %v, %v", v.refers, v.referred, v.awaited)
	}
}

// TestWhatRefersIsSeenAnewWhenItsTargetShifts: what relies on it is looked at, and what waits for it is tried again.
func TestWhatRefersIsSeenAnewWhenItsTargetShifts(t *testing.T) {
	v := newVillage()
	v.pass(time.Hour)
	n := v.put(networkKind, "n", "A b")
	waits := v.put(serverKind, "waits", "A", to(networkKind, "n", engine.RelationReliance))
	waits.Pending, waits.Reason = true, "A: waits"
	image := v.put(pictureKind, "i", "A")
	needs := v.put(serverKind, "needs", "A", to(pictureKind, "i", engine.RelationRequirement))
	needs.Pending = true
	v.stores(n, image, waits, needs)
	v.take()
	if v.kept(n, n); !v.relations.due.next().IsZero() {
		t.Error("a row that says the same shifts something")
	}
	before := *n
	n = v.put(networkKind, "n", "a b")
	v.kept(&before, n)
	v.run(v.step)
	told := v.take()
	slices.Sort(told)
	hurry := "{Body: Why: Bytes:0 Hurry:true Look:false NoBody:}"
	if !slices.Equal(told, []string{`waits lacks ""`, "waits: " + hurry}) {
		t.Errorf("told %v", told)
	}
	before = *image
	v.kept(&before, v.put(pictureKind, "i", "a"))
	v.run(v.step)
	if told := v.take(); !slices.Equal(told, []string{"needs: " + hurry}) {
		t.Errorf("told %v", told)
	}
	box, tool := v.put(boxKind, "x", "A"), v.put(toolKind, "x/t", "A")
	tool.Pending = true
	other := v.put(toolKind, "xx/t", "A")
	other.Pending = true
	before = *box
	v.kept(&before, v.put(boxKind, "x", "a"))
	v.run(v.step)
	if told := v.take(); !slices.Equal(told, []string{"x/t: " + hurry}) {
		t.Errorf("told %v", told)
	}
}

// TestRelationsAreTriedAgainWhenTheStoreFails.
func TestRelationsAreTriedAgainWhenTheStoreFails(t *testing.T) {
	v := newVillage()
	v.pass(time.Hour)
	v.fails = engine.ErrStorage
	v.stores(v.put(serverKind, "s", "a", to(networkKind, "n", engine.RelationReliance, "b")))
	if v.fails = nil; len(v.told) > 0 {
		t.Errorf("told %v", v.told)
	}
	v.pass(time.Second)
	if v.run(v.step); len(v.told) != 1 {
		t.Errorf("told %v", v.told)
	}
}

// TestWhatNothingRefersToShiftsAlone: nothing is looked for, until something waits for it or refers to it.
func TestWhatNothingRefersToShiftsAlone(t *testing.T) {
	v := newVillage()
	v.pass(time.Hour)
	coming := v.put(networkKind, "n", "A")
	if v.kept(&engine.ResourceRow{}, coming); !v.relations.due.next().IsZero() {
		t.Error("what refers to it was looked for, though nothing does")
	}
	if v.awaits(t.Context(), serverKind, "s", create(`{"networks":[{"id":"n"}]}`)) == "" {
		t.Fatal("it does not wait")
	}
	came := v.put(networkKind, "n", "a")
	if v.kept(coming, came); v.relations.due.next().IsZero() {
		t.Error("what waits for it is not looked for")
	}
	v.put(pictureKind, "i", "A")
	v.put(serverKind, "needs", "a", to(pictureKind, "i", engine.RelationRequirement))
	v.restart()
	if err := v.takeUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.pass(time.Hour)
	v.run(v.step)
	if v.kept(&engine.ResourceRow{}, v.put(pictureKind, "i", "a")); v.relations.due.next().IsZero() {
		t.Error("what refers to it since before the start is not looked for")
	}
}

func TestRelationsAreTakenUpAfterAStart(t *testing.T) {
	v := newVillage()
	v.put(serverKind, "s", "a", to(networkKind, "n", engine.RelationReliance, "b"))
	v.put(serverKind, "elsewhere", "b", to(networkKind, "n", engine.RelationReliance, "b"))
	if err := v.takeUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v.run(v.step); len(v.told) > 0 {
		t.Errorf("told %v", v.told)
	}
	v.pass(settling)
	if v.run(v.step); len(v.told) != 1 || !strings.HasPrefix(v.told[0], "s lacks ") {
		t.Errorf("told %v", v.told)
	}
}
