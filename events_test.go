package skerry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEventsAreDescribed compares the types of events that the code tells with those that openapi.yaml names, both ways.
func TestEventsAreDescribed(t *testing.T) {
	typed := regexp.MustCompile(`^(operation|resource|conflict|queue|site|log)\.[a-z-]*$`)
	told := map[string]string{}
	for _, f := range goFiles(t) {
		if f.test || !within("engine", f.folder) && !within("web/api", f.folder) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil && typed.MatchString(text) {
					told[text] = f.path
				}
			}
			return true
		})
	}
	b, err := os.ReadFile("web/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ *type: .*log\.trimmed.*$`).Find(b)
	described := map[string]bool{}
	for _, m := range regexp.MustCompile(`\b(operation|resource|conflict|queue|site|log)\.[a-z-]+`).FindAllString(string(line), -1) {
		described[m] = true
	}
	for text, path := range told {
		if !strings.HasSuffix(text, ".") && !described[text] {
			t.Errorf("%s tells %s, which openapi.yaml does not name", path, text)
		}
	}
	for text := range described {
		family, _, _ := strings.Cut(text, ".")
		_, named := told[text]
		if _, open := told[family+"."]; !named && !open { // what stands behind "operation." and the like is a state
			t.Errorf("openapi.yaml names %s, which nothing tells", text)
		}
	}
}
