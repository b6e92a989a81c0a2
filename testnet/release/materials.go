package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// material is one thing that is linked into a program.
type material struct {
	Name, Version string
	Sum           string // of go.sum; empty for what is no module
	Address       string // as a package URL; empty where there is none
	Licences      []string
	Texts         []text
}

// text is a file that says under which terms a material may be used.
type text struct {
	File string
	Text []byte
}

// materialsOf lists what is linked into a program: the modules that Go names in it, Go's standard library, and what is copied into this
// tree or into one of the modules and so has no module of its own.
func materialsOf(info *debug.BuildInfo) ([]material, error) {
	folders, err := foldersOf(info.Deps)
	if err != nil {
		return nil, err
	}
	var all []material
	var problems []error
	add := func(m material, folder string, err error) {
		if err == nil {
			err = m.read(folder)
		}
		if err != nil {
			problems = append(problems, err)
		}
		all = append(all, m)
	}
	for _, d := range info.Deps {
		add(material{Name: d.Path, Version: d.Version, Sum: d.Sum, Address: "pkg:golang/" + d.Path + "@" + d.Version}, folders[d.Path], nil)
	}
	root, err := output("go", "env", "GOROOT")
	version := strings.TrimPrefix(info.GoVersion, "go")
	add(material{Name: "std", Version: version, Address: "pkg:golang/std@" + version}, root, err)
	htmx, err := htmxVersion()
	add(material{Name: "htmx.org", Version: htmx, Address: "pkg:npm/htmx.org@" + htmx}, filepath.Join("web", "static", "vendor"), err)
	sqlite, err := sqliteOf(folders)
	all = append(all, sqlite)
	slices.SortFunc(all, func(a, b material) int { return cmp.Compare(a.Name, b.Name) })
	return all, errors.Join(append(problems, err)...)
}

// foldersOf finds the modules in the module cache, by their paths.
func foldersOf(modules []*debug.Module) (map[string]string, error) {
	args := []string{"list", "-m", "-f", "{{.Path}}\t{{.Version}}\t{{.Dir}}"}
	for _, m := range modules {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s: a release is made of modules as they are", m.Path, m.Replace.Path)
		}
		args = append(args, m.Path)
	}
	list, err := output("go", args...)
	if err != nil {
		return nil, err
	}
	folders, versions := map[string]string{}, map[string]string{}
	for line := range strings.Lines(list) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) == 3 {
			versions[f[0]], folders[f[0]] = f[1], f[2]
		}
	}
	for _, m := range modules {
		if folders[m.Path] == "" || versions[m.Path] != m.Version {
			return nil, fmt.Errorf("%s %s is not in the module cache: the program was built from another tree", m.Path, m.Version)
		}
	}
	return folders, nil
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-][a-z0-9.-]+)?$`)
	htmxNumber  = regexp.MustCompile(`this\.version="([0-9.]+)"`)
	sqliteName  = regexp.MustCompile(`#define SQLITE_VERSION +"([0-9.]+)"`)
)

// read finds the texts in a folder, and what they are.
func (m *material) read(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("licence of %s: %w", m.Name, err)
	}
	for _, f := range files {
		if !f.Type().IsRegular() || !licenceFile.MatchString(f.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return fmt.Errorf("licence of %s: %w", m.Name, err)
		}
		m.Texts = append(m.Texts, text{f.Name(), b})
		m.Licences = append(m.Licences, licencesIn(string(b))...)
	}
	slices.Sort(m.Licences)
	m.Licences = slices.Compact(m.Licences)
	if len(m.Licences) == 0 {
		return fmt.Errorf("%s %s has no licence that is known", m.Name, m.Version)
	}
	return nil
}

// htmxVersion is that of the copy in this tree.
func htmxVersion() (string, error) {
	b, err := os.ReadFile(filepath.Join("web", "static", "vendor", "htmx.min.js"))
	if err != nil {
		return "", err
	}
	if v := htmxNumber.FindSubmatch(b); v != nil {
		return string(v[1]), nil
	}
	return "", errors.New("htmx does not say which version it is")
}

// sqliteOf is SQLite, whose source is a part of the module that binds it. It has no licence, since nobody owns it, and says so itself.
func sqliteOf(folders map[string]string) (material, error) {
	m := material{Name: "sqlite", Licences: []string{"blessing"}}
	b, err := os.ReadFile(filepath.Join(folders["github.com/mattn/go-sqlite3"], "sqlite3-binding.h"))
	if err != nil {
		return m, err
	}
	v, says := sqliteName.FindSubmatch(b), bytes.Index(b, []byte("The author disclaims copyright to this source code."))
	if v == nil || says < 0 {
		return m, errors.New("SQLite's source does not say which version it is, or that nobody owns it")
	}
	m.Version = string(v[1])
	m.Texts = []text{{"sqlite3.h", []byte("The author disclaims copyright to this source code. In place of a legal notice, here is a blessing:\n\n" +
		"    May you do good and not evil.\n    May you find forgiveness for yourself and forgive others.\n    May you share freely, never taking more than you give.\n")}}
	return m, nil
}

// output runs a program and returns what it prints.
func output(name string, args ...string) (string, error) {
	var said bytes.Buffer
	c := exec.Command(name, args...)
	c.Stderr = &said
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, said.Bytes())
	}
	return strings.TrimSpace(string(b)), nil
}
