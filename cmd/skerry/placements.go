package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/glue/strictyaml"
	"github.com/skerry/skerry/web/client"
)

// placement says where one resource lives, or is to.
type placement struct {
	Resource string   `json:"resource"` // SERVICE/KIND
	ID       string   `json:"id"`
	Name     string   `json:"name,omitempty"`
	Cross    bool     `json:"cross,omitempty"`
	Sites    []string `json:"sites"`
}

func placementOf(r client.Resource) placement {
	p := placement{Resource: r.Service + "/" + r.Kind, ID: r.ID, Name: r.Label, Cross: r.Collaboration == "cross", Sites: []string{}}
	for _, site := range slices.Sorted(maps.Keys(r.Sites)) {
		if r.Sites[site].State != "leaving" {
			p.Sites = append(p.Sites, site)
		}
	}
	return p
}

func (p placement) String() string {
	if p.Name == "" || p.Name == p.ID {
		return p.Resource + " " + p.ID
	}
	return fmt.Sprintf("%s %s (%s)", p.Resource, p.Name, p.ID)
}

// placements returns where all resources live that this site knows, in the order of kinds, names and identifiers.
func placements(ctx context.Context, p *program, service, kind string) ([]placement, error) {
	l := listing[client.Resource]{paging: paging{All: true}, path: "/resources", cursor: "cursor", query: map[string][]string{"service": {service}, "kind": {kind}}}
	items, _, err := l.fetch(ctx, p.api)
	if err != nil {
		return nil, err
	}
	all := []placement{}
	for _, b := range items {
		r, err := client.Decode[client.Resource](b)
		if err != nil {
			return nil, err
		}
		if at := placementOf(r); len(at.Sites) > 0 {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b placement) int {
		return strings.Compare(a.Resource+"\x00"+a.Name+"\x00"+a.ID, b.Resource+"\x00"+b.Name+"\x00"+b.ID)
	})
	return all, nil
}

type exportCommand struct {
	Service string `placeholder:"NAME" help:"Resources of this service alone."`
	Kind    string `placeholder:"NAME" help:"Resources of this kind alone."`
}

func (exportCommand) Help() string {
	return `Prints where resources live, as a file that "skerry apply" takes. The order is always the same, so that versions of the file can be
compared. It has no state of the application's: "skerry backup" keeps a site's data.

Examples:

    skerry export > placements.yaml
    skerry export --service images > images.yaml`
}

func (c *exportCommand) Run(ctx context.Context, p *program) error {
	all, err := placements(ctx, p, c.Service, c.Kind)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(map[string]any{"placements": all})
	}
	_, err = p.out.Write(writePlacements(all))
	return err
}

// writePlacements writes a file as readPlacements takes it.
func writePlacements(all []placement) []byte {
	var b bytes.Buffer
	b.WriteString("# Where resources live. \"skerry apply -f FILE --dry-run\" says what it would change, without --dry-run it changes that.\nplacements:")
	if len(all) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, p := range all {
		fmt.Fprintf(&b, "  - resource: %s\n    id: %s\n", strconv.Quote(p.Resource), strconv.Quote(p.ID))
		if p.Name != "" {
			fmt.Fprintf(&b, "    name: %s\n", strconv.Quote(p.Name))
		}
		if p.Cross {
			b.WriteString("    cross: true\n")
		}
		sites := make([]string, len(p.Sites))
		for i, s := range p.Sites {
			sites[i] = strconv.Quote(s)
		}
		fmt.Fprintf(&b, "    sites: [%s]\n", strings.Join(sites, ", "))
	}
	return b.Bytes()
}

// readPlacements reads a file. Sites that the mesh does not have are among its problems.
func readPlacements(name string, text []byte, mesh []string) ([]placement, error) {
	d, err := strictyaml.Parse(name, text)
	if err != nil {
		return nil, err
	}
	root := d.Root().Mapping("file of placements")
	var all []placement
	seen := map[string]bool{}
	for _, v := range root.Required("placements").Sequence() {
		m := v.Mapping("placement")
		about, id, label := m.Required("resource"), m.Optional("id"), m.Optional("name")
		p := placement{Resource: about.Text(), ID: id.Text(), Name: label.Text(), Cross: m.Optional("cross").Bool()}
		if service, kind, ok := strings.Cut(p.Resource, "/"); about.Present() && (!ok || service == "" || kind == "") {
			about.Problem("%q names no kind: give SERVICE/KIND, such as images/image", p.Resource)
		}
		sites := m.Required("sites")
		for _, s := range sites.Sequence() {
			if p.Sites = append(p.Sites, s.Text()); !slices.Contains(mesh, s.Text()) {
				s.Problem("the mesh has no site %q%s", s.Text(), strictyaml.DidYouMean(s.Text(), mesh))
			}
		}
		m.Done()
		switch key := p.Resource + " " + p.ID + " " + map[bool]string{true: p.Name}[p.ID == ""]; {
		case p.ID == "" && p.Name == "":
			v.Problem(`which one? give "id", or the "name" that only one has`)
		case seen[key]:
			v.Problem("%s is placed above already", p)
		default:
			seen[key] = true
		}
		if sites.IsSequence() && len(p.Sites) == 0 {
			sites.Problem("a resource lives somewhere: to delete it, ask the application")
		}
		slices.Sort(p.Sites)
		p.Sites = slices.Compact(p.Sites)
		all = append(all, p)
	}
	root.Done()
	return all, d.Err()
}

