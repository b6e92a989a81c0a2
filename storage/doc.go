// Package storage keeps one site's data on disk: the documents and their changes, the index of resources and
// operations that lists and look-ups are answered from, open intents, kept requests, first answers, and the event
// log. It implements engine.Store and engine.Ledger on SQLite, in one file of the site's data directory.
//
// What Commit acknowledged is durable: the database runs in WAL mode with synchronous=FULL, which syncs the log
// before a commit returns. A process killed at any instruction and a full disk lose nothing acknowledged. One case
// is out of our hands: when the sync itself fails, Commit reports ErrStorage, but the bytes may have reached the
// disk; they are overwritten by the next commit, and only a crash before it can bring them back.
//
// Read it in this order: schema.go for the tables, store.go for how they are opened, commit.go for the one way to
// write, rows.go for how rows become columns; resources.go, operations.go, ledger.go and queues.go are the reads.
// vault.go encrypts; seal.go says what of a row is.
package storage
