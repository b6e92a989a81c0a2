package mutants

import "slices"

// mutant is one planted fault.
type mutant struct {
	name string
	// edits say what to put in place of what; what is replaced stands in the file exactly once.
	edits []edit
	// finder is the test that has to fail, in the package of its folder: one that takes no time.
	folder, finder string
}

type edit struct{ file, old, now string }

// planted are the mutants. A comment says what would be wrong for users.
func planted() []mutant {
	return slices.Concat(folding(), deciding(), doing(), living(), looping(), travelling(), storing(), serving(), ofMembers(), ofAuthorities(), ofClients())
}
