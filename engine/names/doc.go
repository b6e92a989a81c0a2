// Package names is where a site finds resources by what clients and its application call them, and what it knows of the kinds of its
// application.
//
// Read names.go for resources and the containers that they lie in, kinds.go for kinds, admit.go for what the catalog says of operations.
//
// docs/words.md explains the terms.
package names
