package tree

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestSharesOfAnInteger(t *testing.T) {
	for _, c := range []struct {
		whole string
		n     int
		want  string
	}{
		{"5", 2, "3 2"}, {"8", 2, "4 4"}, {"10", 3, "4 3 3"}, {"1", 3, "1 0 0"}, {"0", 2, "0 0"}, {"-5", 2, "-2 -3"}, {"5.0", 2, "3 2"},
		{"1e1", 4, "3 3 2 2"}, {"9007199254740993", 2, "4503599627370497 4503599627370496"},
		{"2.5", 2, ""}, {`"5"`, 2, ""}, {"null", 2, ""}, {"[5]", 2, ""},
	} {
		var got []string
		for i := range c.n {
			if share, ok := ShareOf(json.RawMessage(c.whole), c.n, i); ok {
				got = append(got, string(share))
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s over %d parts: %q, want %q", c.whole, c.n, s, c.want)
		}
	}
	if _, ok := ShareOf(json.RawMessage("5"), 0, 0); ok {
		t.Error("none of no parts has a share")
	}
}

func TestShares(t *testing.T) {
	k := &Kind{Divide: []Pointer{"/n", "/m"}}
	shares := Shares(k, []byte(`{"n":5,"m":"x"}`), 2)
	if len(shares) != 2 || string(shares[0]["/n"]) != "3" || string(shares[1]["/n"]) != "2" || len(shares[0]) != 1 {
		t.Errorf("the shares are %s", shares)
	}
	if Shares(k, []byte(`{"m":"x"}`), 2) != nil || Shares(k, []byte(`<x/>`), 2) != nil {
		t.Error("nothing is divided")
	}
	if got := string(Representation(shares[0])); got != `{"n":3}` {
		t.Errorf("a share is shown as %s", got)
	}
}

func TestPartsReadAsOne(t *testing.T) {
	k := &Kind{Divide: []Pointer{"/count"}, Aggregate: []engine.Aggregate{
		{At: "/tags", By: engine.AggregateUnion}, {At: "/log", By: engine.AggregateConcat}, {At: "/at", By: engine.AggregateFirst},
		{At: "/load", By: engine.AggregateSum}}}
	for _, c := range []struct {
		base  int
		parts []string
		want  string
	}{
		{0, []string{`{"count":3}`, `{"count":2}`}, `{"count":5}`},
		{0, []string{`{"name":"a","tags":["x","y"]}`, `{"name":"b","tags":["y","z"]}`}, `{"name":"a","tags":["x","y","z"]}`},
		{1, []string{`{"name":"a","log":[1]}`, `{"name":"b","log":[1]}`}, `{"log":[1,1],"name":"b"}`},
		{1, []string{`{"at":null}`, `{"at":2,"id":1}`}, `{"at":2,"id":1}`},
		{0, []string{`{"load":0.1}`, `{"load":0.2}`, `{}`}, `{"load":0.3}`},
		{0, []string{`{"count":"3"}`, `{"count":2}`}, `{"count":"3"}`}, // nothing to add up
		{0, []string{`{"count":3}`, `no JSON`}, ``},
		{2, []string{`{"count":3}`, `{"count":2}`}, ``},
		{0, nil, ``},
	} {
		var parts []json.RawMessage
		for _, p := range c.parts {
			parts = append(parts, json.RawMessage(p))
		}
		if got, _ := Whole(k, c.base, parts); string(got) != c.want {
			t.Errorf("%s of %d: %s, want %s", c.parts, c.base, got, c.want)
		}
	}
}

// TestSummary: what the catalog counts over all parts is told to the others, though each application sets it by itself; what is
// sensitive is not, wherever it stands.
func TestSummary(t *testing.T) {
	k := &Kind{Keys: []engine.Key{{At: "/users", Member: "name"}}, Ignore: []Pointer{"/status", "/uid"}, Sensitive: []Pointer{"/secret", "/users/*/password"},
		Aggregate: []engine.Aggregate{{At: "/status/ready", By: engine.AggregateSum}}}
	const shown = `{"uid":"1","secret":"s","n":1,"users":[{"name":"u","password":"p"}],"status":{"ready":2,"seen":"now"}}`
	for most, want := range map[int]string{1000: `{"n":1,"status":{"ready":2},"users":[{"name":"u"}]}`, 30: `{"status":{"ready":2}}`, 3: ``} {
		if got := string(Summary(k, []byte(shown), most)); got != want {
			t.Errorf("in %d bytes the others are told %s, want %s", most, got, want)
		}
	}
	if Summary(k, []byte(`<x/>`), 1000) != nil {
		t.Error("what is no JSON is told")
	}
}
