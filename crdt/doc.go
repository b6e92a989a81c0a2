// Package crdt keeps documents that merge: it implements engine.Documents on Automerge.
//
// A document is a handful of flat maps that its first change makes; everything after is puts of bytes under keys,
// and each key has one author. So two sites never disagree about a key, and the union of their changes is the
// document.
//
// Automerge's decoder aborts the process when it is given crafted bytes, and no recover helps. Hence three rules:
//
//   - No byte from outside reaches it undecoded. A change passes the gate: decode.go decodes the published binary
//     format (https://automerge.org/automerge-binary-format-spec) under bounds, encodes what it understood again and
//     compares byte for byte; gate.go then checks it against the document, and author.go against its author's
//     signature. What passes is what an honest site would have written.
//   - The first change, and this site's own changes, are written by the same encoder and take the same way. A
//     test compares them with what Automerge itself writes.
//   - After each change, and when it wakes, the core's heads are compared with those that the changes have to leave.
//     A document in which they differ is dropped.
//
// Beside the core each open document has a history in Go: which changes there are, and what each key's value is.
// The gate needs it, and reading entries from it does not cross into C. So the core of a document that was opened
// sleeps until a change comes.
//
// The stored changes are the truth, and what other sites are given. Every hundred changes or so a snapshot is stored
// beside them: the history and what the core saves, with a checksum. Opening a document reads the snapshot and the
// changes since. One that is damaged, foreign, of another format or newer than the stored changes is passed over, all
// changes are replayed, and it is replaced. Stored changes that a snapshot covers are not looked at again here; the
// gates of the sites that they are given to would find damage in them.
//
// Read it in this order: about.go and first.go for how a document begins; change.go and decode.go, with columns.go and
// leb128.go, for the format; history.go and gate.go for what is admitted; compose.go and merge.go for changes of this
// site and of others; document.go, snapshot.go, cache.go and set.go for how documents are kept.
package crdt
