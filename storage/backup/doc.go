// Package backup copies a data directory into one file while its agent works, and puts such a file back.
//
// A backup is a tar: the vault's key, if it lies in the data directory and is to go along; the database as it was at one moment; the bodies of
// that moment; other files of the directory, the site's key above all, encrypted under a key that follows from the vault's; and a
// manifest of all that with a keyed sum. What is encrypted in the data directory is so in the backup. Without the vault's key nobody puts a
// backup back, or changes it unnoticed.
//
// The database is copied under one reader's snapshot: the agent goes on writing meanwhile, and its log grows until the copy is made. Bodies are
// written once under names of their own. They are opened before the snapshot and right after it, so that one which is dropped meanwhile stays readable.
//
// Read write.go, then restore.go.
package backup