type applyCommand struct {
	File   string   `short:"f" required:"" placeholder:"FILE" help:"The placements; - for standard input."`
	DryRun bool     `help:"Say what would change, and change nothing."`
	Force  []string `placeholder:"actions" help:"Add sites though they would begin without what undeclared actions have done."`
}

func (applyCommand) Help() string {
	return `Brings resources to the sites that a file says. Those that are not in the file stay where they are. An object of this site that nobody
replicates yet becomes a resource. With "cross: true" a resource spans its sites: one that is replicated is divided, and without it one that spans
them is made one replicated resource again. All mistakes in the file are told before anything is changed; what an agent refuses is told, and the rest
goes on. The file has what "skerry export" prints:

    placements:
      - resource: images/image          # SERVICE/KIND
        id: 0190a5c2-7f31-7c55-9c1f-0d3d4f6b2a11    # or name: debian, where only one has it
        sites: [nantes, paris]          # all that it is to live at

Examples:

    skerry apply -f placements.yaml --dry-run
    skerry apply -f placements.yaml`
}

// move is what becomes of one placement.
type move struct {
	placement
	Add    []string `json:"add"`
	Remove []string `json:"remove"`
	// New says that an object of this site's application becomes a resource.
	New bool `json:"new,omitempty"`
	// Scope divides the resource, or makes it one replicated resource again; Shares say what each site would have then.
	Scope     string   `json:"scope,omitempty"`
	Shares    []string `json:"shares,omitempty"`
	Operation string   `json:"operation,omitempty"`
	Error     string   `json:"error,omitempty"`
}

func (m move) none() bool { return !m.New && m.Scope == "" && len(m.Add) == 0 && len(m.Remove) == 0 }

func (m move) String() string {
	var does []string
	switch sites := strings.Join(m.Sites, ", "); {
	case m.New:
		does = append(does, "becomes a resource "+map[bool]string{true: "that spans ", false: "at "}[m.Cross]+sites)
	case m.Scope != "" && m.Cross:
		does = append(does, "is divided over "+cmp.Or(strings.Join(m.Shares, ", "), sites))
	case m.Scope != "":
		does = append(does, "becomes one replicated resource at "+sites)
	case len(m.Add) > 0:
		does = append(does, "add "+strings.Join(m.Add, ", "))
	}
	if len(m.Remove) > 0 {
		does = append(does, "remove "+strings.Join(m.Remove, ", "))
	}
	line := m.placement.String() + ": " + strings.Join(append(does, map[bool][]string{true: {"unchanged"}}[m.none()]...), "; ")
	switch {
	case m.Error != "":
		line += ": refused: " + m.Error
	case m.Operation != "":
		line += ": operation " + m.Operation
	}
	return line
}

func (c *applyCommand) Run(ctx context.Context, p *program) error {
	moves, err := c.moves(ctx, p)
	if err != nil {
		return listProblems(err)
	}
	refused := 0
	for i := range moves {
		if m := &moves[i]; !m.none() {
			err := m.share(ctx, p)
			if err == nil && !c.DryRun {
				err = c.carryOut(ctx, p, m)
			}
			if err != nil {
				m.Error = strings.Join(strings.Fields(err.Error()), " ")
				refused++
			}
		}
	}
	if p.json {
		if err := p.printJSON(map[string]any{"dry_run": c.DryRun, "placements": moves}); err != nil {
			return err
		}
	} else {
		changed := 0
		for _, m := range moves {
			fmt.Fprintln(p.out, clean(m.String()))
			if !m.none() && m.Error == "" {
				changed++
			}
		}
		verb := "changed"
		if c.DryRun {
			verb = "would change"
		}
		fmt.Fprintf(p.out, "%d placements, %d %s\n", len(moves), changed, verb)
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d placements were refused", refused, len(moves))
	}
	return nil
}

