// Package scope is scope-lang: the language in which a request says at which sites each service runs it, and
// how those sites collaborate. docs/scope-lang.md is its reference for users.
//
// Parse reads a scope in any of its forms (plain, JSON, the oldest `Service/Site`) into one tree; String prints
// the tree in the canonical form, which parses to the same tree again. Check compares a scope with what exists,
// a World, and tells all that is wrong with it at once. Resolve gives the alternatives that a location stands for, each a
// set of sites that collaborate.
//
// The language is that of "Geo-Distribute Cloud Applications at the Edge" (Cherrueau, Delavergne, Lebre, Euro-Par
// 2021) and of the Cheops reports that extended it.
//
// The package is pure: it imports the standard library only, does no I/O, and its values are never changed once
// made, so they may be shared between goroutines.
//
// Read it in this order: scope.go for the tree, lexer.go and parser.go for text to tree, printer.go for tree to
// text, check.go, resolve.go and set.go for what it means, misplaced.go, syntaxerror.go, picture.go and suggest.go for what
// people see
// when it is wrong.
//
// docs/words.md explains the terms.
package scope
