// Package storage keeps one site's data on disk: resources with what the engine knows of each, the changes of their
// documents, the operations that lists show, errands, kept requests, first answers, conflicts, records of the mesh and the
// event log. It implements engine.Store on SQLite, in one file of the site's data directory, and engine.Blobs and
// engine.Spools on files beside it.
//
// What Commit acknowledged is durable: the database runs in WAL mode with synchronous=FULL, which syncs the log before a
// commit returns. A process killed at any instruction and a full disk lose nothing acknowledged. One case is out of our hands:
// when the sync itself fails, Commit reports ErrStorage, but the bytes may have reached the disk; they are overwritten by the
// next commit, and only a crash before it can bring them back.
//
// Writing: a replicated create is what it is laid out for. It takes one row of resources, one of changes, one of operations
// and a share of one of events, and each of its three commits changes few pages. So what changes often is in few indexes, an
// update names only the columns that change, and what many rows have in common has a number (dictionary.go).
//
// Read it in this order: schema.go for the tables, store.go for how they are opened, commit.go for how callers share a
// transaction, writer.go and statements.go for what runs in it; then record.go, changes.go, operation.go, queues.go, events.go
// for what is written and read of each, resources.go and operations.go for the lists. vault.go encrypts; seal.go says what.
package storage
