package plan

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// disked is a kind whose disks are told apart by name, and the partitions of each by number.
func disked(change func(*Kind)) *Kind {
	k := *kinds()["default"]
	k.Keys = []engine.Key{{At: "/disks", Member: "name"}, {At: "/disks/*/parts", Member: "n"}}
	k.Ignore = []Pointer{"/disks/*/serial"}
	change(&k)
	return &k
}

var diskRequests = []request{
	{engine.TypeCreate, "/images", `{"name":"n"}`},
	{engine.TypeCreate, "/images", `{"name":"n","disks":[{"name":"sda","size":1},{"name":"sdb","size":1}]}`},
	{engine.TypeCreate, "/images", `{"disks":[{"name":"sdb","parts":[{"n":1,"fs":"xfs"},{"n":2,"fs":"ext4"}]}]}`},
	{engine.TypeReplace, "/images/{id}", `{"name":"n","disks":[{"name":"sda","size":2}]}`},
	{engine.TypeReplace, "/images/{id}", `{"name":"n","disks":[{"name":"sdc","deep":{"er":1}},{"name":"sdb","size":1},{"name":"sda","size":1}]}`},
	{engine.TypeReplace, "/images/{id}", `{"name":"n","disks":[]}`},
	{engine.TypeReplace, "/images/{id}", `{"name":"n","disks":[{"name":"sdb","parts":[{"n":2,"fs":"zfs"},{"n":3,"fs":"xfs"}]}]}`},
	{engine.TypeReplace, "/images/{id}", `{"name":"n","disks":[{"name":"sda"},{"name":"sda"}]}`},
	{engine.TypeReplace, "/images/{id}", `{"name":"n","disks":{"sda":{"size":1}}}`},
	{engine.TypeMerge, "/images/{id}", `{"disks":[{"name":"sda","size":3},{"name":"sdd"}]}`},
	{engine.TypeMerge, "/images/{id}", `{"disks":[{"name":"sdd"},{"name":"sda","size":3}]}`},
	{engine.TypeReplace, "/images/{id}", `{"name":"n","disks":[{"name":"sda","size":1},{"name":"sdc"},{"name":"sdb","size":1}]}`},
	{engine.TypeMerge, "/images/{id}", `{"disks":[{"name":"sdb","parts":[]}]}`},
	{engine.TypeMerge, "/images/{id}", `{"disks":null,"name":"m"}`},
	{engine.TypeMerge, "/images/{id}", `{"disks":["plain"]}`},
	{engine.TypePatch, "/images/{id}", `[{"op":"add","path":"/disks","value":[{"name":"sde","size":5},{"name":"sdb"}]},{"op":"replace","path":"/disks/1/name","value":"sdf"}]`},
	{engine.TypeAction, "/images/{id}/incr", ""},
	{engine.TypeDelete, "/images/{id}", ""},
}

// TestInvariantConvergenceOfKeyedArrays plays random histories of a kind with keyed arrays, under several rules, and expects
// what TestInvariantConvergenceUnderEveryRule does.
func TestInvariantConvergenceOfKeyedArrays(t *testing.T) {
	for name, change := range map[string]func(*Kind){
		"default":     func(*Kind) {},
		"merge patch": func(k *Kind) { k.MergePatch = true },
		"whole":       func(k *Kind) { k.ReplaceWhole = true },
		"update wins": func(k *Kind) { k.UpdateWins = true },
		"one": func(k *Kind) {
			k.Resolutions = []engine.Resolution{{Before: "merge", After: "replace", Take: engine.TakeOne}, {Before: "replace", After: "merge", Take: engine.TakeOne}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { playRules(t, disked(change), diskRequests) })
		})
	}
}

