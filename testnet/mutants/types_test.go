package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// listed is what the go command says of a package.
type listed struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
}

// TestFaultsCompile checks the types of all planted faults: a fault that does not compile is found here and not on the day of its share.
func TestFaultsCompile(t *testing.T) {
	at, exports := packages(t)
	c := checker{fset: token.NewFileSet(), parsed: map[string]*ast.File{}}
	c.known = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, m := range planted() {
		changed, seen := m.changed(t), map[string]bool{}
		for path := range changed {
			folder := filepath.Dir(path)
			if seen[folder] {
				continue
			}
			seen[folder] = true
			if err := c.check(at[folder], changed); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

// checker checks the types of packages. Files that nothing changes are parsed once.
type checker struct {
	fset   *token.FileSet
	known  types.Importer
	parsed map[string]*ast.File
}

// check checks a package with some files changed, by their paths.
func (c *checker) check(p listed, changed map[string]string) error {
	if len(p.GoFiles) == 0 {
		return errors.New("the go command knows no package there")
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := c.parse(filepath.Join(p.Dir, name), changed)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	_, err := (&types.Config{Importer: c.known}).Check(p.ImportPath, c.fset, files, nil)
	return err
}

func (c *checker) parse(path string, changed map[string]string) (f *ast.File, err error) {
	if text, is := changed[path]; is {
		return parser.ParseFile(c.fset, path, text, parser.SkipObjectResolution)
	}
	if f = c.parsed[path]; f == nil {
		f, err = parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution)
		c.parsed[path] = f
	}
	return f, err
}

// packages are those of the module by their folders, and where the compiler's words about every package are by its path.
func packages(t *testing.T) (at map[string]listed, exports map[string]string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("list the packages: %w", err))
	}
	at, exports = map[string]listed{}, map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return at, exports
		} else if err != nil {
			t.Fatal(err)
		}
		at[p.Dir], exports[p.ImportPath] = p, p.Export
	}
}
