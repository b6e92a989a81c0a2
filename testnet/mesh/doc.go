// Package mesh tests meshes of a few sites, case by case: what the invariants of the design ask for, and what becomes of a request on each
// of the ways that it can take. The sites are those of package world, with an application and a disk that do what a test tells them:
// refuse, fail before or after doing what was asked, have no room.
package mesh
