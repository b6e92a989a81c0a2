// Package history plays random histories of a world of sites (testnet/world): the whole engine of each, over a disk, a network and an
// application that are kept in memory. One goroutine runs at a time and there is no wall clock; one thing happens after the other, and
// the seed decides which. So a history is replayed exactly by its seed, and hundreds of operations are checked in a second.
//
// In one of eight histories (-history.backups) sites are set back to backups of their disks (backup.go), some with their
// applications, as often as it comes (-history.restores bounds that). What only such a site had is lost then by the operator's
// doing, and nothing else may be; and nothing runs by itself that may have run before.
//
// A history is a list of steps, each drawn from the seed and its own number: leaving some out leaves the others as they are, so
// that a history that fails can be made smaller (shrink.go). Requests, letters and the work of agents are under way at the same
// time; agents die between any two effects; what was committed stays. In the end everything is healed, and check.go tells what must
// hold: of the operations that the sites have heard of it has a model of its own (model.go).
//
// Read play.go first, then client.go, settle.go and check.go.
package history
