// Package skerry_test holds what is checked about the tree as a whole: who may import whom, and why not others.
package skerry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/skerry/skerry"

// layer is the rule of one folder.
type layer struct {
	folder string
	may    []string
	why    string
}

// layers say which of our packages a package may import. A folder stands for everything below it, unless "=" stands before it; packages
// of one folder may import each other. The first row that fits counts; every folder with Go code has one.
var layers = []layer{
	{"engine/vivaldi", nil, "arithmetic"},
	{"engine/scope", nil, "the language knows names and nothing else, so that any tool can read it"},
	{"=engine", []string{"engine/vivaldi"}, "words have no logic and need nobody's"},
	{"engine/tree", []string{"=engine"}, "JSON is JSON, whoever looks into it"},
	{"engine/service", []string{"=engine"}, "how a service is paced does not depend on what is sent to it"},
	{"engine/mesh", []string{"=engine", "engine/vivaldi", "engine/scope"}, "who belongs to a mesh does not depend on what its sites share"},
	{"engine/merge", []string{"=engine", "engine/tree"}, "what operations amount to does not depend on what a site has done about them"},
	{"engine/plan", []string{"=engine", "engine/tree", "engine/merge"}, "what to do next follows from operations and what was done, not from how that is kept or sent"},
	{"engine/view", []string{"=engine", "engine/tree", "engine/merge", "engine/plan"}, "what is known of a resource does nothing by itself"},
	{"engine/flight", []string{"=engine", "engine/tree", "engine/merge", "engine/plan", "engine/view"}, "what is in flight is the same, whoever has sent it"},
	{"engine/compact", []string{"=engine", "engine/tree", "engine/merge", "engine/plan", "engine/view"}, "what may be let go follows from what all have said"},
	{"engine/report", []string{"=engine", "engine/tree", "engine/merge", "engine/plan", "engine/view", "engine/flight", "engine/compact"}, "what people are told follows from what is known, and changes nothing"},
	{"engine/drift", []string{"=engine", "engine/tree", "engine/merge", "engine/plan", "engine/view", "engine/report"},
		"what a look tells follows from what it brings and what was known"},
	{"engine/issue", []string{"=engine", "engine/tree", "engine/merge", "engine/plan", "engine/view", "engine/compact"},
		"what a request amounts to follows from what is known where it runs first"},
	{"engine/decide", []string{"=engine", "engine/merge", "engine/plan", "engine/view", "engine/report", "engine/issue", "engine/flight"},
		"what comes of a decision follows from what is known; the replica carries it out"},
	{"engine/hear", []string{"=engine", "engine/merge", "engine/view", "engine/flight"},
		"what comes of what another site says follows from what is known; the replica carries it out"},
	{"engine/replica", []string{"=engine", "engine/hear", "engine/flight", "engine/decide", "engine/tree", "engine/merge", "engine/plan", "engine/view", "engine/compact", "engine/drift", "engine/issue", "engine/report"}, "one resource knows no other, and no site: it takes inputs and yields effects"},
	{"engine/accept", []string{"=engine"}, "what others may do here follows from rules and names, whatever it is done to"},
	{"engine/members", []string{"=engine", "engine/mesh", "engine/vivaldi"}, "the mesh is kept whatever its sites share"},
	{"engine/beside", []string{"=engine", "engine/tree", "engine/merge", "engine/plan", "engine/view", "engine/report", "engine/replica"},
		"what goes on beside the loop meets it in an interface of its own"},
	{"engine/names", []string{"=engine"}, "what something is called does not depend on what is done to it"},
	{"engine/site", []string{"=engine", "engine/names", "engine/tree", "engine/merge", "engine/plan", "engine/view", "engine/report", "engine/flight", "engine/hear", "engine/replica", "engine/service", "engine/beside"},
		"the loop carries out what replicas ask for; clients and people come to it, not the other way round"},
	{"engine/waiting", nil, "who waits for what is the same whatever it is"},
	{"engine/keys", []string{"=engine", "engine/flight"}, "what has come before is known by what came, not by where it is to run"},
	{"engine/outbox", []string{"=engine", "engine/tree", "engine/plan", "engine/report", "engine/waiting", "engine/keys"},
		"what is kept is handed over as it came: what it does where it runs is not looked into"},
	{"engine/front", []string{"=engine", "engine/tree", "engine/merge", "engine/plan", "engine/view", "engine/issue", "engine/report", "engine/flight", "engine/replica", "engine/waiting", "engine/keys", "engine/outbox"},
		"clients' requests meet the loop in an interface of their own"},
	{"engine/desk", []string{"=engine", "engine/tree", "engine/merge", "engine/plan", "engine/view", "engine/report", "engine/replica"},
		"people's decisions meet the loop in an interface of their own"},
	{"engine/core", []string{"=engine", "engine/mesh", "engine/members", "engine/site", "engine/front", "engine/desk", "engine/accept"}, "joins the parts of the engine, and has no logic of its own"},
	{"crdt", []string{"=engine"}, "documents meet the rest in the engine's ports alone"},
	{"p2p", []string{"=engine", "engine/vivaldi"}, "the network meets the rest in the engine's ports alone"},
	{"storage", []string{"=engine", "engine/vivaldi"}, "the store meets the rest in the engine's ports alone"},
	{"glue", []string{"=engine", "engine/tree"}, "glue speaks an application's API and nothing else"},
	{"web", []string{"=engine", "engine/tree", "engine/scope", "engine/vivaldi", "glue"}, "pages and APIs show what the engine knows; how it is kept and carried is not theirs to know"},
	{"cmd", []string{"engine", "crdt", "p2p", "storage", "glue", "web", "testnet", "docs"}, "wires everything; nobody else may depend on it"},
	{"docs", nil, "what an operator reads, and files to copy; code may hand them on"},
	{"testnet", []string{"engine", "crdt", "p2p", "storage", "glue", "web", "cmd", "docs"}, "tests and demonstrates everything; nobody else may depend on it"},
}

