package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/skerry/skerry/web/client"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCommand) Help() string {
	return `Prints what makes a shell complete commands, flags, sites, names, identifiers and states, and of decisions those that are possible. What there
is the agent at --api or SKERRY_API knows.

Examples:

    source <(skerry completion bash)                                   # bash
    skerry completion zsh > "${fpath[1]}/_skerry"                      # zsh
    skerry completion fish > ~/.config/fish/completions/skerry.fish    # fish`
}

// completionWord is the argument that shells ask with: what follows is the command line up to the cursor.
const completionWord = "__complete"

// files is what is answered where the name of a file goes.
const files = ":files"

var completionScripts = map[string]string{
	"bash": `_skerry() {
	local IFS=$'\n' line
	COMPREPLY=()
	for line in $(skerry ` + completionWord + ` "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
		if [ "$line" = ` + files + ` ]; then compopt -o default; else COMPREPLY+=("${line%%$'\t'*}"); fi
	done
}
complete -F _skerry skerry
`,
	"zsh": `#compdef skerry
_skerry() {
	local -a candidates
	local line
	for line in "${(@f)$(skerry ` + completionWord + ` "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		if [[ $line == ` + files + ` ]]; then _files; return; fi
		[[ -n $line ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	_describe skerry candidates
}
compdef _skerry skerry
`,
	"fish": `function __skerry_complete
	set -l words (commandline -opc) (commandline -ct)
	for line in (skerry ` + completionWord + ` $words[2..-1] 2>/dev/null)
		if test "$line" = ` + files + `
			__fish_complete_path (commandline -ct)
		else
			echo $line
		end
	end
end
complete -c skerry -f -a '(__skerry_complete)'
`,
}

func (c *completionCommand) Run(p *program) error {
	_, err := fmt.Fprint(p.out, completionScripts[c.Shell])
	return err
}

// candidate is one word that may stand at the cursor.
type candidate struct {
	word, help string
	typed      bool // offered only where its beginning is there already: something else stands for the same
}

// complete lists what may stand in place of the last of words. known asks the agent for what it has.
func complete(model *kong.Application, words []string, known func(list string) []candidate) []candidate {
	partial := ""
	if n := len(words); n > 0 {
		partial, words = words[n-1], words[:n-1]
	}
	node, given := model.Node, []string(nil) // the arguments before it
	var awaits *kong.Flag                    // whose value comes next
	for _, w := range words {
		switch flag := flagOf(node, w); {
		case awaits != nil:
			awaits = nil
		case flag != nil && !flag.IsBool() && !strings.Contains(w, "="):
			awaits = flag
		case strings.HasPrefix(w, "-"):
		default:
			if child := childOf(node, w); child != nil {
				node, given = child, nil
			} else {
				given = append(given, w)
			}
		}
	}
	var all []candidate
	switch {
	case awaits != nil:
		all = values(node, awaits.Value, known)
	case strings.HasPrefix(partial, "-"):
		for _, group := range withArguments(node).AllFlags(true) {
			for _, f := range group {
				all = append(all, candidate{word: "--" + f.Name, help: f.Help})
			}
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				all = append(all, candidate{word: child.Name, help: child.Help})
			}
		}
		if at := withArguments(node); len(given) < len(at.Positional) {
			all = append(all, arguable(at, given, known)...)
		}
	}
	fitting := all[:0]
	for _, c := range all {
		if c.word == files || strings.HasPrefix(c.word, partial) && (partial != "" || !c.typed) {
			fitting = append(fitting, c)
		}
	}
	return fitting
}

