package engine

import (
	"encoding/json"
	"testing"
)

// TestWhatAChangeMayLeave tells what an object may show at a path that a create has set, where an operation has changed it since.
func TestWhatAChangeMayLeave(t *testing.T) {
	set := func(at Pointer, value string) *Change {
		return &Change{Set: map[Pointer]json.RawMessage{at: json.RawMessage(value)}}
	}
	object := map[string]any{"z": json.Number("1")}
	for _, c := range []struct {
		name   string
		change *Change
		at     Pointer
		got    any
		ok     bool
		want   bool
	}{
		{"no change", nil, "/c", "x", true, false},
		{"the same value", set("/c", `"x"`), "/c", "x", true, true},
		{"another value", set("/c", `"y"`), "/c", "x", true, false},
		{"another path", set("/d", `"x"`), "/c", "x", true, false},
		{"a member of it", set("/c/z", `1`), "/c", object, true, true},
		{"a member of it, where a value is", set("/c/z", `1`), "/c", "x", true, false},
		{"a value around it", set("/c", `"x"`), "/c/z", nil, false, true},
		{"something else, and it is gone", set("/d", `"x"`), "/c", nil, false, false},
		{"removed", &Change{Unset: []Pointer{"/c"}}, "/c", nil, false, true},
		{"removed, and it is there", &Change{Unset: []Pointer{"/c"}}, "/c", "x", true, false},
		{"replaced by what lacks it", &Change{Whole: true}, "/c", nil, false, true},
		{"added to", &Change{Add: map[Pointer]Increment{"/c": {}}}, "/c", json.Number("7"), true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.change.puts(c.at, c.got, c.ok); got != c.want {
				t.Errorf("is %v, want %v", got, c.want)
			}
		})
	}
}
