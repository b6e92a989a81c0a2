// Package engine holds the words of Skerry's core: identifiers, operations, kinds, statuses, rows, refusals, and the ports
// that the world outside has to implement. It has no logic beyond what a word needs to be checked or compared.
//
// docs/words.md explains the terms. The packages below it are pure: tree (JSON), merge (what operations amount to), plan
// (what to do next here), replica (one resource at one site), mesh (members and names), service (pacing of one service)
// and scope (the language). Package site joins them in one loop.
package engine
