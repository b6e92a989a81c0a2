// Package memory keeps a site's documents and its disk in maps: engine.Documents, engine.Store, engine.Ledger and
// engine.Vault for simulations that need thousands of operations a second. What is on a Disk stays when the process that
// uses it ends; Documents are of one process. Changes are what all sites of one simulation pass each other.
//
// Documents merge as Automerge's do (dependencies, numbers of actors, of two values the one with the later operation), without
// bytes, signatures and the gate: those have their tests in crdt. Nothing here is safe for concurrent use.
package memory
