// Package view is what a site knows of one resource: its document and the statuses of its sites, decoded, and what follows
// from them. It decides nothing and does nothing; package replica does, on top of it.
//
// Read view.go for what there is, take.go for how it comes in, part.go for who belongs to it, standing.go for how far a site
// has come. What people are told of it is made by package report.
//
// docs/words.md explains the terms.
package view
