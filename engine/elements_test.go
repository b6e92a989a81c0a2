package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// disked is a kind whose disks are told apart by name, and the partitions of each by number.
func disked(change func(*Kind)) *Kind {
	k := *kinds()["default"]
	k.Keys = []Key{{At: "/disks", Member: "name"}, {At: "/disks/*/parts", Member: "n"}}
	k.Ignore = []Pointer{"/disks/*/serial"}
	change(&k)
	return &k
}

var diskRequests = []request{
	{TypeCreate, "/images", `{"name":"n"}`},
	{TypeCreate, "/images", `{"name":"n","disks":[{"name":"sda","size":1},{"name":"sdb","size":1}]}`},
	{TypeCreate, "/images", `{"disks":[{"name":"sdb","parts":[{"n":1,"fs":"xfs"},{"n":2,"fs":"ext4"}]}]}`},
	{TypeReplace, "/images/{id}", `{"name":"n","disks":[{"name":"sda","size":2}]}`},
	{TypeReplace, "/images/{id}", `{"name":"n","disks":[{"name":"sdc","deep":{"er":1}},{"name":"sdb","size":1},{"name":"sda","size":1}]}`},
	{TypeReplace, "/images/{id}", `{"name":"n","disks":[]}`},
	{TypeReplace, "/images/{id}", `{"name":"n","disks":[{"name":"sdb","parts":[{"n":2,"fs":"zfs"},{"n":3,"fs":"xfs"}]}]}`},
	{TypeReplace, "/images/{id}", `{"name":"n","disks":[{"name":"sda"},{"name":"sda"}]}`},
	{TypeReplace, "/images/{id}", `{"name":"n","disks":{"sda":{"size":1}}}`},
	{TypeMerge, "/images/{id}", `{"disks":[{"name":"sda","size":3},{"name":"sdd"}]}`},
	{TypeMerge, "/images/{id}", `{"disks":[{"name":"sdb","parts":[]}]}`},
	{TypeMerge, "/images/{id}", `{"disks":null,"name":"m"}`},
	{TypeMerge, "/images/{id}", `{"disks":["plain"]}`},
	{TypePatch, "/images/{id}", `[{"op":"add","path":"/disks","value":[{"name":"sde","size":5},{"name":"sdb"}]},{"op":"replace","path":"/disks/1/name","value":"sdf"}]`},
	{TypeAction, "/images/{id}/incr", ""},
	{TypeDelete, "/images/{id}", ""},
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
			k.Resolutions = []Resolution{{"merge", "replace", TakeOne}, {"replace", "merge", TakeOne}}
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
	o := a.issue(t, TypeCreate, "/images", create, 1)
	b.history.Add(o)
	b.catchUp(t)
	x, y := a.issue(t, first.typ, "/images/{id}", first.body, 2), b.issue(t, second.typ, "/images/{id}", second.body, 3)
	a.history.Add(y)
	b.history.Add(x)
	for _, d := range []*desk{a, b} {
		d.catchUp(t)
		d.lawful(t)
	}
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
			request{TypeMerge, "", `{"disks":[{"name":"sda","size":9,"type":"ssd"},{"name":"sdb","size":1,"type":"hdd"}]}`},
			request{TypeReplace, "", `{"disks":[{"name":"sda","size":1,"type":"ssd"},{"name":"sdb","size":7,"type":"hdd"}]}`},
			`[{"name":"sda","size":9,"type":"ssd"},{"name":"sdb","size":7,"type":"hdd"}]`},
		{"and of different members of one",
			request{TypePatch, "", `[{"op":"replace","path":"/disks/0/size","value":9}]`},
			request{TypePatch, "", `[{"op":"replace","path":"/disks/0/type","value":"nvme"}]`},
			`[{"name":"sda","size":9,"type":"nvme"},{"name":"sdb","size":1,"type":"hdd"}]`},
		{"elements that two add are there in the order of the additions",
			request{TypePatch, "", `[{"op":"add","path":"/disks/0","value":{"name":"sdz"}}]`},
			request{TypePatch, "", `[{"op":"add","path":"/disks/-","value":{"name":"sdc"}}]`},
			`[{"name":"sda","size":1,"type":"ssd"},{"name":"sdb","size":1,"type":"hdd"},{"name":"sdz"},{"name":"sdc"}]`},
		{"one that is removed later than changed is gone",
			request{TypePatch, "", `[{"op":"replace","path":"/disks/1/size","value":9}]`},
			request{TypePatch, "", `[{"op":"remove","path":"/disks/1"}]`},
			`[{"name":"sda","size":1,"type":"ssd"}]`},
		{"one that is changed later than removed has what was changed",
			request{TypePatch, "", `[{"op":"remove","path":"/disks/1"}]`},
			request{TypePatch, "", `[{"op":"replace","path":"/disks/1/size","value":9}]`},
			`[{"name":"sda","size":1,"type":"ssd"},{"name":"sdb","size":9}]`},
		{"two elements of one key make the array one value",
			request{TypePatch, "", `[{"op":"replace","path":"/disks/1/size","value":9}]`},
			request{TypeMerge, "", `{"disks":[{"name":"x"},{"name":"x"}]}`},
			`[{"name":"x"},{"name":"x"}]`},
	} {
		for _, merge := range []bool{false, true} {
			for _, d := range cutOff(t, disked(func(k *Kind) { k.MergePatch = merge }), two, c.first, c.second) {
				if got := compact(d.shows.(map[string]any)["disks"]); string(got) != c.want {
					t.Errorf("%s: %s shows %s, want %s", c.why, d.site, got, c.want)
				}
			}
		}
	}
}

