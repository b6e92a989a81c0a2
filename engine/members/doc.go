// Package members keeps one site's state of the mesh (package mesh), on the disk and in step with the other members.
//
// Whatever changes it goes one way: a draft is made of the state as it is, records are taken in there (this site's own are signed,
// those of others were verified), the draft's news are made durable, and only then does the draft take the state's place
// and the others are told. What cannot be made durable has not happened. draft.go has that way; hear.go takes in what
// others say, own.go what this site says of itself, run.go what it means that another run has spoken under its key.
//
// Records are told twice. A letter brings them at once, to those that can be reached; who gets one passes on what is news to
// members that its sender has not reached. The comparison of fingerprints, which the network makes, is the sure path.
//
// docs/words.md explains the terms.
package members
