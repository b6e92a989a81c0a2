package page

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

func TestAgo(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "now", time.Second: "now", 40 * time.Second: "40 s ago", 90 * time.Second: "2 min ago", 3 * time.Hour: "3 h ago",
		50 * time.Hour: "2 d ago", -2 * time.Hour: "in 2 h",
	} {
		if got := ago(now, now.Add(-d)); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestSegmentsFillTheBar(t *testing.T) {
	for _, n := range []map[string]int{{"a": 1}, {"a": 1, "b": 100_000}, {"a": 1, "b": 1, "c": 1_000_000}, {"a": 0, "b": 3, "c": 3}} {
		end := 0.0
		for _, s := range segments(n, "a", "b", "c") {
			if s.N == 0 || math.Abs(s.X-end) > .001 || s.W < .9 {
				t.Errorf("%v: %+v", n, s)
			}
			end = s.X + s.W
		}
		if math.Abs(end-100) > .001 {
			t.Errorf("%v fills %.2f of 100", n, end)
		}
	}
	if s := segments(map[string]int{}, "a"); len(s) != 0 {
		t.Errorf("nothing is drawn as %v", s)
	}
}

func TestWayStaysInItsDrawing(t *testing.T) {
	issued := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	o := shape.Operation{Origin: "b", IssuedAt: issued, Sites: map[string]shape.Outcome{
		"a": {State: "applied", At: issued.Add(40 * time.Millisecond)},
		"b": {State: "applied", At: issued.Add(10 * time.Millisecond)},
		"c": {State: "pending"},
		"d": {State: "applied", At: issued.Add(-time.Second)}, // a clock that is behind
	}}
	w := wayOf(api.OperationDetail{Operation: o}, "b", askedLane{}, issued.Add(time.Hour))
	if len(w.Lanes) != 4 || w.Lanes[0].Site != "b" || !w.Lanes[0].Origin {
		t.Fatalf("the origin comes first: %+v", w.Lanes)
	}
	ends := map[string]int{}
	for _, l := range w.Lanes {
		if l.End < laneLeft || l.End > laneRight || l.Y >= w.Height {
			t.Errorf("%s ends at %d,%d", l.Site, l.End, l.Y)
		}
		ends[l.Site] = l.End
	}
	if ends["b"] >= ends["a"] || ends["a"] >= ends["c"] || ends["d"] != laneLeft {
		t.Errorf("ends %v", ends)
	}
	if w := wayOf(api.OperationDetail{Operation: shape.Operation{IssuedAt: issued}}, "b", askedLane{}, issued); len(w.Lanes) != 0 {
		t.Errorf("no sites make %v", w.Lanes)
	}
}

func TestTroubleTellsWhoDecides(t *testing.T) {
	at := func(states ...string) map[string]shape.Outcome {
		m := map[string]shape.Outcome{}
		for i, s := range states {
			m[[]string{"lyon", "nantes", "paris"}[i]] = shape.Outcome{State: s}
		}
		return m
	}
	for _, c := range []struct {
		o    shape.Operation
		want troubles
	}{
		{shape.Operation{Type: "create", Sites: at("applied", "pending", "superseded")}, troubles{}},
		{shape.Operation{Type: "action", Sites: at("uncertain", "applied", "uncertain")}, troubles{Here: true, Elsewhere: []string{"lyon"}}},
		{shape.Operation{Type: "create", Sites: at("applied", "rejected", "applied")}, troubles{Elsewhere: []string{"nantes"}}},
		{shape.Operation{Type: "create", Sites: at("applied", "applied", "rejected")}, troubles{Here: true}},
		{shape.Operation{Type: "merge", Sites: at("pending", "pending", "pending")}, troubles{Here: true}},
		{shape.Operation{Type: "create", Sites: at("applied", "applied", "rejected")}, troubles{Settled: true}},
		{shape.Operation{Type: "merge", Sites: at("applied", "rejected", "rejected")}, troubles{Refused: []string{"nantes", "paris"}}},
		{shape.Operation{Type: "merge", State: "pending", Origin: "paris", Sites: at("pending", "pending")}, troubles{Kept: true}},
		{shape.Operation{Type: "merge", State: "pending", Origin: "paris", Sites: at("pending", "pending", "applied")}, troubles{}},
	} {
		if got := trouble(c.o, "paris", !c.want.Settled); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %v: %+v, want %+v", c.o.Type, c.o.Sites, got, c.want)
		}
	}
}

