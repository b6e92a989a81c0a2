package scope

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustParse(t testing.TB, text string) *Scope {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFor(t *testing.T) {
	const none = "here"
	for _, c := range []struct{ scope, service, addressed, want string }{
		{"{servers: paris, images: nantes}", "images", "servers", "nantes"},
		{"{servers: paris, images: nantes}", "servers", "servers", "paris"},
		{"{servers: paris}", "images", "servers", none},
		{"{}", "images", "images", none},
		{"nantes", "images", "images", "nantes"},
		{"nantes", "networks", "images", none},
		{"nantes, servers: paris", "images", "images", "nantes"},
		{"nantes, servers: paris", "servers", "images", "paris"},
		{"nantes, images: paris", "images", "images", "paris"},
	} {
		got := none
		if l, ok := mustParse(t, c.scope).For(c.service, c.addressed); ok {
			got = l.String()
		}
		if got != c.want {
			t.Errorf("%s: %s runs at %s when %s is addressed, want %s", c.scope, c.service, got, c.addressed, c.want)
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	for _, pair := range [][2]string{{"(", ")"}, {"!", ""}, {"sync(", ")"}, {"a & (", ")"}} {
		deep := strings.Repeat(pair[0], MaxNesting) + "paris" + strings.Repeat(pair[1], MaxNesting)
		if _, err := Parse(deep); err != nil {
			t.Errorf("%d times %s: %v", MaxNesting, pair[0], err)
		}
		var wrong *SyntaxError
		_, err := Parse(pair[0] + deep + pair[1])
		if !errors.As(err, &wrong) || wrong.Expected != "at most 64 levels of nesting" {
			t.Errorf("once more %s: %v", pair[0], err)
		}
	}
	wide := strings.Repeat("(a) & !b & ", MaxNesting) + "c"
	if _, err := Parse(wide); err != nil {
		t.Errorf("parentheses beside each other: %v", err)
	}
}

func TestLengthIsBounded(t *testing.T) {
	if _, err := Parse(strings.Repeat("a", MaxLength-2)); err != nil {
		t.Errorf("as long as allowed: %v", err)
	}
	for name, text := range map[string]string{
		"as written": strings.Repeat(" ", MaxLength) + "a",
		"canonical":  strings.Repeat("a&", MaxLength/2-1) + "a",
		"huge":       strings.Repeat("é", 1<<20),
	} {
		_, err := Parse(text)
		var wrong *SyntaxError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Error(), "at most 4096 bytes") {
			t.Errorf("%s: %.200v", name, err)
			continue
		}
		if len(wrong.Picture()) > 1000 {
			t.Errorf("%s: a picture of %d bytes", name, len(wrong.Picture()))
		}
	}
}

func TestPicture(t *testing.T) {
	_, err := Parse("{images: paris & , nantes}")
	var wrong *SyntaxError
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	const want = `{images: paris & , nantes}
                 ^ expected a site, "*", "!", "(" or a function, found ","`
	if wrong.Picture() != want || wrong.Offset != 17 {
		t.Errorf("at %d\n%s", wrong.Offset, wrong.Picture())
	}
}

// What the users' reference shows is what they get.
func TestReferenceShowsWhatIsSaid(t *testing.T) {
	reference, err := os.ReadFile(filepath.Join("..", "..", "docs", "scope-lang.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{images: paris & , nantes}", "{image: paris}", "(paris | nantes) & lyon"} {
		var wrong *SyntaxError
		s, err := Parse(text)
		said := ""
		if errors.As(err, &wrong) {
			said = wrong.Picture()
		} else {
			said = s.Check(lab)[0].Detail
		}
		if !strings.Contains(string(reference), "\n"+said+"\n") {
			t.Errorf("the reference does not show\n%s", said)
		}
	}
	canonical := mustParse(t, `{"compute": "Zone1", "image": "Zone1 && (Zone2) || Zone3"}`).String()
	if !strings.Contains(string(reference), "\n"+canonical+"\n") {
		t.Errorf("the reference does not show %s", canonical)
	}
}

func TestCheckWithoutText(t *testing.T) {
	s := &Scope{Bindings: []Binding{{Service: "image", Location: Location{Site: "paris"}}}}
	problems := s.Check(lab)
	if len(problems) != 1 || problems[0].Detail != `no service "image" in application lab; did you mean "images"?` {
		t.Errorf("%+v", problems)
	}
}

func TestProblemAsJSON(t *testing.T) {
	p := mustParse(t, "!*").Check(lab)[0]
	got, err := json.Marshal(p)
	const want = `{"type":"scope-type","detail":"!*\n^^ no site is left: every known site is excluded","position":0}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestSingleSiteMesh(t *testing.T) {
	w := World{Self: "paris", Sites: []string{"paris"}}
	if got, err := Resolve(mustParse(t, "*").Bindings[0].Location, w); err != nil || got[0].Mode != One {
		t.Errorf("*: %v, %v", got, err)
	}
	if got, err := Resolve(mustParse(t, "!paris").Bindings[0].Location, w); err == nil {
		t.Errorf("!paris: %v", got)
	}
}

func TestNearest(t *testing.T) {
	sites := []string{"nantes", "paris", "lyon", "a1", "a2", "tokyo-datacenter-east", "rennes", "vannes"}
	for name, want := range map[string]string{
		"pari": "paris", "Paris": "paris", "apris": "paris", "pairs": "paris", "prs": "paris", "prag": "",
		"nantse": "nantes", "nannes": "nantes", "lion": "lyon", "a3": "a1", "a": "a1", "b": "", "b7": "",
		"tokyo-east": "", "tokyo-data-centre-east": "tokyo-datacenter-east", "": "", "x": "",
	} {
		if got := nearest(name, sites); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("{servers: paris, images: paris & nantes}"); err != nil {
			b.Fatal(err)
		}
	}
}

// The worst a stranger can send: as many unknown names as fit, in a mesh of 10,000 sites.
func BenchmarkCheckHostile(b *testing.B) {
	w := World{}
	for i := range 10000 {
		w.Sites = append(w.Sites, fmt.Sprintf("x%04d", i))
	}
	var text strings.Builder
	for i := 0; text.Len() < MaxLength-16; i++ {
		fmt.Fprintf(&text, "y%04d & ", i)
	}
	s := mustParse(b, text.String()+"y")
	for b.Loop() {
		s.Check(w)
	}
}

func BenchmarkResolveHostile(b *testing.B) {
	w := World{}
	for i := range 10000 {
		w.Sites = append(w.Sites, fmt.Sprintf("x%04d", i))
	}
	s := mustParse(b, strings.Repeat("!x0001 & *&", 300)+"*")
	for b.Loop() {
		if _, err := Resolve(s.Bindings[0].Location, w); err != nil {
			b.Fatal(err)
		}
	}
}
