package demo

import (
	_ "embed"
	"slices"
	"strings"
	"text/template"

	"github.com/skerry/skerry/testnet/lab"
)

//go:embed walkthrough.txt
var walkthrough string

// step is one thing to try.
type step struct{ what, commands string }

// steps is the walk-through, as far as there are sites for it, with the program under that name. Its commands can be pasted one
// after the other.
func steps(members []*member, program string) []step {
	at := func(site string) *member {
		return members[slices.IndexFunc(members, func(m *member) bool { return m.config.Name == site })]
	}
	service := func(name string) func(site string) string {
		return func(site string) string { return "http://" + at(site).service(name).Listen + "/" + name }
	}
	if len(members) < 2 {
		return []step{{"Create an image here: without a scope a request goes to the application as it is.",
			"curl -s -H 'Content-Type: application/json' -d '{\"name\":\"debian\"}' " + service(lab.Images)(members[0].config.Name)}}
	}
	data := struct{ A, B, C, Program string }{A: members[0].config.Name, B: members[1].config.Name, Program: program}
	if len(members) > 2 {
		data.C = members[2].config.Name
	}
	t := template.Must(template.New("walkthrough").Funcs(template.FuncMap{
		"images": service(lab.Images), "networks": service(lab.Networks), "servers": service(lab.Servers),
		"api": func(site string) string { return at(site).Client().Base },
	}).Parse(walkthrough))
	var text strings.Builder
	if err := t.Execute(&text, data); err != nil {
		panic(err) // the template is part of the program
	}
	var all []step
	for _, s := range strings.Split(strings.TrimSpace(text.String()), "\n---\n") {
		what, commands, _ := strings.Cut(s, "\n\n")
		all = append(all, step{what, commands})
	}
	return all
}
