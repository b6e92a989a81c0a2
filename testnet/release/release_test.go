package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// TestLicencesOfAllModulesAreKnown finds a module that the program is built from and whose licence nobody has looked at.
func TestLicencesOfAllModulesAreKnown(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	list, err := output("go", "list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}`, "./cmd/skerry")
	if err != nil {
		t.Fatal(err)
	}
	info := &debug.BuildInfo{GoVersion: "go1.26"}
	lines := strings.Fields(list)
	for m := range slices.Chunk(lines, 2) {
		if !slices.ContainsFunc(info.Deps, func(d *debug.Module) bool { return d.Path == m[0] }) {
			info.Deps = append(info.Deps, &debug.Module{Path: m[0], Version: m[1], Sum: "h1:"})
		}
	}
	materials, err := materialsOf(info)
	if err != nil {
		t.Fatal(err)
	}
	if len(materials) != len(info.Deps)+3 {
		t.Errorf("%d materials of %d modules, Go, htmx and SQLite", len(materials), len(info.Deps))
	}
	texts := string(licenceTexts(materials))
	b := billOf(info, materials)
	for i, m := range materials {
		if m.Version == "" || len(m.Texts) == 0 || !strings.Contains(texts, "\n"+m.Name+" "+m.Version+": ") {
			t.Errorf("%s has the version %q and %d texts", m.Name, m.Version, len(m.Texts))
		}
		if b.Components[i].Name != m.Name || len(b.Components[i].Licences) == 0 {
			t.Errorf("the bill does not have %s", m.Name)
		}
	}
}

func TestLicencesAreToldApart(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                                                                        "Apache-2.0",
		"Permission is hereby granted, free of charge, to any person":                                                                         "MIT",
		"Dual-licensed under MIT and ASLv2.\nApache-2.0: https://example.org/a\nMIT: https://example.org/m":                                   "Apache-2.0 MIT",
		"Redistributions in binary form must reproduce the above … * Neither the name of":                                                     "BSD-3-Clause",
		"Redistributions in binary form must reproduce the above copyright":                                                                   "BSD-2-Clause",
		"Permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby\ngranted, provided that": "ISC",
		"Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted.":            "0BSD",
		"Mozilla Public License, version 2.0":                                                                                                 "MPL-2.0",
		"All rights reserved.":                                                                                                                "",
	} {
		if got := strings.Join(licencesIn(text), " "); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}

func TestAModuleWithoutALicenceIsAnError(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "LICENSE"), []byte("All rights reserved."), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{folder, t.TempDir()} {
		if err := (&material{Name: "example.org/m"}).read(f); err == nil {
			t.Error("a module without a licence is taken")
		}
	}
}