func TestCaretKeepsTheDrawingApart(t *testing.T) {
	for _, c := range [][3]string{
		{"{images: paris & , nantes}\n                 ^ expected a site, found \",\"", "{images: paris & , nantes}\n                 ^", "expected a site, found \",\""},
		{"{image: paris}\n ^^^^^ no service\nhelp: write images", "{image: paris}\n ^^^^^", "no service\nhelp: write images"},
		{"no caret here", "", "no caret here"},
	} {
		if picture, words := caret(c[0]); picture != c[1] || words != c[2] {
			t.Errorf("%q: %q and %q", c[0], picture, words)
		}
	}
}

func TestBrief(t *testing.T) {
	for v, want := range map[string]string{
		"v0.0.0-20261121050420-be61b741892b":       "be61b741",
		"v1.2.4-0.20261121050420-be61b741892b":     "be61b741",
		"v0.0.0-20261121050420-be61b741892b+dirty": "be61b741+dirty",
		"v1.2.3": "v1.2.3", "v1.0.0-rc.1": "v1.0.0-rc.1", "(devel)": "(devel)",
	} {
		if got := brief(v); got != want {
			t.Errorf("%s: %q, want %q", v, got, want)
		}
	}
}

func TestAnEventTellsWhatItsRowDoesNotShow(t *testing.T) {
	e := shape.Event{Type: "resource.converging", Subject: "01a1fc89-d642-71f3-a621-9f73f5365382",
		Data: []byte(`{"kind":"image","reason":"waiting for nantes","resource":"01a1fc89-d642-71f3-a621-9f73f5365382","error":"","state":"converging","n":2}`)}
	if got, want := dataOf(e), []detail{{"kind", "image"}, {"n", "2"}, {"reason", "waiting for nantes"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	e.Data = []byte("not JSON")
	if got := dataOf(e); len(got) != 1 || got[0].Value != "not JSON" {
		t.Errorf("%v", got)
	}
}

// TestGraphsAreDrawn lays out graphs, with references in circles among them.
func TestGraphsAreDrawn(t *testing.T) {
	make := func(root string, edges ...string) shape.RelationGraph {
		g := shape.RelationGraph{Root: root}
		seen := map[string]bool{}
		for _, e := range append([]string{root}, edges...) {
			for _, key := range strings.Split(e, ">") {
				if key != "" && !seen[key] {
					seen[key] = true
					g.Nodes = append(g.Nodes, shape.RelationNode{Key: key})
				}
			}
			if from, to, is := strings.Cut(e, ">"); is {
				g.Edges = append(g.Edges, shape.RelationEdge{From: from, To: to})
			}
		}
		return g
	}
	var wide []string
	for i := range 200 {
		wide = append(wide, fmt.Sprintf("n%d>root", i))
	}
	for _, tt := range []struct {
		name    string
		g       shape.RelationGraph
		columns string // the nodes of each, the columns from the left
	}{
		{"alone", make("a"), "a"},
		{"both ways", make("web", "web>image", "web>net", "watch>web", "net>router"), "watch|web|image net|router"},
		{"a circle", make("a", "a>b", "b>a"), "a|b"},
		{"itself", make("a", "a>a"), "a"},
		{"without a root", make("", "x>y", "y>z", "w>z"), "x w|y z"},
		{"a circle without a root", make("", "x>y", "y>x"), "x y"},
		{"too many to draw", make("root", wide...), ""},
	} {
		d := graphOf(tt.g)
		byX := map[int][]string{}
		for _, n := range d.Nodes {
			if n.X < 0 || n.Y < 0 || n.X+nodeWidth > d.Width || n.Y+nodeHeight > d.Height {
				t.Errorf("%s: %s is at %d,%d of %d,%d", tt.name, n.Key, n.X, n.Y, d.Width, d.Height)
			}
			byX[n.X] = append(byX[n.X], n.Key)
		}
		var columns []string
		for _, x := range slices.Sorted(maps.Keys(byX)) {
			columns = append(columns, strings.Join(byX[x], " "))
		}
		if got := strings.Join(columns, "|"); tt.columns != "" && got != tt.columns {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.columns)
		}
		if len(d.Nodes)+d.Left != len(tt.g.Nodes) || len(d.Nodes) > maxDrawn || d.Left == 0 && len(d.Arrows) != len(tt.g.Edges) {
			t.Errorf("%s: %d nodes drawn, %d left, %d arrows", tt.name, len(d.Nodes), d.Left, len(d.Arrows))
		}
	}
}
