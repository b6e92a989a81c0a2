// Package world is a world of sites in one process, for tests: the whole engine of each (engine/core), with real documents, over a disk,
// a network and an application that are kept in memory. One goroutine runs at a time and there is no wall clock: whoever drives a
// world decides what happens next, and the same decisions give the same world again.
//
// A Site is one location: its disk and its application, which stay, and the process of its agent, which comes and goes. What takes
// its time at a process is a task (task.go): a request of a client, a letter that is taken in, one step of the agent. A task waits
// until what it waits for has happened, while others go on; a process that dies takes its tasks along. What a process does that
// others or a later process can see goes through its ports (ports.go), where it may die just before or just after.
//
// Read world.go first, then site.go, task.go, ports.go, network.go and compare.go. disk.go and lists.go are the store, blobs.go large
// bodies, application.go a model of an application with rules of every sort.
package world
