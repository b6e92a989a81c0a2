// Package plan says which site would do what for a request, from what is known of the sites now: planner.go for requests of any kind,
// cross.go for those of cross resources, alternatives.go for scopes with several ways. It asks nobody.
package plan
