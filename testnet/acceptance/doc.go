// Package acceptance holds the tests that take Skerry whole: the program as it is built, sites in network namespaces,
// applications as processes, cuts, kills and full disks. They assert what a user or an operator sees, through the
// listeners, the REST API and the pages, and look into the applications themselves to count what was done.
//
// Read story_test.go first: it is what Skerry promises, in the order in which a user would find out.
package acceptance