// confined libraries may be imported by the folders that are named only; testnet, which takes everything apart, may
// import all of them. The first row that fits an import counts.
var confined = []struct {
	library string
	folders []string
	why     string
}{
	{"github.com/automerge", []string{"crdt"}, "its decoder aborts the process on crafted bytes: none reach it but through the gate of crdt"},
	{"github.com/libp2p/go-libp2p/core/crypto", []string{"p2p", "crdt"}, "keys are libp2p's; documents are signed with them"},
	{"github.com/libp2p/go-libp2p/core/peer", []string{"p2p", "crdt"}, "sites are peer ids; their keys are in them"},
	{"github.com/libp2p", []string{"p2p"}, "no other package depends on how sites are connected"},
	{"github.com/multiformats/go-multiaddr", []string{"p2p", "cmd/agent"}, "addresses are text outside; the configuration checks their form"},
	{"github.com/mattn/go-sqlite3", []string{"storage"}, "what is durable, and how, is decided in one place"},
	{"database/sql", []string{"storage"}, "what is durable, and how, is decided in one place"},
	{"github.com/labstack", []string{"web"}, "the HTTP framework ends where pages and APIs end"},
	{"github.com/a-h/templ", []string{"web"}, "HTML is made for the page alone"},
	{"golang.org/x/crypto/argon2", []string{"web/auth"}, "what a password costs is decided in one place"},
	{"golang.org/x/term", []string{"cmd/skerry"}, "only the command line has a terminal"},
	{"github.com/prometheus", []string{"web", "cmd/agent"}, "metrics are one more view of what the engine tells; the agent hands the registry in"},
	{"go.opentelemetry.io", []string{"web/traces"}, "how traces are made and told is decided in one place"},
	{"go.yaml.in/yaml", []string{"glue/strictyaml", "glue/draft", "glue/kubernetes", "web/webtest/served"}, "every file that people write for us is read strictly, with all problems at once; " +
		"documents of applications are read as they are"},
	{"github.com/alecthomas/kong", []string{"cmd"}, "flags are the command line's; what runs is handed its values"},
}

