// Package versions has agents of two versions in one mesh: those of this tree, and those of the release before it, built of its source, which is kept
// here. The file previous names the commit. Who makes a release calls .ci/previous with its commit, in the first commit after it.
//
// What an older agent does with what only a newer one knows is tried with a third program: this tree with a few fields more (newer_test.go).
package versions
