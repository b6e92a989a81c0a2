package main

import (
	"cmp"
	"runtime/debug"
)

// bill is a bill of materials as CycloneDX has it (ECMA-424). It has neither a date nor a number of its own, so that one program has one bill.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Reference  string     `json:"bom-ref"`
	Address    string     `json:"purl,omitempty"`
	Licences   []licensed `json:"licenses"`
	Properties []property `json:"properties,omitempty"`
}

type licensed struct {
	Licence licence `json:"license"`
}

type licence struct {
	ID string `json:"id"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// billOf writes the bill of a program: of what it was built, and how.
func billOf(info *debug.BuildInfo, materials []material) bill {
	program := component{Type: "application", Name: info.Main.Path, Version: info.Main.Version, Licences: []licensed{{licence{"Apache-2.0"}}}}
	program.Address = "pkg:golang/" + program.Name + "@" + program.Version
	program.Reference = program.Address
	program.Properties = append(program.Properties, property{"go", info.GoVersion})
	for _, s := range info.Settings {
		program.Properties = append(program.Properties, property{"go build " + s.Key, s.Value})
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{program}, Components: []component{}}
	for _, m := range materials {
		c := component{Type: "library", Name: m.Name, Version: m.Version, Address: m.Address}
		c.Reference = cmp.Or(m.Address, m.Name+"@"+m.Version)
		for _, id := range m.Licences {
			c.Licences = append(c.Licences, licensed{licence{id}})
		}
		if m.Sum != "" {
			c.Properties = []property{{"go.sum", m.Sum}}
		}
		b.Components = append(b.Components, c)
	}
	return b
}