// engineMay are the libraries that the engine's code (not its tests) may use beside the standard library: small, pure,
// without I/O.
var engineMay = []string{"github.com/fxamacker/cbor/v2", "golang.org/x/net/html"}

// engineMayNot are packages of the standard library that do I/O or reach around Go.
var engineMayNot = []string{"net", "os", "database", "syscall", "unsafe", "plugin", "log", "io/ioutil"}

func TestImports(t *testing.T) {
	for _, f := range goFiles(t) {
		row := slices.IndexFunc(layers, func(l layer) bool { return within(l.folder, f.folder) })
		if row < 0 && f.folder != "." {
			t.Errorf("%s: no row of layers says what %s may import", f.path, f.folder)
			continue
		}
		for path, at := range f.imports {
			ours, isOurs := strings.CutPrefix(path, module+"/")
			if isOurs && row >= 0 {
				l := layers[row]
				if !within(l.folder, ours) && !slices.ContainsFunc(l.may, func(m string) bool { return within(m, ours) }) {
					t.Errorf("%s: %s may not import %s: %s", at, l.folder, ours, l.why)
				}
			}
			if f.test || within("testnet", f.folder) {
				continue
			}
			for _, c := range confined {
				if !within(c.library, path) {
					continue
				}
				if !slices.ContainsFunc(c.folders, func(m string) bool { return within(m, f.folder) }) {
					t.Errorf("%s: only %s may import %s: %s", at, strings.Join(c.folders, ", "), c.library, c.why)
				}
				break
			}
		}
	}
}

// TestInvariantBlackBoxes keeps what is known of an application in glue: nobody else imports what speaks its API but who wires it in,
// and the core does not so much as name one.
func TestInvariantBlackBoxes(t *testing.T) {
	names := regexp.MustCompile(`(?i)kubernetes|kubectl|openstack|glance|keystone|neutron`)
	for _, f := range goFiles(t) {
		product := !f.test && !slices.ContainsFunc([]string{"glue", "cmd", "testnet", "docs"}, func(folder string) bool { return within(folder, f.folder) })
		for path, at := range f.imports {
			if of, ours := strings.CutPrefix(path, module+"/glue/"); ours && product && names.MatchString(of) {
				t.Errorf("%s: only glue may know an application: not %s", at, path)
			}
		}
		if product && !within("web", f.folder) {
			text, err := os.ReadFile(f.path)
			if name := names.Find(text); err != nil || name != nil {
				t.Errorf("%s names %s (%v): the core works with methods, paths, types, changes and opaque bodies", f.path, name, err)
			}
		}
	}
}

// TestEngineIsPure keeps I/O, the wall clock and other people's libraries out of the engine.
func TestEngineIsPure(t *testing.T) {
	for _, f := range goFiles(t) {
		if !within("engine", f.folder) || f.test {
			continue
		}
		for path, at := range f.imports {
			first, _, _ := strings.Cut(path, "/")
			switch {
			case within(module, path):
			case strings.Contains(first, "."):
				if !slices.Contains(engineMay, path) {
					t.Errorf("%s: the engine may not import %s: it takes the standard library and small pure libraries only", at, path)
				}
			case path == "net/http" || path == "log/slog":
			case slices.ContainsFunc(engineMayNot, func(p string) bool { return within(p, path) }):
				t.Errorf("%s: the engine may not import %s: it does no I/O, what it needs is handed in", at, path)
			}
		}
		for name, at := range f.uses["net/http"] {
			pure := []string{"Header", "CanonicalHeaderKey", "ParseTime"}
			if !slices.Contains(pure, name) && !strings.HasPrefix(name, "Status") && !strings.HasPrefix(name, "Method") {
				t.Errorf("%s: the engine may not use http.%s: it speaks of headers, methods and statuses and sends nothing", at, name)
			}
		}
		for _, name := range []string{"Now", "Since", "Until", "Sleep"} {
			if at, ok := f.uses["time"][name]; ok {
				t.Errorf("%s: the engine may not use time.%s: the clock is handed in, so that tests can set it", at, name)
			}
		}
	}
}

