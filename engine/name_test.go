package engine

import "testing"

// TestNamesAreThisCatalogs hears of a start under the name of something else that the rules know: this site's own catalog says what
// it is.
func TestNamesAreThisCatalogs(t *testing.T) {
	k := &Kind{Service: "app", Name: "image", Item: "/images/{id}", Operations: []NamedOperation{{Name: "start", Method: "POST", Path: "/images/{id}/start"}}}
	v := newView("a", func(s SiteID) SiteName { return SiteName(s) }, "d", About{Placement: []SiteID{"a", "b"}}, nil, k)
	for i, c := range []struct{ path, says, want string }{
		{"/images/{id}/start", "stop", "start"}, {"/images/{id}/start", "", "start"}, {"/images/{id}/scan", "start", ""},
	} {
		o := &Operation{ID: OperationID(rune('A' + i)), Type: TypeAction, Method: "POST", Path: c.path, Name: c.says, Origin: "b", Run: "0000000a", Seq: uint64(i + 1), Time: int64(i + 1)}
		encoded, err := o.Encode()
		if err != nil {
			t.Fatal(err)
		}
		heard, err := DecodeOperation(o.Key(), encoded)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.take(Entry{Map: MapOperations, Key: o.Key(), Value: encoded}, heard); err != nil {
			t.Fatal(err)
		}
		if got := v.history.Get(o.ID); got == nil || got.Name != c.want {
			t.Errorf("%s, called %q, is %+v; want the name %q", c.path, c.says, got, c.want)
		}
	}
}
