// Package conform tells whether two applications behind agents end up showing the same. It starts an agent for each, makes objects of every
// kind, and has two clients change each at both sites of a cut, with every pair of operations that the application takes. When the cut has
// ended and the agents say that they have settled, it asks both applications directly and compares the whole representations, arrays in
// order, less what the catalog says that each site has for itself.
//
// Read run.go for the order of things, operation.go for what is tried, compare.go for what is equal, judge.go for what is said of it.
package conform
