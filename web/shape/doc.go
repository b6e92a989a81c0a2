// Package shape gives what a site knows the form in which its REST API and its pages show it: rows of the engine become JSON here and
// nowhere else, with names in the place of sites' keys (names.go) and without what nobody is to see (redact.go).
package shape
