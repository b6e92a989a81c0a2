package tree

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

func TestPlace(t *testing.T) {
	for _, c := range []struct{ list, stated, moved, want string }{
		{"", "a b", "a b", "a b"},
		{"a b", "a x b", "x", "a x b"},
		{"a y b", "a x b", "x", "a y x b"},                     // into one place: who comes later stands later
		{"a b y", "a b x", "x", "a b y x"},                     // likewise at the end
		{"y a b", "x a b", "x", "y x a b"},                     // and at the beginning
		{"a y1 y2 b", "a x1 x2 b", "x1 x2", "a y1 y2 x1 x2 b"}, // what each has put somewhere stays together
		{"a b c", "c a b", "c", "c a b"},
		{"a x b", "b a", "b", "b a x"},
		{"a b c d", "b c", "b", "a b c d"},   // it stands right already
		{"b c a", "a b c", "a b c", "a b c"}, // all that was put somewhere, and the fewest go
		{"a c", "c d a", "c d", "c d a"},     // what was not moved stays, though more was moved
		{"own a own2 b", "b a", "b a", "own own2 b a"},
		{"c b a", "a x b c", "x", "c b a x"}, // what others have turned round stays so
	} {
		moved := strings.Fields(c.moved)
		got := Place(strings.Fields(c.list), strings.Fields(c.stated), func(s string) bool { return slices.Contains(moved, s) })
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q with %q of %q is %q, want %q", c.list, moved, c.stated, strings.Join(got, " "), c.want)
		}
	}
}

func TestMoved(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"", "", ""}, {"", "a b", "a b"}, {"a b", "a b", ""}, {"a b c", "a c", ""}, {"a b", "a x b", "x"}, {"a b c d", "d a b c", "d"},
		{"a b c d", "b c d a", "a"},
	} {
		if got := Moved(strings.Fields(c.before), strings.Fields(c.after)); strings.Join(got, " ") != c.want {
			t.Errorf("from %q to %q %q are moved, want %q", c.before, c.after, got, c.want)
		}
	}
}

// TestPlaceKeepsWhatBothMeant draws two changes of a list that put different new elements somewhere: both are kept, whichever comes first, and
// what nobody has moved stays as it was.
func TestPlaceKeepsWhatBothMeant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := strings.Fields("a b c d e")[:rapid.IntRange(0, 5).Draw(t, "base")]
		insert := func(names string) []string {
			list := slices.Clone(base)
			for _, name := range strings.Fields(names) {
				list = slices.Insert(list, rapid.IntRange(0, len(list)).Draw(t, name), name)
			}
			return list
		}
		one, two := insert("p q r"), insert("x y z")
		list := base
		for _, stated := range [][]string{one, two} {
			moved := Moved(base, stated)
			list = Place(list, stated, func(s string) bool { return slices.Contains(moved, s) })
		}
		for _, stated := range [][]string{base, one, two} {
			named := map[string]bool{}
			for _, s := range stated {
				named[s] = true
			}
			if !slices.Equal(among(list, named), stated) {
				t.Fatalf("%q of %q and %q does not keep %q", list, one, two, stated)
			}
		}
	})
}

// TestPlaceGivesTheOrder: whatever was there, all that was put somewhere stands in the order that was stated, and all else in that it had.
func TestPlaceGivesTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(strings.Fields("a b c d e f g")), 0, 7, rapid.ID).Draw(t, name)
		}
		list, stated := some("list"), some("stated")
		got := Place(list, stated, func(string) bool { return true })
		is, was := map[string]bool{}, map[string]bool{}
		for _, s := range stated {
			is[s] = true
		}
		for _, s := range list {
			was[s] = !is[s]
		}
		if !slices.Equal(among(got, is), stated) || !slices.Equal(among(got, was), among(list, was)) {
			t.Fatalf("%q in the order %q is %q", list, stated, got)
		}
	})
}

// TestAnotherOrderDiffers: of a list, and not of a set, also one inside the elements of a keyed array.
func TestAnotherOrderDiffers(t *testing.T) {
	k := &Kind{Keys: []engine.Key{{At: "/disks", Member: "name"}, {At: "/mounts", Member: "name"}}, Unordered: []Pointer{"/mounts", "/disks/*/tags"}}
	for _, c := range []struct {
		one, two string
		same     bool
	}{
		{`{"disks":[{"name":"a"},{"name":"b"}]}`, `{"disks":[{"name":"b"},{"name":"a"}]}`, false},
		{`{"mounts":[{"name":"a"},{"name":"b"}]}`, `{"mounts":[{"name":"b"},{"name":"a"}]}`, true},
		{`{"disks":[{"name":"a","tags":["x","y"]}]}`, `{"disks":[{"name":"a","tags":["y","x"]}]}`, true},
		{`{"disks":[{"name":"a","args":["x","y"]}]}`, `{"disks":[{"name":"a","args":["y","x"]}]}`, false},
	} {
		one, _ := Comparable(k, []byte(c.one))
		two, _ := Comparable(k, []byte(c.two))
		if same := string(one) == string(two); same != c.same {
			t.Errorf("%s and %s are the same: %v", c.one, c.two, same)
		}
	}
}
