package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// licences are those that are known, each by words that stand in no other.
var licences = []struct {
	id    string // of SPDX
	words *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`apache license,? version 2\.0|apache-2\.0`)},
	{"MIT", regexp.MustCompile(`permission is hereby granted, free of charge|\bmit: http`)},
	{"ISC", regexp.MustCompile(`permission to use, copy, modify, and(/or)? distribute this software for any purpose with or without fee is hereby granted, provided`)},
	{"0BSD", regexp.MustCompile(`permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted\.`)},
	{"BSD-3-Clause", regexp.MustCompile(`redistributions in binary form .*(neither the name|names? of .* may not be used)`)},
	{"BSD-2-Clause", regexp.MustCompile(`redistributions in binary form `)},
	{"MPL-2.0", regexp.MustCompile(`mozilla public license,? version 2\.0`)},
}

// licencesIn names the licences that a text holds, or refers to. How several of them go together, the text says.
func licencesIn(text string) []string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	var found []string
	for _, l := range licences {
		three := len(found) > 0 && found[len(found)-1] == "BSD-3-Clause" && l.id == "BSD-2-Clause" // which is a part of it
		if !three && l.words.MatchString(text) {
			found = append(found, l.id)
		}
	}
	return found
}

// licenceTexts joins the texts of all materials into one file.
func licenceTexts(materials []material) []byte {
	var b bytes.Buffer
	b.WriteString("Skerry is under the Apache License 2.0. What is linked into it is under the terms below.\n")
	for _, m := range materials {
		for _, t := range m.Texts {
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 100), m.Name, m.Version, t.File, bytes.TrimSpace(t.Text))
		}
	}
	return b.Bytes()
}
