package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
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
			if share, ok := shareOf(json.RawMessage(c.whole), c.n, i); ok {
				got = append(got, string(share))
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s over %d parts: %q, want %q", c.whole, c.n, s, c.want)
		}
	}
}

func TestPartsFollowPlacementOperations(t *testing.T) {
	for _, c := range []struct{ parts, add, remove, want string }{
		{"a b", "c", "", "[[a] [b] [c]]"},
		{"a b", "c", "a", "[[c] [b]]"},      // the part moves
		{"ab c", "", "a", "[[b] [c]]"},      // the other replica of the part stays
		{"ab c", "d", "a", "[[b] [c] [d]]"}, // no part is left without a site
		{"a b c", "", "b", "[[a] [c]]"},
		{"a b", "cd", "b", "[[a] [c] [d]]"},
		{"a b", "a", "", "[[a] [b]]"},
	} {
		list := func(s string) (ids []SiteID) {
			for _, r := range s {
				ids = append(ids, SiteID(r))
			}
			return ids
		}
		var parts Parts
		for _, part := range strings.Fields(c.parts) {
			parts = append(parts, list(part))
		}
		if got := fmt.Sprint(parts.place(&PlacementChange{Add: list(c.add), Remove: list(c.remove)})); got != c.want {
			t.Errorf("%s + %q - %q is %s, want %s", c.parts, c.add, c.remove, got, c.want)
		}
	}
}

func TestPartsReadAsOne(t *testing.T) {
	k := &Kind{Divide: []Pointer{"/count"}, Aggregate: []Aggregate{
		{"/tags", AggregateUnion}, {"/log", AggregateConcat}, {"/at", AggregateFirst}, {"/load", AggregateSum}}}
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
	} {
		var parts []json.RawMessage
		for _, p := range c.parts {
			parts = append(parts, json.RawMessage(p))
		}
		if got, _ := k.Whole(c.base, parts); string(got) != c.want {
			t.Errorf("%s of %d: %s, want %s", c.parts, c.base, got, c.want)
		}
	}
}
