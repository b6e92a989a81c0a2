// Package history plays random histories of a mesh of sites: the real engine of each, over documents, a disk, a network and
// an application that are kept in maps. There is no wall clock, and one thing happens at a time, and the seed
// decides which. So a history is replayed exactly by its seed, and hundreds of operations are checked in a second.
//
// In one of eight histories (-history.backups) sites are set back to backups of their disks (backup.go), some with their
// applications, as often as it comes (-history.restores bounds that). What only such a site had is lost then by the operator's
// doing, and nothing else may be.
//
// A world is a list of steps, each drawn from the seed and its own number: leaving some out leaves the others as they are, so
// that a history that fails can be made smaller (shrink.go). While an application or another site answers, other things may
// happen, one inside the other. Agents die between any two effects; what was committed stays. In the end everything is
// healed, and check.go tells what must hold.
//
// Read world.go first, then site.go, client.go, settle.go and check.go.
package history