// cutOff has two sites apply a create, and then each a request that the other has not seen, the second later in order. It
// returns the sites after both have heard all.
func cutOff(t *testing.T, k *Kind, create string, first, second request) []*desk {
	t.Helper()
	a, b := deskOf("a", k), deskOf("b", k)
	b.hears(t, a.issue(t, engine.TypeCreate, "/images", create, 1))
	x, y := a.issue(t, first.typ, "/images/{id}", first.body, 2), b.issue(t, second.typ, "/images/{id}", second.body, 3)
	a.hears(t, y)
	b.hears(t, x)
	a.lawful(t)
	b.lawful(t)
	return []*desk{a, b}
}

func TestConcurrentChangesOfElements(t *testing.T) {
	const two = `{"disks":[{"name":"sda","size":1,"type":"ssd"},{"name":"sdb","size":1,"type":"hdd"}]}`
	for _, c := range []struct {
		why           string
		first, second request
		want          string // the disks, at both
	}{
		{"changes of different elements both count",
			request{engine.TypeMerge, "", `{"disks":[{"name":"sda","size":9,"type":"ssd"},{"name":"sdb","size":1,"type":"hdd"}]}`},
			request{engine.TypeReplace, "", `{"disks":[{"name":"sda","size":1,"type":"ssd"},{"name":"sdb","size":7,"type":"hdd"}]}`},
			`[{"name":"sda","size":9,"type":"ssd"},{"name":"sdb","size":7,"type":"hdd"}]`},
		{"and of different members of one",
			request{engine.TypePatch, "", `[{"op":"replace","path":"/disks/0/size","value":9}]`},
			request{engine.TypePatch, "", `[{"op":"replace","path":"/disks/0/type","value":"nvme"}]`},
			`[{"name":"sda","size":9,"type":"nvme"},{"name":"sdb","size":1,"type":"hdd"}]`},
		{"elements that two add stand where they were put",
			request{engine.TypePatch, "", `[{"op":"add","path":"/disks/0","value":{"name":"sdz"}}]`},
			request{engine.TypePatch, "", `[{"op":"add","path":"/disks/-","value":{"name":"sdc"}}]`},
			`[{"name":"sdz"},{"name":"sda","size":1,"type":"ssd"},{"name":"sdb","size":1,"type":"hdd"},{"name":"sdc"}]`},
		{"what is turned round stays so when something is added",
			request{engine.TypeReplace, "", `{"disks":[{"name":"sdb","size":1,"type":"hdd"},{"name":"sda","size":1,"type":"ssd"}]}`},
			request{engine.TypePatch, "", `[{"op":"add","path":"/disks/-","value":{"name":"sdc"}}]`},
			`[{"name":"sdb","size":1,"type":"hdd"},{"name":"sda","size":1,"type":"ssd"},{"name":"sdc"}]`},
		{"one that is changed later than removed is where it was",
			request{engine.TypePatch, "", `[{"op":"remove","path":"/disks/0"}]`},
			request{engine.TypePatch, "", `[{"op":"replace","path":"/disks/0/size","value":9}]`},
			`[{"name":"sda","size":9,"type":"ssd"},{"name":"sdb","size":1,"type":"hdd"}]`},
		{"one that is removed later than changed is gone",
			request{engine.TypePatch, "", `[{"op":"replace","path":"/disks/1/size","value":9}]`},
			request{engine.TypePatch, "", `[{"op":"remove","path":"/disks/1"}]`},
			`[{"name":"sda","size":1,"type":"ssd"}]`},
		{"one that is changed later than removed comes back with all that was in it",
			request{engine.TypePatch, "", `[{"op":"remove","path":"/disks/1"}]`},
			request{engine.TypePatch, "", `[{"op":"replace","path":"/disks/1/size","value":9}]`},
			`[{"name":"sda","size":1,"type":"ssd"},{"name":"sdb","size":9,"type":"hdd"}]`},
		{"two elements of one key make the array one value",
			request{engine.TypePatch, "", `[{"op":"replace","path":"/disks/1/size","value":9}]`},
			request{engine.TypeMerge, "", `{"disks":[{"name":"x"},{"name":"x"}]}`},
			`[{"name":"x"},{"name":"x"}]`},
	} {
		for _, patch := range []bool{false, true} {
			for _, d := range cutOff(t, disked(func(k *Kind) { k.MergePatch = patch }), two, c.first, c.second) {
				if got := tree.Compact(d.shows.(map[string]any)["disks"]); string(got) != c.want {
					t.Errorf("%s: %s shows %s, want %s", c.why, d.site, got, c.want)
				}
			}
		}
	}
}