func TestALostValueOfAnElementIsKept(t *testing.T) {
	for _, d := range cutOff(t, disked(func(*Kind) {}), `{"disks":[{"name":"sda","size":1},{"name":"sdb","size":1}]}`,
		request{TypePatch, "", `[{"op":"replace","path":"/disks/1/size","value":5}]`},
		request{TypePatch, "", `[{"op":"replace","path":"/disks/1/size","value":7}]`}) {
		lost := FoldOf(d.history, anyOperation).Superseded
		if len(lost) != 1 || lost[0].Path != "/disks/sdb/size" || string(lost[0].Value) != "5" {
			t.Errorf("%s: superseded %+v", d.site, lost)
		}
	}
}

// TestPositionsAreTheCallers has a client patch the element that its site shows first, where another site shows another one.
func TestPositionsAreTheCallers(t *testing.T) {
	k := disked(func(*Kind) {})
	a, b := deskOf("a", k), deskOf("b", k)
	create := a.issue(t, TypeCreate, "/images", `{"disks":[{"name":"sda","size":1},{"name":"sdb","size":1}]}`, 1)
	b.history.Add(create)
	b.catchUp(t)
	turned := a.issue(t, TypeReplace, "/images/{id}", `{"disks":[{"name":"sdb","size":1},{"name":"sda","size":1}]}`, 2)
	if !turned.Change.Empty() {
		t.Fatalf("another order is a change: %+v", turned.Change)
	}
	patch := a.issue(t, TypePatch, "/images/{id}", `[{"op":"replace","path":"/disks/0/size","value":9}]`, 3)
	for _, o := range []*Operation{turned, patch} {
		b.history.Add(o)
		if b.shows, _ = parseJSON([]byte(`{"disks":[{"name":"sda","size":1},{"name":"sdb","size":1}]}`)); o == patch {
			b.catchUp(t)
		}
		b.settled[o.ID] = true
	}
	if v, _ := valueAt(b.tree(t), "/disks/sdb/size"); v != json.Number("9") {
		t.Errorf("b shows %s, want sdb changed", compact(b.shows))
	}
}

func TestACheckpointKeepsTheOrderOfElements(t *testing.T) {
	k := disked(func(*Kind) {})
	a := deskOf("a", k)
	a.issue(t, TypeCreate, "/images", `{"disks":[{"name":"z"},{"name":"y"},{"name":"x"}]}`, 1)
	a.issue(t, TypePatch, "/images/{id}", `[{"op":"remove","path":"/disks/1"}]`, 2)
	a.issue(t, TypePatch, "/images/{id}", `[{"op":"add","path":"/disks/-","value":{"name":"a"}}]`, 3)
	a.issue(t, TypePatch, "/images/{id}", `[{"op":"add","path":"/disks/0","value":{"name":"y"}}]`, 4)
	before := FoldOf(a.history, anyOperation).Representation()
	if want := `{"disks":[{"name":"z"},{"name":"x"},{"name":"a"},{"name":"y"}]}`; string(before) != want {
		t.Fatalf("folds to %s, want %s", before, want)
	}
	if !a.history.Compact(map[Line]uint64{"a.": 3}, func(*Operation) bool { return false }) {
		t.Fatal("not compacted")
	}
	if after := FoldOf(a.history, anyOperation).Representation(); string(after) != string(before) {
		t.Errorf("folds to %s after the checkpoint, to %s before", after, before)
	}
}

// TestAnArrayInTheWay corrects an element where the application shows something else than an array.
func TestAnArrayInTheWay(t *testing.T) {
	k := disked(func(*Kind) {})
	c := &Change{Set: map[Pointer]json.RawMessage{"/disks/sda/size": json.RawMessage("2")}}
	for _, shows := range []string{`{"disks":"none"}`, `{}`, `{"disks":[{"size":1}]}`} {
		got, err := c.ApplyTo(k, []byte(shows))
		if want := `{"disks":[{"name":"sda","size":2}]}`; err != nil || string(got) != want {
			t.Errorf("%s becomes %s, %v; want %s", shows, got, err, want)
		}
	}
}

