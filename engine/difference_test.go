package engine

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"pgregory.net/rapid"
)

// What a correction says as a JSON Patch does the same as the whole representation.
func TestJSONPatchOfAChange(t *testing.T) {
	k := &Kind{Keys: []Key{{At: "/disks", Member: "name"}}, Unordered: []Pointer{"/tags"}}
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawObject(t, 3), drawObject(t, 3)
		c, err := difference(k, compact(before), compact(after))
		if err != nil {
			t.Fatal(err)
		}
		body, err := c.JSONPatch(k, compact(before))
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := patch.Apply(compact(before))
		if err != nil {
			t.Fatalf("%s on %s: %v", body, compact(before), err)
		}
		want, err := c.ApplyTo(k, compact(before))
		if err != nil {
			t.Fatal(err)
		}
		if !jsonpatch.Equal(compactAs(t, k, got), compactAs(t, k, want)) {
			t.Fatalf("%s makes %s of %s, not %s", body, got, compact(before), want)
		}
		if c.Empty() && len(patch) > 0 {
			t.Fatalf("nothing is to change, and the patch is %s", body)
		}
	})
}

func drawObject(t *rapid.T, depth int) map[string]any {
	object := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b/c", "d~e", "tags", "disks"}), 0, 4, rapid.ID).Draw(t, "names") {
		switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
		case name == "disks":
			object[name] = []any{map[string]any{"name": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "disk"), "size": json.Number("1")}}
		case name == "tags", kind == 0:
			list := []any{}
			for _, v := range rapid.SliceOfN(rapid.SampledFrom([]string{"p", "q", "r"}), 0, 3).Draw(t, "list") {
				list = append(list, v)
			}
			object[name] = list
		case kind == 1 && depth > 0:
			object[name] = drawObject(t, depth-1)
		default:
			object[name] = rapid.SampledFrom([]any{"v", "w", true, json.Number("7")}).Draw(t, "value")
		}
	}
	return object
}

func compactAs(t *rapid.T, k *Kind, b []byte) []byte {
	tree, err := k.parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return compact(tree)
}

func TestUnorderedArrays(t *testing.T) {
	k := &Kind{Unordered: []Pointer{"/tags"}}
	c, err := difference(k, []byte(`{"tags":["b","a"],"list":[1,2]}`), []byte(`{"tags":["a","b"],"list":[2,1]}`))
	if err != nil || len(c.Set) != 1 || string(c.Set["/list"]) != "[2,1]" {
		t.Errorf("%+v %v", c, err)
	}
	patch, err := jsonpatch.DecodePatch([]byte(`[{"op":"remove","path":"/tags/0"}]`))
	if err != nil || !k.positional(patch) {
		t.Errorf("a position in an array without order means the same at every site: %v", err)
	}
}

// What an application says in a page is told without its markup.
func TestTellPage(t *testing.T) {
	r := Reply{Status: 409, Header: map[string][]string{"Content-Type": {"text/html; charset=UTF-8"}}, Body: []byte("<html>\n <head>\n  <title>409 Conflict</title>\n" +
		" </head>\n <body>\n  <h1>409 Conflict</h1>\n  Image status transition from active to saving is not allowed<br /><br />\n\n </body>\n</html>")}
	if got, want := tell(r, nil), "status 409 409 Conflict Image status transition from active to saving is not allowed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Header = map[string][]string{"Content-Type": {"text/plain"}}
	if got := tell(r, nil); got != "status 409 "+string(r.Body) {
		t.Errorf("%q", got)
	}
}
