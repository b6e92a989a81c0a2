// Package gather makes one answer of those of several sites. list.go and pages.go do so for the lists of any application that the catalog
// describes; gather.go, follow.go, watch.go and whole.go for lists and watches of an API whose dialect knows what
// versions of them are; cross.go reads the parts of a cross resource as one, agree.go what as many sites as a scope asks for agree on,
// name.go whether a name is free in all parts of a container. index.go and whole.go put what is known here in the place of what
// a site does not tell now.
package gather
