package p2p

import (
	"encoding/hex"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// The bounds of what this site decodes of an envelope. Whatever is in it, crdt checks again.
const (
	// maxGossip is the most bytes of envelope that gossip and hints carry: gossipsub loses messages over 1 MiB
	// without a word, and adds a signature and a topic.
	maxGossip = 900 << 10
	// maxHint is the most bytes of a hint's frame.
	maxHint = 1 << 20
	// maxFrame is the most bytes of a frame of the fetch protocol: a piece and one change that overshoots it.
	maxFrame     = 4 << 20
	maxAbout     = 256 << 10
	maxChange    = 1 << 20
	maxAuthor    = 128
	signatureLen = 64 // Ed25519
)

// decodeEnvelope decodes and checks an envelope from outside. The error wraps ErrRefused.
func decodeEnvelope(b []byte) (engine.Envelope, error) {
	if len(b) > maxGossip {
		return engine.Envelope{}, fmt.Errorf("decode envelope: %w: %d bytes", engine.ErrRefused, len(b))
	}
	var e engine.Envelope
	if err := decodeCBOR(b, &e); err != nil {
		return engine.Envelope{}, fmt.Errorf("decode envelope: %w", err)
	}
	if err := checkEnvelope(e); err != nil {
		return engine.Envelope{}, fmt.Errorf("decode envelope: %w", err)
	}
	return e, nil
}

func checkEnvelope(e engine.Envelope) error {
	if _, ok := documentKey(e.Document); !ok {
		return fmt.Errorf("%w: the document's identifier is not 64 hex digits", engine.ErrRefused)
	}
	if len(e.About) == 0 || len(e.About) > maxAbout {
		return fmt.Errorf("%w: a first change of %d bytes", engine.ErrRefused, len(e.About))
	}
	if len(e.Checkpoint) > engine.MaxCheckpoint {
		return fmt.Errorf("%w: a checkpoint of %d bytes", engine.ErrRefused, len(e.Checkpoint))
	}
	for _, c := range e.Changes {
		switch {
		case c.Author == "" || len(c.Author) > maxAuthor:
			return fmt.Errorf("%w: a change without an author", engine.ErrRefused)
		case len(c.Signature) != signatureLen:
			return fmt.Errorf("%w: a signature of %d bytes", engine.ErrRefused, len(c.Signature))
		case len(c.Bytes) == 0 || len(c.Bytes) > maxChange:
			return fmt.Errorf("%w: a change of %d bytes", engine.ErrRefused, len(c.Bytes))
		}
	}
	return nil
}

// documentKey returns the bytes of a document's identifier; ok is false unless it is 64 lower-case hex digits.
func documentKey(id engine.DocumentID) (key [32]byte, ok bool) {
	if len(id) != 2*len(key) {
		return key, false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return key, false
		}
	}
	_, err := hex.Decode(key[:], []byte(id))
	return key, err == nil
}

func documentID(key [32]byte) engine.DocumentID { return engine.DocumentID(hex.EncodeToString(key[:])) }
