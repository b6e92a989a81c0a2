package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// begin is the page that all others are found from.
const begin = "docs/README.md"

//go:embed style.css
var style []byte

//go:embed page.html
var layout string

var pageTemplate = template.Must(template.New("page").Parse(layout))

// site is the documentation as HTML. Paths are below the root, with slashes.
type site struct {
	root  string
	pages map[string]*page
	// files are what pages link to besides; a folder's are listed.
	files map[string]bool
	parts []part
}

// part is one of the kinds of pages.
type part struct {
	Name  string
	Links []entry
}

type entry struct {
	Title string
	path  string
}

// page is one page.
type page struct {
	title string
	body  []byte
	links []string // as they stand in the HTML
	ids   map[string]bool
}

// open reads the pages of a tree: the first one, and those that are linked to.
func open(root string) (*site, error) {
	s := &site{root: root, pages: map[string]*page{}, files: map[string]bool{}}
	wait := []string{begin}
	for len(wait) > 0 {
		at := wait[0]
		wait = wait[1:]
		if s.pages[at] != nil {
			continue
		}
		found, err := s.read(at)
		if err != nil {
			return nil, err
		}
		wait = append(wait, found...)
	}
	return s, nil
}

// read renders one page, and returns the pages that it links to.
func (s *site) read(at string) (found []string, err error) {
	source, err := os.ReadFile(filepath.Join(s.root, at))
	if err != nil {
		return nil, err
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	ids := &anchors{seen: map[string]bool{}}
	tree := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	p := &page{ids: ids.seen}
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 1 && p.title == "" {
				p.title = string(plain(n, source))
			}
			if at == begin && n.Level == 2 {
				s.parts = append(s.parts, part{Name: string(plain(n, source))})
			}
		case *ast.Link:
			target, anchor, _ := strings.Cut(string(n.Destination), "#")
			if strings.Contains(target, ":") || target == "" {
				if target == "" {
					p.links = append(p.links, "#"+anchor)
				}
				return ast.WalkContinue, nil
			}
			whole := path.Join(path.Dir(at), target)
			if strings.HasSuffix(target, ".md") {
				found = append(found, whole)
				if at == begin {
					last := &s.parts[len(s.parts)-1]
					last.Links = append(last.Links, entry{string(plain(n, source)), whole})
				}
			} else {
				s.files[whole] = true
			}
			to := s.address(target)
			if anchor != "" {
				to += "#" + anchor
			}
			n.Destination = []byte(to)
			p.links = append(p.links, to)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	if p.title == "" {
		return nil, fmt.Errorf("%s has no title", at)
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, tree); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	p.body = b.Bytes()
	s.pages[at] = p
	return found, nil
}

// address is where what a link leads to is in the site: a page has another ending, and a folder a list of what is in it.
func (s *site) address(target string) string {
	if name, is := strings.CutSuffix(target, ".md"); is {
		return name + ".html"
	}
	if path.Ext(target) == "" && !strings.HasSuffix(target, "LICENSE") {
		return strings.TrimSuffix(target, "/") + "/index.html"
	}
	return target
}

// write writes the site into a folder, which is made.
func (s *site) write(folder string) error {
	put := func(at string, b []byte) error {
		file := filepath.Join(folder, filepath.FromSlash(at))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, b, 0o644)
	}
	var problems []error
	for _, at := range slices.Sorted(maps.Keys(s.pages)) {
		b, err := s.whole(at)
		problems = append(problems, err, put(s.address(at), b))
	}
	for _, at := range slices.Sorted(maps.Keys(s.files)) {
		problems = append(problems, s.copy(at, put))
	}
	problems = append(problems, put("style.css", style), put("index.html", []byte(`<!doctype html><meta charset="utf-8"><title>Skerry</title><meta http-equiv="refresh" content="0; url=docs/README.html">`)))
	return errors.Join(problems...)
}

// copy takes a file along as it is, or all files of a folder, with a list of them.
func (s *site) copy(at string, put func(string, []byte) error) error {
	info, err := os.Stat(filepath.Join(s.root, at))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		b, err := os.ReadFile(filepath.Join(s.root, at))
		if err != nil {
			return err
		}
		return put(at, b)
	}
	var list strings.Builder
	fmt.Fprintf(&list, "<!doctype html><meta charset=\"utf-8\"><title>%s</title><ul>\n", template.HTMLEscapeString(at))
	err = filepath.WalkDir(filepath.Join(s.root, at), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(filepath.Join(s.root, at), file)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		fmt.Fprintf(&list, "<li><a href=\"%[1]s\">%[1]s</a>\n", template.HTMLEscapeString(name))
		return put(path.Join(at, name), b)
	})
	return errors.Join(err, put(path.Join(at, "index.html"), []byte(list.String()+"</ul>\n")))
}

// whole is a page with what is beside it.
func (s *site) whole(at string) ([]byte, error) {
	type item struct {
		Title, To string
		Here      bool
	}
	type group struct {
		Name  string
		Items []item
	}
	up := strings.Repeat("../", strings.Count(at, "/"))
	var beside []group
	for _, p := range s.parts {
		g := group{Name: p.Name}
		for _, l := range p.Links {
			g.Items = append(g.Items, item{l.Title, up + s.address(l.path), l.path == at})
		}
		beside = append(beside, g)
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, map[string]any{
		"Title": s.pages[at].title, "Up": up, "Beside": beside, "Body": template.HTML(s.pages[at].body)}) //nolint:gosec // it is ours
	return b.Bytes(), err
}

// plain is the text of a heading or a link.
func plain(n ast.Node, source []byte) (all []byte) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			all = append(all, t.Segment.Value(source)...)
		} else {
			all = append(all, plain(c, source)...)
		}
	}
	return all
}

// anchors names headings as GitHub does, so that one link is right in both.
type anchors struct{ seen map[string]bool }

var unanchored = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// Generate is asked by goldmark.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	words := strings.NewReplacer("`", "", "[", "").Replace(regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(string(value), ""))
	id := strings.ReplaceAll(unanchored.ReplaceAllString(strings.ToLower(strings.TrimSpace(words)), ""), " ", "-")
	for base, n := id, 1; a.seen[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	a.seen[id] = true
	return []byte(id)
}

// Put is asked by goldmark for names that a page gives itself.
func (a *anchors) Put(value []byte) { a.seen[string(value)] = true }

// broken are the links that lead nowhere, and the pages that no list of the first one has.
func (s *site) broken() (problems []error) {
	there := map[string]*page{}
	for at, p := range s.pages {
		there[s.address(at)] = p
	}
	for at := range s.files {
		there[s.address(at)] = nil
	}
	for _, at := range slices.Sorted(maps.Keys(s.pages)) {
		for _, l := range s.pages[at].links {
			target, anchor, _ := strings.Cut(l, "#")
			to := s.address(at)
			if target != "" {
				to = path.Join(path.Dir(at), target)
			}
			p, is := there[to]
			if !is {
				problems = append(problems, fmt.Errorf("%s links to %s, which is not there", at, l))
			} else if anchor != "" && p != nil && !p.ids[anchor] {
				problems = append(problems, fmt.Errorf("%s links to %s, which has no such heading", at, l))
			}
		}
	}
	listed := map[string]bool{begin: true}
	for _, p := range s.parts {
		for _, l := range p.Links {
			listed[l.path] = true
		}
	}
	for _, at := range slices.Sorted(maps.Keys(s.pages)) {
		if !listed[at] {
			problems = append(problems, fmt.Errorf("%s does not list %s", begin, at))
		}
	}
	return problems
}