func childOf(n *kong.Node, name string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// withArguments is the node that arguments are for: a default command takes those of its parent.
func withArguments(n *kong.Node) *kong.Node {
	if n.DefaultCmd != nil {
		return n.DefaultCmd
	}
	return n
}

func flagOf(n *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for _, group := range withArguments(n).AllFlags(false) {
		for _, f := range group {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// states are those by which lists are filtered.
var states = map[string]string{
	"resources":  "converged converging degraded conflict unknown deleted left",
	"operations": "pending applied rejected superseded uncertain held paused",
}

// values lists what a flag of a command takes.
func values(n *kong.Node, v *kong.Value, known func(list string) []candidate) (all []candidate) {
	switch {
	case v.Enum != "":
		for _, e := range v.EnumSlice() {
			all = append(all, candidate{word: e})
		}
	case v.Name == "state":
		for _, s := range strings.Fields(states[topOf(n).Name]) {
			all = append(all, candidate{word: s})
		}
	case v.Name == "service", v.Name == "kind":
		return known(v.Name)
	case v.Name == "site":
		return known("sites")
	case strings.Contains(v.Tag.Type, "path"), strings.Contains(v.Tag.Type, "file"), v.Name == "openapi", v.Flag != nil && v.Flag.PlaceHolder == "FILE":
		return []candidate{{word: files}}
	}
	return all
}

// arguable lists what an argument of a command takes: identifiers of what the command is about.
func arguable(n *kong.Node, given []string, known func(list string) []candidate) []candidate {
	i, top := len(given), topOf(n)
	v := n.Positional[i]
	if top.Name == "conflicts" && v.Name == "action" && i > 0 {
		return known("conflicts/" + given[i-1])
	}
	if all := values(n, v, known); len(all) > 0 {
		return all
	}
	switch {
	case top.Name == "operations" && i == 0 && slices.Contains([]string{"retry", "done", "drop"}, n.Name):
		return known("operations " + n.Name)
	case v.Name == "sites" && n.Name != "set" || v.Name == "site", top.Name == "sites" && i == 0, top.Name == "zones" && v.Name == "sites":
		return known("sites")
	case i == 0 && v.Name == "id":
		return known(top.Name)
	}
	return nil
}

// topOf is the command right below the program's name that n belongs to.
func topOf(n *kong.Node) *kong.Node {
	for n.Parent != nil && n.Parent.Parent != nil {
		n = n.Parent
	}
	return n
}

// item is something that the agent lists.
type item struct {
	ID, Name, Label, Kind, State, Path, Method, About string
	Kinds                                             []string // of a service
}

// known asks the agent, while a person waits at the line, for what it has: a list, and of operations those about which a decision can be taken; the
// actions of a conflict; services or kinds. It is nothing when the agent does not answer.
func (p *program) known(ctx context.Context) func(list string) []candidate {
	return func(list string) []candidate {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		list, verb, _ := strings.Cut(list, " ")
		if id, is := strings.CutPrefix(list, "conflicts/"); is {
			return p.actions(ctx, id)
		}
		query := url.Values{}
		switch list {
		case "sites", "tokens", "hooks":
		case "service", "kind":
			return p.catalog(ctx, list)
		case "resources", "operations", "conflicts":
			query.Set("limit", "100")
		default:
			return nil
		}
		b, err := p.api.Get(ctx, "/"+list, query)
		if err != nil {
			return nil
		}
		items, err := client.Decode[[]item](b)
		if err != nil {
			page, err := client.Decode[struct{ Items []item }](b)
			if err != nil {
				return nil
			}
			items = page.Items
		}
		if verb != "" {
			items = p.decidable(ctx, items, verb)
		}
		return offered(list, items)
	}
}

// offered are the words that stand for items: their names where these are the only ones of that name, and their identifiers.
func offered(list string, items []item) (all []candidate) {
	named := map[string]int{}
	for _, i := range items {
		named[i.Label]++
	}
	for _, i := range items {
		word, label := i.ID, i.Label
		if list == "sites" {
			word, i.Name = i.Name, ""
		}
		help := clean(strings.Join(strings.Fields(strings.Join([]string{i.Name, i.Kind, i.About, i.Method, i.Path, i.State}, " ")), " "))
		if list != "resources" || label == word || named[label] > 1 || !oneWord(label) {
			label = ""
		}
		if label != "" {
			all = append(all, candidate{word: clean(label), help: help})
		}
		if oneWord(word) {
			all = append(all, candidate{word: clean(word), help: help, typed: label != ""})
		}
	}
	return all
}

func oneWord(s string) bool { return s != "" && !strings.ContainsAny(s, " \t\r\n") }

// decidable are the first operations about which somebody can decide so, here.
func (p *program) decidable(ctx context.Context, items []item, verb string) (open []item) {
	for _, i := range items {
		if i.State == "applied" || i.State == "superseded" {
			continue
		}
		b, err := p.api.Get(ctx, "/operations/"+url.PathEscape(i.ID), nil)
		if err != nil {
			return open
		}
		if o, err := client.Decode[operation](b); err == nil && slices.Contains(o.Actions, verb) {
			open = append(open, i)
		}
		if len(open) == 20 {
			break
		}
	}
	return open
}

// actions are those that a conflict takes now.
func (p *program) actions(ctx context.Context, id string) (all []candidate) {
	b, err := p.api.Get(ctx, "/conflicts/"+url.PathEscape(id), nil)
	if err != nil {
		return nil
	}
	c, err := client.Decode[struct{ Actions []string }](b)
	if err != nil {
		return nil
	}
	for _, a := range c.Actions {
		all = append(all, candidate{word: clean(a)})
	}
	return all
}

// catalog are the services of the application, or their kinds.
func (p *program) catalog(ctx context.Context, what string) (all []candidate) {
	b, err := p.api.Get(ctx, "/services", nil)
	if err != nil {
		return nil
	}
	list, err := client.Decode[[]item](b)
	if err != nil {
		return nil
	}
	for _, s := range list {
		if what == "service" {
			all = append(all, candidate{word: clean(s.Name)})
			continue
		}
		for _, k := range s.Kinds {
			all = append(all, candidate{word: clean(k), help: clean(s.Name)})
		}
	}
	return all
}

// printCandidates prints what may stand at the cursor, a line each, with its help behind a tab. A shell shows no errors here.
func printCandidates(k *kong.Kong, c *commands, words []string, s surroundings) int {
	address := c.API
	for i, w := range words {
		if given, ok := strings.CutPrefix(w, "--api="); ok {
			address = given
		} else if w == "--api" && i+1 < len(words) {
			address = words[i+1]
		}
	}
	api, err := client.New(cmp.Or(address, s.getenv("SKERRY_API"), "http://127.0.0.1:8700"), client.Options{Token: s.getenv("SKERRY_TOKEN")})
	if err != nil {
		return exitDone
	}
	p := &program{api: api}
	for _, c := range complete(k.Model, words, p.known(context.Background())) {
		fmt.Fprintf(s.out, "%s\n", strings.TrimRight(c.word+"\t"+strings.TrimSuffix(c.help, "."), "\t"))
	}
	return exitDone
}
