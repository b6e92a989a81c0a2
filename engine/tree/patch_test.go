package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// TestPatch has the examples of RFC 6902, appendix A, and some more.
func TestPatch(t *testing.T) {
	for _, c := range []struct{ name, shown, patch, want string }{
		{"A.1", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"baz":"qux","foo":"bar"}`},
		{"A.2", `{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{"A.3", `{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{"A.4", `{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{"A.5", `{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{"A.6", `{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`,
			`{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		{"A.7", `{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		{"A.8", `{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		{"A.9", `{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, ``},
		{"A.10", `{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"child":{"grandchild":{}},"foo":"bar"}`},
		{"A.11", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","xyz":123}]`, `{"baz":"qux","foo":"bar"}`},
		{"A.12", `{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, ``},
		{"A.14", `{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		{"A.15", `{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":"10"}]`, ``},
		{"A.16", `{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},
		{"the whole is replaced", `{"a":1}`, `[{"op":"replace","path":"","value":[1]},{"op":"add","path":"/0","value":0}]`, `[0,1]`},
		{"the whole is compared", `{"a":1}`, `[{"op":"test","path":"","value":{"a":1.0}}]`, `{"a":1}`},
		{"the whole is removed", `{"a":1}`, `[{"op":"remove","path":""}]`, ``},
		{"a test of no value", `{"a":1}`, `[{"op":"test","path":""}]`, ``},
		{"null is a value", `{"a":null}`, `[{"op":"test","path":"/a","value":null},{"op":"replace","path":"/a","value":null}]`, `{"a":null}`},
		{"what is copied is another one", `{"a":{"b":1}}`, `[{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/c/b","value":2}]`, `{"a":{"b":1},"c":{"b":2}}`},
		{"so is what is added twice", `{"a":[]}`, `[{"op":"add","path":"/a/-","value":{}},{"op":"copy","from":"/a/0","path":"/a/-"},{"op":"add","path":"/a/1/x","value":1}]`, `{"a":[{},{"x":1}]}`},
		{"nothing goes into itself", `{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a/b/c"}]`, ``},
		{"nor into what takes its place", `{"a":[{},{}]}`, `[{"op":"move","from":"/a/0","path":"/a/0/x"}]`, ``},
		{"where it is", `{"a":1}`, `[{"op":"move","from":"/a","path":"/a"}]`, `{"a":1}`},
		{"beyond the end", `{"a":[1]}`, `[{"op":"add","path":"/a/2","value":1}]`, ``},
		{"a leading zero", `{"a":[1,2]}`, `[{"op":"remove","path":"/a/01"}]`, ``},
		{"before the beginning", `{"a":[1,2]}`, `[{"op":"remove","path":"/a/-1"}]`, ``},
		{"the end is nothing", `{"a":[1,2]}`, `[{"op":"remove","path":"/a/-"}]`, ``},
		{"below a text", `{"a":"x"}`, `[{"op":"add","path":"/a/b","value":1}]`, ``},
		{"no operation", `{}`, `[{"op":"grow","path":"/a","value":1}]`, ``},
		{"no path", `{}`, `[{"op":"remove"}]`, ``},
		{"no pointer", `{}`, `[{"op":"add","path":"a","value":1}]`, ``},
		{"no array", `{}`, `{"op":"add","path":"/a","value":1}`, ``},
	} {
		got, err := []byte(nil), error(nil)
		patch, err := ParsePatch([]byte(c.patch))
		if err == nil {
			got, err = patch.Apply([]byte(c.shown))
		}
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}

// TestInvariantPatchesAreAsOthersHaveThem: what a patch makes is what a library makes that others use.
func TestInvariantPatchesAreAsOthersHaveThem(t *testing.T) {
	agreed := 0
	rapid.Check(t, func(t *rapid.T) {
		shown := []byte(`{"a":{"a":1,"tags":["p","q"]},"b/c":1,"d~e":[1],"disks":[{"name":"x","size":1}],"tags":["p","q","r"]}`)
		paths := []string{"/a", "/b~1c", "/d~0e", "/tags", "/tags/0", "/tags/-", "/tags/2", "/a/a", "/a/tags/1", "/disks/0/size", "/none/x"}
		var steps []any
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			step := map[string]any{"op": rapid.SampledFrom([]string{"add", "remove", "replace", "move", "copy", "test"}).Draw(t, "op"),
				"path": rapid.SampledFrom(paths).Draw(t, "path")}
			switch step["op"] {
			case "move", "copy":
				step["from"] = rapid.SampledFrom(paths).Draw(t, "from")
			case "add", "replace", "test":
				step["value"] = rapid.SampledFrom([]any{"v", json.Number("1"), map[string]any{}, []any{"x"}}).Draw(t, "value")
			}
			steps = append(steps, step)
		}
		body := Compact(steps)
		theirs, err := jsonpatch.DecodePatch(body)
		if err != nil {
			t.Fatal(err)
		}
		want, errWant := theirs.Apply(shown)
		ours, err := ParsePatch(body)
		if err != nil {
			t.Fatal(err)
		}
		got, errGot := ours.Apply(shown)
		if errWant == nil && strings.Contains(string(body), `"move"`) && errGot != nil {
			return // it lets something be moved into itself
		}
		if (errGot == nil) != (errWant == nil) {
			t.Fatalf("%s on %s: %v, others say %v", body, shown, errGot, errWant)
		}
		if errGot == nil {
			agreed++
			if string(got) != string(Recompact(want)) {
				t.Fatalf("%s on %s makes %s, not %s", body, shown, got, want)
			}
		}
	})
	if agreed < 20 {
		t.Errorf("only %d patches could be applied", agreed)
	}
}

// TestPatchesAreBounded: neither copies nor insertions take more than there is.
func TestPatchesAreBounded(t *testing.T) {
	double := `{"op":"copy","from":"/a","path":"/a/-"}`
	long := "[" + strings.TrimSuffix(strings.Repeat("1,", 400_000), ",") + "]"
	insert := `{"op":"add","path":"/a/0","value":1}`
	for name, c := range map[string]struct{ shown, patch string }{
		"copies":     {`{"a":["x"]}`, "[" + strings.Repeat(double+",", 20) + double + "]"},
		"insertions": {`{"a":` + long + `}`, "[" + strings.Repeat(insert+",", 5000) + insert + "]"},
	} {
		patch, err := ParsePatch([]byte(c.patch))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := patch.Apply([]byte(c.shown)); !errors.Is(err, engine.ErrTooLarge) {
			t.Errorf("%s have no bound: %v", name, err)
		}
	}
}

// FuzzPatch applies patches: nothing panics, what comes of it is JSON, and what it was applied to stays as it is.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`[{"op":"add","path":"/a/-","value":{"x":[1]}},{"op":"copy","from":"/a","path":"/b"},{"op":"test","path":"","value":1}]`), []byte(`{"a":[1,2]}`))
	f.Add([]byte(`[{"op":"move","from":"/a/0","path":"/a/1"},{"op":"replace","path":"/a","value":null},{"op":"remove","path":"/a"}]`), []byte(`{"a":[1,2]}`))
	f.Fuzz(func(t *testing.T, body, shown []byte) {
		patch, err := ParsePatch(body)
		if err != nil {
			return
		}
		first, err := patch.Apply(shown)
		if err != nil {
			return
		}
		if second, err := patch.Apply(shown); err != nil || string(first) != string(second) || !json.Valid(first) {
			t.Errorf("once it makes %s, and once %s: %v", first, second, err)
		}
	})
}

func TestPatched(t *testing.T) {
	for patch, want := range map[string]string{
		`[{"op":"replace","path":"/network","value":"n"},{"op":"add","path":"/a/b","value":[1]},{"op":"remove","path":"/image"},{"op":"test","path":"/x","value":1}]`: `{"a":{"b":[1]},"network":"n"}`,
		`[{"op":"replace","path":"","value":{"network":"n"}}]`: `{"network":"n"}`,
		`{"op":"add"}`: ``, `[]`: `{}`, `nonsense`: ``,
	} {
		if got := string(Patched([]byte(patch))); got != want {
			t.Errorf("%s: got %s, want %s", patch, got, want)
		}
	}
}

// TestPositions: a position in an array that is keyed or has no order can be another one at another site.
func TestPositions(t *testing.T) {
	for path, want := range map[string]bool{"/disks/0/size": true, "/disks": false, "/tags/0": true, "/tags": false, "/list/0": false} {
		for _, step := range []string{`{"op":"replace","path":%q,"value":1}`, `{"op":"copy","path":"/x","from":%q}`} {
			patch, err := ParsePatch([]byte("[" + fmt.Sprintf(step, path) + "]"))
			if err != nil || Positional(disked, patch) != want || Positional(&Kind{}, patch) {
				t.Errorf("%s is a position: %v, %v", path, !want, err)
			}
		}
	}
}