// TestRulesAreInUse keeps the tables free of rows that nothing needs any more.
func TestRulesAreInUse(t *testing.T) {
	files := goFiles(t)
	imported := func(folder, library string) bool {
		return slices.ContainsFunc(files, func(f goFile) bool {
			if !within(folder, f.folder) {
				return false
			}
			for path := range f.imports {
				if within(library, path) {
					return true
				}
			}
			return false
		})
	}
	for _, l := range layers {
		if _, err := os.Stat(strings.TrimPrefix(l.folder, "=")); err != nil {
			t.Errorf("the row of %s: %v", l.folder, err)
		}
	}
	for _, c := range confined {
		for _, folder := range c.folders {
			if !imported(folder, c.library) {
				t.Errorf("%s does not import %s (any more): take it out of its row", folder, c.library)
			}
		}
	}
	for _, library := range engineMay {
		if !imported("engine", library) {
			t.Errorf("the engine does not import %s (any more): take it out of the list", library)
		}
	}
}

// goFile is what the rules look at in one file.
type goFile struct {
	path, folder string // below the module's root, with slashes
	test         bool
	imports      map[string]token.Position // by path
	// uses are the names that the file takes from a package, by the package's path and the name.
	uses map[string]map[string]token.Position
}

// goFiles parses the files of this module.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(path, "go.mod"))
			if path != "." && (other == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) == ".go" {
			f, err := parse(path)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("there is no Go file: the test runs in the wrong folder")
	}
	return files
}

func parse(path string) (goFile, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return goFile{}, err
	}
	f := goFile{
		path: filepath.ToSlash(path), folder: filepath.ToSlash(filepath.Dir(path)), test: strings.HasSuffix(path, "_test.go"),
		imports: map[string]token.Position{}, uses: map[string]map[string]token.Position{},
	}
	names := map[string]string{} // local name of a package to its path
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return goFile{}, err
		}
		name := imported[strings.LastIndex(imported, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
		f.imports[imported] = set.Position(spec.Pos())
		f.uses[imported] = map[string]token.Position{}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && names[x.Name] != "" {
				f.uses[names[x.Name]][selector.Sel.Name] = set.Position(selector.Pos())
			}
		}
		return true
	})
	return f, nil
}

// within reports whether path is folder or below it; where "=" stands before the folder, whether it is that.
func within(folder, path string) bool {
	if exact, only := strings.CutPrefix(folder, "="); only {
		return path == exact
	}
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// What fits in one head: lines of a package without its tests, and methods of a type.
const (
	mostLines   = 4000
	mostMethods = 40
)

// TestEngineFitsInOneHead keeps packages and types of the engine small.
func TestEngineFitsInOneHead(t *testing.T) {
	sizes, most := map[string]int{}, map[string]int{}
	method := regexp.MustCompile(`(?m)^func \(\w* ?\*?(\w+)(\[\w+\])?\)`)
	for _, f := range goFiles(t) {
		if !within("engine", f.folder) || f.test {
			continue
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		sizes[f.folder] += strings.Count(string(text), "\n")
		most[f.folder] = mostLines
		for _, m := range method.FindAllStringSubmatch(string(text), -1) {
			name := f.folder + "." + m[1]
			sizes[name]++
			most[name] = mostMethods
		}
	}
	for name, n := range sizes {
		if n > most[name] {
			t.Errorf("%s has %d lines or methods: part it", name, n)
		}
	}
}
