package shape

import (
	"encoding/json"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestComparison: the order of a list is compared, and what is not compared is told with the reason.
func TestComparison(t *testing.T) {
	k := &engine.Kind{
		Keys:      []engine.Key{{At: "/init", Member: "name"}, {At: "/ports", Member: "port"}},
		Ignore:    []engine.Pointer{"/uid", "/ports/*/node", "/init/own-*", "/notes/count"},
		IgnoreIn:  []engine.IgnoredIn{{At: "/data", In: "/type", Equals: "token"}},
		Reasons:   map[engine.Pointer]string{"/uid": "each site gives one", "/data": "a token is each site's own", "/ports/*/node": "each site gives ports"},
		Sensitive: []engine.Pointer{"/data"},
		Divide:    []engine.Pointer{"/count"},
	}
	const byCatalog = "the catalog says that it differs between replicas by nature (ignore)"
	for name, test := range map[string]struct {
		paris, nantes string
		parts         bool
		differs, left string
	}{
		"in another order": {
			`{"init":[{"name":"wait"},{"name":"migrate"},{"name":"seed"}]}`, `{"init":[{"name":"migrate"},{"name":"seed"},{"name":"wait"}]}`, false,
			`[{"path":"/init","values":{"nantes":["migrate","seed","wait"],"paris":["wait","migrate","seed"]}}]`, `[]`,
		},
		"with one more": {
			`{"init":[{"name":"wait"},{"name":"seed"}]}`, `{"init":[{"name":"wait"},{"name":"migrate"},{"name":"seed"}]}`, false,
			`[{"path":"/init/migrate","values":{"nantes":{}}}]`, `[]`,
		},
		"what a site assigns": {
			`{"uid":"1","ports":[{"port":80,"node":30001}],"init":[{"name":"own-1"},{"name":"a"}]}`, `{"uid":"2","ports":[{"port":80,"node":30002}],"init":[{"name":"a"}]}`, false,
			`[]`, `[{"path":"/init/own-1","reason":"` + byCatalog + `","values":{"paris":{}}},` +
				`{"path":"/ports/80/node","reason":"each site gives ports","values":{"nantes":30002,"paris":30001}},` +
				`{"path":"/uid","reason":"each site gives one","values":{"nantes":"2","paris":"1"}}]`,
		},
		"what a site assigns in a list that is no set of ports": {
			`{"ports":[{"port":53,"node":1},{"port":53,"node":2}]}`, `{"ports":[{"port":53,"node":3},{"port":53,"node":4}]}`, false,
			`[]`, `[{"path":"/ports/0/node","reason":"each site gives ports","values":{"nantes":3,"paris":1}},` +
				`{"path":"/ports/1/node","reason":"each site gives ports","values":{"nantes":4,"paris":2}}]`,
		},
		"what holds nothing else": {
			`{"notes":{"count":1}}`, `{}`, false, `[]`, `[{"path":"/notes/count","reason":"` + byCatalog + `","values":{"paris":1}}]`,
		},
		"a token": {
			`{"type":"token","data":{"token":"a"}}`, `{"type":"token","data":{"token":"b"}}`, false,
			`[]`, `[{"path":"/data","reason":"a token is each site's own","values":{"nantes":"(hidden)","paris":"(hidden)"}}]`,
		},
		"no token": {
			`{"type":"other","data":{"token":"a"}}`, `{"type":"other","data":{"token":"b"}}`, false,
			`[{"path":"/data/token","values":{"nantes":"(hidden)","paris":"(hidden)"}}]`, `[]`,
		},
		"parts": {
			`{"count":1}`, `{"count":2}`, true, `[]`, `[{"path":"/count","reason":"each part has a share of it (divide)","values":{"nantes":2,"paris":1}}]`,
		},
	} {
		c := Comparison{Sites: map[string]View{}, Differences: []Difference{}}
		for site, body := range map[string]string{"paris": test.paris, "nantes": test.nantes} {
			v := View{Ignored: map[string]any{}}
			v.Take(k, []byte(body))
			c.Sites[site] = v
		}
		c.Compare(k, test.parts)
		differs, _ := json.Marshal(c.Differences)
		left, _ := json.Marshal(c.LeftOut)
		if string(differs) != test.differs || string(left) != test.left || *c.Equal != (test.differs == "[]") {
			t.Errorf("%s: %v\n  %s\n  left out: %s", name, *c.Equal, differs, left)
		}
	}
}
