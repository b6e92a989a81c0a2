// Package crdt writes and reads documents that merge: it implements engine.Documents in Automerge's binary format, and signs
// what is written together.
//
// A document is a handful of flat maps that its first change makes. Everything after is puts of bytes, each under a key that
// is written once: "<author>/<number of the author's change>/<place in it>". Each change depends on its author's previous one
// alone. So no two changes of two sites ever touch each other, and the union of all of them is the document.
//
// That leaves so little of Automerge that no Automerge core is needed: a change follows, byte for byte, from its author, its
// number, the change before it, and its entries. Tests load what is written here with the core, and compare.
//
// The core's decoder aborts the process when it is given crafted bytes, and a change that passes here may be handed to one by
// whoever exports a document. So a change from outside passes the gate: decode.go takes out of it what cannot be known
// beforehand, chunk.go writes the change again from that, and the two are compared byte for byte. What passes is what an
// honest site would have written. The format is https://automerge.org/automerge-binary-format-spec.
//
// Read it in this order: about.go and first.go for how a document begins; chunk.go and decode.go, with column.go and
// leb128.go, for the format; documents.go for the port; merkle.go, sign.go and statuses.go for what is signed together.
package crdt
