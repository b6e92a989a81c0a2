// Package mutants plants faults in the product, one at a time, and demands that a named test finds each: a test that cannot
// fail shows nothing. See the table for the faults; make mutants tells of each.
package mutants
