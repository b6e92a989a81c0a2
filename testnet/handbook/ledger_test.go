package handbook

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLedger: each block of commands in README.md and docs is run by a test, or there is a reason why it is not. What the ledger has is there: blocks to
// be run or left out, and functions that run them. docs/reference/commands.md is made of the program; cmd/skerry has its examples parsed.
func TestLedger(t *testing.T) {
	pages := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, _ fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(root, file); filepath.Ext(name) == ".md" && name != "docs/reference/commands.md" {
			pages = append(pages, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	needed, commands := map[entry]bool{}, 0
	for _, page := range pages {
		source, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := Parse(string(source))
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		for _, b := range blocks {
			commands++
			e, err := entryOf(page, b)
			if err != nil {
				t.Error(err)
			} else if e.runner == "" && len(b.At) > 0 {
				t.Errorf("%s:%d says where it is run, and no test runs it: %s", page, b.Line, e.why)
			}
			needed[e] = true
		}
	}
	if len(pages) < 40 || commands < 110 {
		t.Errorf("only %d pages with %d blocks are found", len(pages), commands)
	}
	for _, e := range ledger {
		if !needed[e] {
			t.Errorf("%s has no block for the entry %q", e.page, e.begins)
		}
		if (e.runner == "") == (e.why == "") {
			t.Errorf("%s %q wants either a runner or a reason", e.page, e.begins)
		}
		if e.runner != "" && !runs(t, e.runner) {
			t.Errorf("%s is not there, or does not take from the ledger what it runs", e.runner)
		}
	}
}

// runs says whether a runner's function is there, and names itself.
func runs(t *testing.T, runner string) bool {
	t.Helper()
	folder, name, _ := strings.Cut(runner, " ")
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	named := func(n ast.Node) (is bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			is = is || ok && l.Value == strconv.Quote(runner)
			return !is
		})
		return is
	}
	return slices.ContainsFunc(files, func(file string) bool {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(parsed.Decls, func(d ast.Decl) bool {
			f, is := d.(*ast.FuncDecl)
			return is && f.Name.Name == name && named(f)
		})
	})
}

// TestBlockWithoutEntry: a block that nobody has entered is told with its line.
func TestBlockWithoutEntry(t *testing.T) {
	for _, b := range []Block{{Line: 7, Commands: "rm -r /"}, {Line: 7, At: []string{"paris"}, Commands: "# at paris\nrm -r /"}} {
		if e, err := entryOf("README.md", b); err == nil || !strings.Contains(err.Error(), "README.md:7") {
			t.Errorf("%q is taken for %+v", b.Commands, e)
		}
	}
}

// ofMake is a command of make: a target, and variables.
var ofMake = regexp.MustCompile("(?m)(?:`|^)(make [a-z-]+(?: [A-Z]+=(?:\"[^\"`$]*\"|[\\w/-]*))*)(?:`| *#|$)")

// TestTargetsAreThere: make knows what pages have it make, with the arguments that they give. What it would run is not run here.
func TestTargetsAreThere(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	seen := map[string]bool{}
	for _, page := range pages {
		source, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ofMake.FindAllStringSubmatch(string(source), -1) {
			command := m[1]
			if seen[command] {
				continue
			}
			seen[command] = true
			c := exec.CommandContext(t.Context(), "bash", "-c", strings.Replace(command, "make ", "make --dry-run ", 1))
			c.Dir = root
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s has %q: %v: %s", page, command, err, out)
			}
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d commands of make are found", len(seen))
	}
}
