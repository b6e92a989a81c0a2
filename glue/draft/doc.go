// Package draft makes a first catalog of an application from its own description, OpenAPI 2 or 3. It finds the kinds, from pairs of
// a collection's and an item's paths, and where their identifiers stand, and writes comments where a person has to decide. What it
// writes is a catalog that can be read; whether it is true of the application nobody can tell from the description alone.
//
// Read it in this order: document.go for what is read, kinds.go for what is found, write.go for what is written.
package draft
