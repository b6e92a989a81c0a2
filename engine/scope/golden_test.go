package scope

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// lab is the world of the golden files.
var lab = World{
	Self:        "paris",
	Sites:       []string{"paris", "nantes", "lyon"},
	Services:    []string{"servers", "images", "networks"},
	Application: "lab",
	Addressed:   "images",
	Zones:       map[string][]string{"west": {"paris", "nantes"}, "gone": {"rome"}, "lyon": {"paris"}},
	RTT: func(a, b string) (time.Duration, bool) {
		if a == "lyon" || b == "lyon" {
			return 15 * time.Millisecond, true
		}
		return 9 * time.Millisecond, true
	},
}

// Each golden file is a list of scopes and what is said about them. A line "> …" is a scope, "q> …" one in Go's
// quotes; the lines up to the next are what the file's function prints. Lines that begin with "#" are for readers.
func TestGolden(t *testing.T) {
	for name, show := range map[string]func(string) string{
		"forms.txt":   showTree,
		"errors.txt":  showTree,
		"check.txt":   showProblems,
		"resolve.txt": showSites,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for line := range strings.Lines(string(data)) {
				line = strings.TrimSuffix(line, "\n")
				switch {
				case strings.HasPrefix(line, "# "):
					fmt.Fprintf(&got, "%s\n\n", line)
				case strings.HasPrefix(line, "> "):
					fmt.Fprintf(&got, "%s\n%s\n\n", line, show(line[2:]))
				case strings.HasPrefix(line, "q> "):
					text, err := strconv.Unquote(line[3:])
					if err != nil {
						t.Fatalf("%s: %v", line, err)
					}
					fmt.Fprintf(&got, "%s\n%s\n\n", line, show(text))
				}
			}
			if *update {
				if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got.String() != string(data) {
				t.Errorf("%s differs; got:\n%s", path, firstDifference(got.String(), string(data)))
			}
		})
	}
}

// firstDifference shows got from a few lines before it parts from want.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < len(g) && i < len(w) && g[i] == w[i] {
		i++
	}
	return strings.Join(g[max(0, i-3):min(len(g), i+5)], "\n")
}

func showTree(text string) string {
	s, err := Parse(text)
	if err != nil {
		return showError(err)
	}
	out := s.String()
	for _, b := range s.Bindings {
		tree, err := json.Marshal(Tree(b.Location))
		if err != nil {
			return err.Error()
		}
		// JSON in HTML's escapes would be hard to read here.
		out += fmt.Sprintf("\n  %s: %s", b.Service, strings.ReplaceAll(string(tree), `\u0026`, "&"))
	}
	return out
}

func showError(err error) string {
	var wrong *SyntaxError
	if !errors.As(err, &wrong) {
		return "not a syntax error: " + err.Error()
	}
	return wrong.Error() + "\n" + wrong.Picture()
}

func showProblems(text string) string {
	s, err := Parse(text)
	if err != nil {
		return showError(err)
	}
	problems := s.Check(lab)
	if len(problems) == 0 {
		return "nothing wrong"
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = fmt.Sprintf("%s at byte %d\n%s", p.Type, p.Position, p.Detail)
	}
	return strings.Join(lines, "\n")
}

func showSites(text string) string {
	s, err := Parse(text)
	if err != nil {
		return showError(err)
	}
	var lines []string
	for _, b := range s.Bindings {
		alternatives, err := Resolve(b.Location, lab)
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s: %v", b.Service, err))
			continue
		}
		for _, a := range alternatives {
			words := append([]string{b.Service + ":", a.Mode}, a.Sites...)
			for i, part := range a.Parts {
				words = append(words, fmt.Sprintf("(part %d: %s)", i+1, strings.Join(part, " ")))
			}
			if a.Wait != "" {
				words = append(words, "wait for "+string(a.Wait))
			}
			if a.Either {
				words = append(words, "(or the one before)")
			}
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return strings.Join(lines, "\n")
}
