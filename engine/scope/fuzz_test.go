package scope

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// FuzzParse: whatever the bytes, Parse returns, its errors point into the text and can be drawn, and what parses
// has a canonical form that means the same and that Check and Resolve cope with.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"forms.txt", "errors.txt", "check.txt", "resolve.txt"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if text, ok := strings.CutPrefix(line, "> "); ok {
				f.Add(text)
			} else if text, err := strconv.Unquote(strings.TrimPrefix(line, "q> ")); err == nil {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			var wrong *SyntaxError
			if !errors.As(err, &wrong) {
				t.Fatalf("%q: %T", text, err)
			}
			if wrong.Offset < 0 || wrong.Offset > wrong.End || wrong.End > len(wrong.Source) {
				t.Fatalf("%q: offsets %d, %d", text, wrong.Offset, wrong.End)
			}
			if strings.Count(wrong.Picture(), "\n") != 1 || strings.Contains(wrong.Error(), "\n") {
				t.Fatalf("%q: lines of %q, %q", text, wrong.Error(), wrong.Picture())
			}
			return
		}
		canonical := s.String()
		again, err := Parse(canonical)
		if err != nil {
			t.Fatalf("%q prints %q: %v", text, canonical, err)
		}
		if !reflect.DeepEqual(trees(again), trees(s)) || again.String() != canonical {
			t.Fatalf("%q prints %q prints %q", text, canonical, again)
		}
		problems := s.Check(lab)
		for _, p := range problems {
			if p.Position < 0 || p.Position > p.End || p.End > len(text) || strings.Count(p.Detail, "\n") != 1 {
				t.Fatalf("%q: %+v", text, p)
			}
		}
		refused := 0
		for _, b := range s.Bindings {
			if _, err := Resolve(b.Location, lab); err != nil {
				refused++
			}
		}
		if refused > len(problems) {
			t.Fatalf("%q: Check lets through what Resolve refuses", text)
		}
	})
}
