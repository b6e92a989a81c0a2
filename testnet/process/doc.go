// Package process starts child processes that end with their parent, and stops them.
//
// It is shared by what starts agents and applications on one machine: the demo, the test environment and the
// benchmarks. Linux only: it relies on the parent-death signal.
package process
