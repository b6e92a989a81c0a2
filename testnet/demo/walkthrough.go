package demo

import (
	"cmp"
	"slices"
	"strings"
	"text/template"

	"github.com/skerry/skerry/testnet/lab"
	"github.com/skerry/skerry/testnet/openstack"
)

// step is one thing to try.
type step struct{ what, commands string }

// steps is the walk-through of an application, as far as there are sites for it, with the program under that name. Its commands can be
// pasted one after the other.
func steps(a *application, members []*member, program string) []step {
	at := func(site string) *member {
		return members[slices.IndexFunc(members, func(m *member) bool { return m.config.Name == site })]
	}
	service := func(name string) func(site string) string {
		return func(site string) string { return "http://" + at(site).service(name).Listen + "/" + name }
	}
	data := struct{ A, B, C, Last, Program string }{A: members[0].config.Name, Program: program}
	if len(members) > 1 {
		data.B = members[1].config.Name
	}
	if len(members) > 2 {
		data.C = members[2].config.Name
	}
	data.Last = cmp.Or(data.C, data.B)
	filled := func(text string) string {
		t := template.Must(template.New("walkthrough").Funcs(template.FuncMap{
			"images": service(lab.Images), "networks": service(lab.Networks), "servers": service(lab.Servers),
			"image":      func(site string) string { return "http://" + at(site).service(openstack.Image).Listen },
			"kubeconfig": func(site string) string { return at(site).kubeconfig() }, "programs": func() string { return members[0].programs },
			"api": func(site string) string { return at(site).Client().Base },
		}).Parse(text))
		var b strings.Builder
		if err := t.Execute(&b, data); err != nil {
			panic(err) // the template is part of the program
		}
		return b.String()
	}
	if len(members) < 2 {
		return []step{{a.alone.what, filled(a.alone.commands)}}
	}
	var all []step
	for _, s := range strings.Split(strings.TrimSpace(filled(a.walkthrough)), "\n---\n") {
		what, commands, _ := strings.Cut(s, "\n\n")
		all = append(all, step{what, commands})
	}
	return all
}
