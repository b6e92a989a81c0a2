package tree

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

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

func TestWhatIsIgnoredInElements(t *testing.T) {
	_, one, _ := Canonical(disked, []byte(`{"disks":[{"name":"a","serial":1,"size":2},{"name":"b"}]}`))
	_, two, _ := Canonical(disked, []byte(`{"disks":[{"size":2,"name":"a"},{"name":"b","serial":7}]}`))
	if string(one) != string(two) {
		t.Errorf("%s is not %s", one, two)
	}
}

// TestWhatBeginsAlikeIsIgnored: a token that ends with a star stands for all that begin so, elements of keyed arrays among them.
func TestWhatBeginsAlikeIsIgnored(t *testing.T) {
	k := &Kind{Keys: []engine.Key{{At: "/volumes", Member: "name"}}, Ignore: []Pointer{"/volumes/own-*"}}
	_, one, _ := Canonical(k, []byte(`{"volumes":[{"name":"own-1","x":1},{"name":"data"}]}`))
	_, two, _ := Canonical(k, []byte(`{"volumes":[{"name":"data"},{"name":"own-22","x":2}]}`))
	if string(one) != string(two) || !strings.Contains(string(one), "data") {
		t.Errorf("%s and %s", one, two)
	}
}

// TestFieldsOfWhatIsDeep: whatever the order, nothing is told that has members of its own.
func TestFieldsOfWhatIsDeep(t *testing.T) {
	k := &Kind{Keys: []engine.Key{{At: "/a/list", Member: "name"}}}
	for range 20 {
		fields, ok := Fields(k, []byte(`{"a":{"list":[{"name":"x","empty":{},"n":1}]},"none":{}}`))
		if got := fmt.Sprint(Sorted(fields)); !ok || got != "[/a/list/x/empty /a/list/x/n /none]" {
			t.Fatalf("it tells of %s", got)
		}
	}
}

// TestWhatIsNoKeyedArray is one value, whatever is in it.
func TestWhatIsNoKeyedArray(t *testing.T) {
	for body, want := range map[string]string{
		`{"disks":[{"name":"x"},{"name":"x"}]}`: `[{"name":"x"},{"name":"x"}]`,
		`{"disks":[{"size":1}]}`:                `[{"size":1}]`,
		`{"disks":{"sda":1}}`:                   `{"sda":1}`,
		`{"disks":"none"}`:                      `"none"`,
		`{"disks":[]}`:                          `{"key":"name"}`,
	} {
		root, err := Parse(disked, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		leaves := map[Pointer]json.RawMessage{}
		Leaves(root, "", leaves)
		if len(leaves) != 1 || string(leaves["/disks"]) != want {
			t.Errorf("%s is %s", body, leaves)
		}
		if got := string(Compact(root)); got != body {
			t.Errorf("%s is encoded as %s", body, got)
		}
	}
}
