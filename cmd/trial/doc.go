// Package trial tries a catalog against a live application. It makes objects of each kind, reads them, puts one back, lists and deletes
// them, in the way an agent does, and says where the catalog is untrue. It deletes what it has made.
//
// Read trial.go for the order of things, object.go for one object, compare.go for what fields tell.
package trial
