package conform

import (
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

var boat = &engine.Kind{Service: "boats", Name: "boat", Collection: "/boats", Item: "/boats/{id}", Label: "/name",
	ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}, Ignore: []engine.Pointer{"/stamp", "/crew/*/seat"},
	Keys: []engine.Key{{At: "/crew", Member: "name"}}, Unordered: []engine.Pointer{"/flags"}, Marker: "/note",
	Refs:  []engine.Ref{{At: "/dock", Service: "boats", Kind: "dock", Relation: engine.RelationReliance}},
	Links: []engine.Link{{At: "/self", Service: "boats"}}}

// TestCompared: what each site has for itself does not count, everything else does, the order of arrays too.
func TestCompared(t *testing.T) {
	paris := &site{name: First, upstreams: map[string]string{"boats": "http://a"}, locals: map[string]map[string]string{"boats/dock": {"d": "7"}}}
	nantes := &site{name: Second, upstreams: map[string]string{"boats": "http://b/"}, locals: map[string]map[string]string{"boats/dock": {"d": "9"}}}
	const base = `{"id":"1","name":"x","stamp":1,"list":["a","b"],"dock":"7","self":"http://a/boats/1","flags":["p","q"],"crew":[{"name":"ada","seat":1},{"name":"bob"}],"note":"n [skerry r.paris]"}`
	for text, want := range map[string]string{
		`{"id":"2","name":"x","stamp":2,"list":["a","b"],"dock":"9","self":"http://b/boats/2","flags":["q","p"],"crew":[{"name":"ada","seat":2},{"name":"bob"}],"note":"n"}`: "",
		`{"id":"2","name":"x","list":["b","a"],"dock":"9","self":"/boats/2","flags":["q","p"],"crew":[{"name":"bob"},{"name":"ada"}],"note":"n"}`:                            "/crew, /list/0, /list/1",
		`{"id":"2","name":"y","list":["a"],"dock":"7","self":"/boats/3","flags":["q"],"crew":[{"name":"bob"}],"note":"m"}`:                                                   "/crew, /crew/ada/name, /dock, /flags/0, /flags/1, /list/1, /name, /note, /self",
		`{"id":"2","name":"x","list":["a","b"],"dock":"9","self":"/boats/2","flags":["q","p"],"crew":[{"name":"ada"},{"name":"bob"}],"note":"n","more":{}}`:                  "/more",
	} {
		x, y := paris.read(boat, "1", "meta", []byte(base)), nantes.read(boat, "2", "meta", []byte(text))
		if got := words(differences(x, y)); got != want {
			t.Errorf("%s\ndiffers in %q, want %q", text, got, want)
		}
	}
	if got := words(differences(paris.read(boat, "1", "m", []byte(base)), nil)); got != "the object" {
		t.Errorf("what is nowhere differs in %q", got)
	}
	if len(differences(paris.read(boat, "1", "m", []byte("<a/>")), nantes.read(boat, "2", "m", []byte("<b/>")))) != 1 {
		t.Error("bytes that are no JSON are not compared")
	}
}

// TestLost: what was acknowledged and is not shown is told, though both applications show the same.
func TestLost(t *testing.T) {
	s := &site{name: First}
	shows := func(text string) *representation {
		if text == "" {
			return nil
		}
		return s.read(boat, "1", "1", []byte(text))
	}
	name, tag := operation{Name: "PATCH /name", field: "/name"}, operation{Name: "PATCH /tag", field: "/tag"}
	incr, gone := operation{Name: "incr"}, operation{Name: "DELETE", ends: true}
	counted := *boat
	counted.Operations = []engine.NamedOperation{{Name: "incr", Counter: "/count"}}
	wins := *boat
	wins.UpdateWins = true
	for _, c := range []struct {
		kind                       *engine.Kind
		x, y                       operation
		before, paris, nantes, end string
		want                       string
	}{
		{boat, name, tag, `{"name":"a","tag":1}`, `{"name":"b","tag":1}`, `{"name":"a","tag":2}`, `{"name":"b","tag":2}`, ""},
		{boat, name, tag, `{"name":"a","tag":1}`, `{"name":"b","tag":1}`, `{"name":"a","tag":2}`, `{"name":"a","tag":2}`, `PATCH /name at paris has set /name to "b"`},
		{boat, name, name, `{"name":"a"}`, `{"name":"b"}`, `{"name":"c"}`, `{"name":"c"}`, ""},
		{boat, name, name, `{"name":"a"}`, `{"name":"b"}`, `{"name":"c"}`, `{"name":"b"}`, `at nantes has set /name to "c"`},
		{boat, name, gone, `{"name":"a"}`, `{"name":"b"}`, "", "", ""},
		{boat, name, gone, `{"name":"a"}`, `{"name":"b"}`, "", `{"name":"b"}`, "it was deleted, and it is there"},
		{&wins, name, gone, `{"name":"a"}`, `{"name":"b"}`, "", "", "it was changed, and it is gone"},
		{boat, name, tag, `{"name":"a","tag":1}`, `{"name":"b","tag":1}`, `{"name":"a","tag":2}`, "", "nobody has deleted it, and it is gone"},
		{&counted, incr, incr, `{"count":5}`, `{"count":6}`, `{"count":6}`, `{"count":7}`, ""},
		{&counted, incr, incr, `{"count":5}`, `{"count":6}`, `{"count":6}`, `{"count":6}`, "/count counts 6, and what both sides have added makes 7"},
	} {
		p := &pair{kind: c.kind, ops: [2]operation{c.x, c.y}, before: shows(c.before), between: [2]*representation{shows(c.paris), shows(c.nantes)}}
		if got := p.lost(shows(c.end)); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s × %s to %s: %q, want %q", c.x.Name, c.y.Name, c.end, got, c.want)
		}
	}
}

// TestReport: the page tells what came of each pair, and the worst decides whether the applications conform.
func TestReport(t *testing.T) {
	k := &KindReport{Kind: "boats/boat", Operations: []string{"PATCH /name", "DELETE"}, Deleted: Deleted{Of: 2, Gone: 2},
		Cases: []Case{{"PATCH /name", "PATCH /name", Same, ""}, {"PATCH /name", "DELETE", AskedSame, "a | b"}, {"DELETE", "PATCH /name", Refusal, "423"}}}
	r := &Report{Kinds: []*KindReport{k}}
	if !r.Conforms() {
		t.Error("it does not conform, and nothing differs")
	}
	page := r.Markdown(3)
	for _, want := range []string{"### boats/boat\n", "| 1 | = | = ? |\n", "| 2 | – |  |\n", `= ? 1 × 2: a \| b`, "Deleted afterwards: 2 of 2."} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	for _, v := range []Verdict{Differs, Lost, Asked, Early} {
		k.Cases[0].Verdict = v
		if r.Conforms() {
			t.Errorf("it conforms, and a pair is %q", v)
		}
	}
	k.Cases[0].Verdict, k.Deleted.Left = Same, []string{"17"}
	if r.Conforms() {
		t.Error("it conforms, and something is left")
	}
}