// TestCatalogsThatDiffer folds operations of sites of which one does not know yet that the array is keyed.
func TestCatalogsThatDiffer(t *testing.T) {
	h := HistoryOf(disked(func(*Kind) {}))
	set := func(id string, values map[Pointer]json.RawMessage) {
		h.Add(&Operation{ID: OperationID(id), Type: TypeCreate, Origin: SiteID(id), Seq: 1, Time: int64(id[0]), Change: &Change{Set: values}})
	}
	set("a", map[Pointer]json.RawMessage{"/disks": keyedBy("name"), "/disks/sda": object})
	set("b", map[Pointer]json.RawMessage{"/disks": object, "/disks/x": json.RawMessage("1")})
	if got := string(FoldOf(h, anyOperation).Representation()); got != `{"disks":{"x":1}}` {
		t.Errorf("folds to %s", got)
	}
}

func TestTokensOfElements(t *testing.T) {
	for key, want := range map[any]string{
		"sda": "sda", "1": `"1"`, json.Number("1"): "1", json.Number("-7"): "-7", "-7": `"-7"`, `"q"`: `"\"q\""`, "01": "01", "a/b": "a/b",
	} {
		token, ok := tokenOf(key)
		if !ok || token != want || keyOf(token) != key {
			t.Errorf("%#v is named %q, and that is %#v; want %q", key, token, keyOf(token), want)
		}
	}
	for _, key := range []any{"", nil, true, json.Number("1.5"), json.Number("1e3"), json.Number("-0"), map[string]any{}, []any{"a"}} {
		if token, ok := tokenOf(key); ok {
			t.Errorf("%#v is a key, named %q", key, token)
		}
	}
}

func TestWhatIsIgnoredOrHiddenInElements(t *testing.T) {
	k := disked(func(k *Kind) { k.Sensitive = []Pointer{"/disks/*/secret"} })
	_, one, _ := canonicalForm(k, []byte(`{"disks":[{"name":"a","serial":1,"size":2},{"name":"b"}]}`))
	_, two, _ := canonicalForm(k, []byte(`{"disks":[{"name":"b","serial":7},{"size":2,"name":"a"}]}`))
	if string(one) != string(two) {
		t.Errorf("%s is not %s", one, two)
	}
	for _, body := range []string{`{"disks":[{"name":"a","secret":"s3cret"}]}`, `{"disks":[{"secret":"s3cret"}]}`} {
		change, err := ChangeOf(k, TypeCreate, []byte(body), Fold{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		shown, set := hide(k, &Operation{Body: []byte(body), Change: change})
		if all := string(shown) + string(set); !strings.Contains(all, Hidden) || strings.Contains(all, "s3cret") {
			t.Errorf("shown: %s", all)
		}
	}
}

// TestFieldsOfWhatIsDeep: whatever the order, nothing is told that has members of its own.
func TestFieldsOfWhatIsDeep(t *testing.T) {
	k := &Kind{Keys: []Key{{At: "/a/list", Member: "name"}}}
	for range 20 {
		fields, ok := k.Fields([]byte(`{"a":{"list":[{"name":"x","empty":{},"n":1}]},"none":{}}`))
		if got := fmt.Sprint(sortedPointers(fields)); !ok || got != "[/a/list/x/empty /a/list/x/n /a/list/x/name /none]" && got != "[/a/list/x/empty /a/list/x/n /none]" {
			t.Fatalf("it tells of %s", got)
		}
	}
}

// TestWhatBeginsAlikeIsIgnored: a token that ends with a star stands for all that begin so, elements of keyed arrays among them.
func TestWhatBeginsAlikeIsIgnored(t *testing.T) {
	k := &Kind{Keys: []Key{{At: "/volumes", Member: "name"}}, Ignore: []Pointer{"/volumes/own-*"}}
	_, one, _ := canonicalForm(k, []byte(`{"volumes":[{"name":"own-1","x":1},{"name":"data"}]}`))
	_, two, _ := canonicalForm(k, []byte(`{"volumes":[{"name":"data"},{"name":"own-22","x":2}]}`))
	if string(one) != string(two) || !strings.Contains(string(one), "data") {
		t.Errorf("%s and %s", one, two)
	}
	if !k.Ignored("/volumes/own-1/x") || k.Ignored("/volumes/ow") || k.Ignored("/volumes/data") {
		t.Error("it ignores something else")
	}
}
