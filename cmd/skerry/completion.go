package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/skerry/skerry/web/client"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCommand) Help() string {
	return `Prints what makes a shell complete commands, flags, sites and identifiers. Sites and identifiers are those that the agent at
--api or SKERRY_API knows.

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
type candidate struct{ word, help string }

// complete lists what may stand in place of the last of words. known asks the agent for what it has.
func complete(model *kong.Application, words []string, known func(list string) []candidate) []candidate {
	partial := ""
	if n := len(words); n > 0 {
		partial, words = words[n-1], words[:n-1]
	}
	node, arguments := model.Node, 0
	var awaits *kong.Flag // whose value comes next
	for _, w := range words {
		switch flag := flagOf(node, w); {
		case awaits != nil:
			awaits = nil
		case flag != nil && !flag.IsBool() && !strings.Contains(w, "="):
			awaits = flag
		case strings.HasPrefix(w, "-"):
		default:
			if child := childOf(node, w); child != nil {
				node, arguments = child, 0
			} else {
				arguments++
			}
		}
	}
	var all []candidate
	switch {
	case awaits != nil:
		all = values(awaits.Value, known)
	case strings.HasPrefix(partial, "-"):
		for _, group := range withArguments(node).AllFlags(true) {
			for _, f := range group {
				all = append(all, candidate{"--" + f.Name, f.Help})
			}
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				all = append(all, candidate{child.Name, child.Help})
			}
		}
		if at := withArguments(node); arguments < len(at.Positional) {
			all = append(all, arguable(at, arguments, known)...)
		}
	}
	fitting := all[:0]
	for _, c := range all {
		if c.word == files || strings.HasPrefix(c.word, partial) {
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

// values lists what a flag takes.
func values(v *kong.Value, known func(list string) []candidate) (all []candidate) {
	switch {
	case v.Enum != "":
		for _, e := range v.EnumSlice() {
			all = append(all, candidate{e, ""})
		}
	case v.Name == "site":
		return known("sites")
	case strings.Contains(v.Tag.Type, "path"), strings.Contains(v.Tag.Type, "file"), v.Flag != nil && v.Flag.PlaceHolder == "FILE":
		return []candidate{{files, ""}}
	}
	return all
}

// arguable lists what an argument of a command takes: identifiers of what the command is about.
func arguable(n *kong.Node, i int, known func(list string) []candidate) []candidate {
	v := n.Positional[i]
	if all := values(v, known); len(all) > 0 {
		return all
	}
	top := n
	for top.Parent != nil && top.Parent.Parent != nil {
		top = top.Parent
	}
	switch {
	case v.Name == "sites" && n.Name != "set" || v.Name == "site", top.Name == "sites" && i == 0, top.Name == "zones" && v.Name == "sites":
		return known("sites")
	case i == 0 && v.Name == "id":
		return known(top.Name)
	}
	return nil
}

// known asks the agent, while a person waits at the line, for the identifiers of a list; none when it does not answer.
func (p *program) known(ctx context.Context) func(list string) []candidate {
	return func(list string) []candidate {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		query := url.Values{}
		switch list {
		case "sites", "tokens", "hooks":
		case "resources", "operations", "conflicts":
			query.Set("limit", "100")
		default:
			return nil
		}
		b, err := p.api.Get(ctx, "/"+list, query)
		if err != nil {
			return nil
		}
		type item struct{ ID, Name, Kind, State, Path, Method, About string }
		items, err := client.Decode[[]item](b)
		if err != nil {
			page, err := client.Decode[struct{ Items []item }](b)
			if err != nil {
				return nil
			}
			items = page.Items
		}
		var all []candidate
		for _, i := range items {
			word := i.ID
			if list == "sites" {
				word, i.Name = i.Name, ""
			}
			if word == "" || strings.ContainsAny(word, " \t\r\n") {
				continue
			}
			all = append(all, candidate{clean(word), clean(strings.Join(strings.Fields(strings.Join([]string{i.Name, i.Kind, i.About, i.Method, i.Path, i.State}, " ")), " "))})
		}
		return all
	}
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