func TestALostValueOfAnElementIsKept(t *testing.T) {
	for _, d := range cutOff(t, disked(func(*Kind) {}), `{"disks":[{"name":"sda","size":1},{"name":"sdb","size":1}]}`,
		request{engine.TypePatch, "", `[{"op":"replace","path":"/disks/1/size","value":5}]`},
		request{engine.TypePatch, "", `[{"op":"replace","path":"/disks/1/size","value":7}]`}) {
		lost := d.history.Whole(merge.Any).Superseded
		if len(lost) != 1 || lost[0].Path != "/disks/sdb/size" || string(lost[0].Value) != "5" {
			t.Errorf("%s: superseded %+v", d.site, lost)
		}
	}
}

// TestPositionsAreTheCallers has a client patch the element that its site shows first, where another site shows another one.
func TestPositionsAreTheCallers(t *testing.T) {
	k := disked(func(k *Kind) { k.Unordered = []Pointer{"/disks"} })
	a, b := deskOf("a", k), deskOf("b", k)
	b.hears(t, a.issue(t, engine.TypeCreate, "/images", `{"disks":[{"name":"sda","size":1},{"name":"sdb","size":1}]}`, 1))
	turned := a.issue(t, engine.TypeReplace, "/images/{id}", `{"disks":[{"name":"sdb","size":1},{"name":"sda","size":1}]}`, 2)
	if !turned.Edit.Empty() {
		t.Fatalf("another order of a set is a change: %+v", turned.Edit)
	}
	patch := a.issue(t, engine.TypePatch, "/images/{id}", `[{"op":"replace","path":"/disks/0/size","value":9}]`, 3)
	for _, o := range []*Operation{turned, patch} {
		b.history.Add(o)
		if b.shows = parsed(t, []byte(`{"disks":[{"name":"sda","size":1},{"name":"sdb","size":1}]}`)); o == patch {
			b.catchUp(t)
		}
		b.settled[o.ID] = true
	}
	if v, _ := tree.ValueAt(b.tree(t), "/disks/sdb/size"); v != json.Number("9") {
		t.Errorf("b shows %s, want sdb changed", tree.Compact(b.shows))
	}
}

// TestAnApplicationsOwnElementsStayWhereTheyAre has an application put an element of its own among those that clients set: a correction of
// their order leaves it after its neighbour.
func TestAnApplicationsOwnElementsStayWhereTheyAre(t *testing.T) {
	for _, patch := range []bool{false, true} {
		k := disked(func(k *Kind) { k.MergePatch = patch })
		a, b := deskOf("a", k), deskOf("b", k)
		b.hears(t, a.issue(t, engine.TypeCreate, "/images", `{"disks":[{"name":"sda"},{"name":"sdb"}]}`, 1))
		b.shows = parsed(t, []byte(`{"disks":[{"name":"sda"},{"name":"own"},{"name":"sdb"}]}`))
		named := b.issue(t, engine.TypeMerge, "/images/{id}", `{"name":"n"}`, 2)
		b.hears(t, a.issue(t, engine.TypeReplace, "/images/{id}", `{"disks":[{"name":"sdb"},{"name":"sda"}]}`, 3))
		a.hears(t, named)
		b.lawful(t)
		if got, want := string(tree.Compact(b.shows.(map[string]any)["disks"])), `[{"name":"own"},{"name":"sdb"},{"name":"sda"}]`; got != want {
			t.Errorf("b shows %s, want %s", got, want)
		}
	}
}
