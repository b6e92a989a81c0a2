package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

func TestParseJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1.50,"a":[true,null,"x"]}`: `{"a":[true,null,"x"],"b":1.50}`,
		` 7 `:                            `7`,
		`"é\u2028<&>\""`:                 `"é\u2028<&>\""`,
		`{"a":1,"a":2}`:                  `{"a":2}`,
		`12345678901234567890.12e999`:    `12345678901234567890.12e999`,
	} {
		v, err := ParseJSON([]byte(text))
		if err != nil || string(Compact(v)) != want {
			t.Errorf("%s is %s, %v; want %s", text, Compact(v), err, want)
		}
	}
	for _, text := range []string{``, `{`, `1 2`, `{"a":1}]`, `{"a":1},`, `nul`, `<x/>`, `{"a":01}`} {
		if v, err := ParseJSON([]byte(text)); err == nil {
			t.Errorf("%q is taken for %s", text, Compact(v))
		}
	}
}

// TestInvariantJSONIsReadAsTheStandardLibraryDoes: the fast way gives the same tree.
func TestInvariantJSONIsReadAsTheStandardLibraryDoes(t *testing.T) {
	same := func(t rapid.TB, b []byte) {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		var want any
		err := d.Decode(&want)
		if got, err := ParseJSON(b); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %#v, %v, not %#v", b, got, err, want)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"\t{ \"a\" :\r[ ] , \"b\":[{ }, 1 ,-2.5E+3\n]} ", `"\ud800\u00e9\\\"\/"`, "\"\xff\x7f\"", `{"a":{"b":1},"a":{"c":[null,false,true]}}`} {
		same(t, []byte(text))
	}
	rapid.Check(t, func(t *rapid.T) {
		v := drawObject(t, 3)
		v[rapid.String().Draw(t, "name")] = rapid.String().Draw(t, "text")
		b := encode(v)
		if rapid.Bool().Draw(t, "spread out") {
			var spread bytes.Buffer
			if err := json.Indent(&spread, b, " ", "\t"); err != nil {
				t.Fatal(err)
			}
			b = spread.Bytes()
		}
		same(t, b)
	})
}

// TestDepthIsBounded: JSON may be nested as deep as paths may lead, and no deeper, whatever is in texts.
func TestDepthIsBounded(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(strings.Repeat(`{"a":[`, n/2) + `"[[[[{{{{\"[[["` + strings.Repeat(`]}`, n/2))
	}
	if _, err := ParseJSON(nested(engine.MaxDepth)); err != nil {
		t.Error(err)
	}
	for _, b := range [][]byte{nested(engine.MaxDepth + 2), bytes.Repeat([]byte("["), 1<<20)} {
		if _, err := ParseJSON(b); !errors.Is(err, engine.ErrTooLarge) {
			t.Errorf("it is parsed: %v", err)
		}
		if Patched(b) != nil {
			t.Error("it is a patch")
		}
	}
}

// TestInvariantCompactIsAsTheStandardLibrary: the fast way gives the same bytes.
func TestInvariantCompactIsAsTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawObject(t, 3)
		v["text"] = rapid.String().Draw(t, "text")
		if got, want := string(Compact(v)), string(encode(v)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		again, err := ParseJSON(Compact(v))
		if err != nil || !bytes.Equal(Compact(again), Compact(v)) {
			t.Fatalf("%s is read as %s: %v", Compact(v), Compact(again), err)
		}
	})
}

// FuzzParse parses bytes as a representation: what comes of it is bounded, encoded alike whatever the order of members, and
// every leaf is found where it is said to be.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"id":1,"disks":[{"name":"a","serial":1,"parts":[{"n":1,"fs":"x"}]},{"name":"7"}],"tags":["b","a"]}`,
		`{"disks":{"key":"name"},"tags":{}}`, `[1.0,{"":{"~/":null}}]`, `"\ud800"`, `{"disks":[{"name":""},{"name":"x"},{"name":"x"}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		root, err := Parse(disked, b)
		if err != nil {
			return
		}
		compact := Compact(root)
		if !json.Valid(compact) {
			t.Fatalf("%q is encoded as %q", b, compact)
		}
		again, err := Parse(disked, compact)
		if err != nil || !bytes.Equal(Compact(again), compact) {
			t.Fatalf("%s is read as %s: %v", compact, Compact(again), err)
		}
		leaves := map[Pointer]json.RawMessage{}
		Leaves(root, "", leaves)
		for p, v := range leaves {
			got, ok := ValueAt(root, p)
			if err := p.Validate(); err != nil || !ok || !Holds(v, got) && !bytes.Equal(Compact(got), v) {
				t.Fatalf("%s at %q is %s: %v", v, p, Compact(got), err)
			}
		}
		if _, object := root.(map[string]any); object {
			rebuilt := Representation(leaves)
			order := map[Pointer][]string{}
			Orders(root, "", order)
			copied, err := Parse(disked, rebuilt)
			if err != nil {
				t.Fatal(err)
			}
			Arrange(copied, order)
			if got := Compact(copied); !bytes.Equal(got, compact) && !strings.Contains(string(compact), `"key"`) {
				t.Fatalf("%s is rebuilt as %s", compact, got)
			}
		}
		Canonical(disked, b)
		RelationsOf(disked, "", b)
	})
}

func BenchmarkParse(b *testing.B) {
	body := []byte(`{"name":"debian 12","size":1073741824,"tags":["a","b"],"os":{"family":"linux","version":"12.1"},"public":true,"owner":null}`)
	b.ReportAllocs()
	for b.Loop() {
		root, err := ParseJSON(body)
		if err != nil {
			b.Fatal(err)
		}
		leaves := map[Pointer]json.RawMessage{}
		Leaves(root, "", leaves)
	}
}

func BenchmarkCanonical(b *testing.B) {
	body := []byte(`{"name":"debian 12","size":1073741824,"tags":["a","b"],"os":{"family":"linux","version":"12.1"},"public":true,"owner":null}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := Canonical(disked, body); !ok {
			b.Fatal("it is no JSON")
		}
	}
}