// moves compares the file with where resources live.
func (c *applyCommand) moves(ctx context.Context, p *program) ([]move, error) {
	var text []byte
	var err error
	if c.File == "-" {
		text, err = io.ReadAll(p.in)
	} else {
		text, err = os.ReadFile(c.File)
	}
	if err != nil {
		return nil, err
	}
	b, err := p.api.Get(ctx, "/sites", nil)
	if err != nil {
		return nil, err
	}
	sites, err := client.Decode[[]struct{ Name string }](b)
	if err != nil {
		return nil, err
	}
	var mesh []string
	for _, s := range sites {
		mesh = append(mesh, s.Name)
	}
	wanted, err := readPlacements(c.File, text, mesh)
	if err != nil {
		return nil, err
	}
	there, err := placements(ctx, p, "", "")
	if err != nil {
		return nil, err
	}
	var moves []move
	var wrong []error
	for _, w := range wanted {
		m, err := moveTo(w, there)
		moves, wrong = append(moves, m), append(wrong, err)
	}
	return moves, errors.Join(wrong...)
}

// moveTo finds the resource that is meant among those that are there, and says how it gets where it is wanted.
func moveTo(wanted placement, there []placement) (move, error) {
	var meant []placement
	for _, p := range there {
		if p.Resource == wanted.Resource && (p.ID == wanted.ID || wanted.ID == "" && p.Name == wanted.Name) {
			meant = append(meant, p)
		}
	}
	switch {
	case len(meant) > 1:
		return move{}, fmt.Errorf("%d resources are %s %s: give the id of the one that is meant", len(meant), wanted.Resource, wanted.Name)
	case len(meant) == 0 && wanted.ID == "":
		return move{}, fmt.Errorf("no resource is %s %s: give the id of an object of this site, to make one of it", wanted.Resource, wanted.Name)
	case len(meant) == 0:
		return move{placement: wanted, New: true, Add: wanted.Sites, Remove: []string{}}, nil
	}
	m := move{placement: meant[0], Add: lacking(wanted.Sites, meant[0].Sites), Remove: lacking(meant[0].Sites, wanted.Sites)}
	if m.Sites = wanted.Sites; m.Cross != wanted.Cross {
		m.Cross, m.Scope = wanted.Cross, strings.Join(m.Sites, map[bool]string{true: " % ", false: " & "}[wanted.Cross])
	}
	return m, nil
}

// lacking are those of a list that another one does not have.
func lacking(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// share asks the agent what each site would have of a resource that is to be divided.
func (m *move) share(ctx context.Context, p *program) error {
	if m.Scope == "" {
		return nil
	}
	service, kind, _ := strings.Cut(m.Resource, "/")
	b, err := p.api.Get(ctx, "/resources/"+url.PathEscape(m.ID)+"/division", url.Values{"service": {service}, "kind": {kind}, "scope": {m.Scope}})
	var problem *client.Problem
	switch {
	case errors.As(err, &problem) && problem.Status == http.StatusNotFound: // it is at other sites, which are asked to do it
		return nil
	case err != nil || !m.Cross:
		return err
	}
	d, err := client.Decode[struct {
		Parts []struct {
			Sites []string
			Share map[string]json.RawMessage
		}
	}](b)
	for _, part := range d.Parts {
		text := strings.Join(part.Sites, " & ")
		for _, at := range slices.Sorted(maps.Keys(part.Share)) {
			text += fmt.Sprintf(" (%s %s)", at, part.Share[at])
		}
		m.Shares = append(m.Shares, text)
	}
	return err
}

// carryOut asks the agent for a move.
func (c *applyCommand) carryOut(ctx context.Context, p *program, m *move) error {
	service, kind, _ := strings.Cut(m.Resource, "/")
	if m.New && m.Cross {
		b, err := p.api.Post(ctx, "/resources", map[string]string{"service": service, "kind": kind, "id": m.ID, "scope": strings.Join(m.Sites, " % ")})
		if err != nil {
			return err
		}
		answer, err := client.Decode[struct{ Operation string }](b)
		m.Operation = answer.Operation
		return err
	}
	lists, body := map[string][]string{"add": m.Add, "remove": m.Remove, "force": c.Force}, map[string]any{}
	if m.Scope != "" {
		lists, body["scope"] = map[string][]string{"force": c.Force}, m.Scope
	}
	for word, list := range lists {
		if len(list) > 0 {
			body[word] = list
		}
	}
	b, err := p.api.Call(ctx, http.MethodPatch, resourceAddress(m.ID, service, kind), body)
	if err != nil {
		return err
	}
	var answer struct {
		ID, Type string
	}
	if json.Unmarshal(b, &answer) == nil && answer.Type != "" {
		m.Operation = answer.ID
	}
	return nil
}
