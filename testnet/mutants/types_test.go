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
	fset := token.NewFileSet()
	known := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	parsed := map[string]*ast.File{}
	for _, m := range planted() {
		changed := m.changed(t)
		folders := map[string]bool{}
		for path := range changed {
			folders[filepath.Dir(path)] = true
		}
		for folder := range folders {
			p, ok := at[folder]
			if !ok {
				t.Fatalf("%s: the go command knows no package in %s", m.name, folder)
			}
			var files []*ast.File
			for _, name := range p.GoFiles {
				path := filepath.Join(folder, name)
				f := parsed[path]
				text, is := changed[path]
				if is || f == nil {
					var source any // nil: the file as it is
					if is {
						source = text
					}
					var err error
					if f, err = parser.ParseFile(fset, path, source, parser.SkipObjectResolution); err != nil {
						t.Errorf("%s: %v", m.name, err)
						continue
					}
				}
				if !is {
					parsed[path] = f
				}
				files = append(files, f)
			}
			if _, err := (&types.Config{Importer: known}).Check(p.ImportPath, fset, files, nil); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
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
