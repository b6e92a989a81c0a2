package crdt

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/skerry/skerry/engine"
)

// An actor is the first half of its author's, eight bytes of SHA-256 over the SiteID, and eight random
// bytes. A process takes a new one at its start, so that a site restored from a backup never gives a number twice.
const authorPart = 8

func actorOf(author engine.SiteID, random io.Reader) (actor, error) {
	var a actor
	sum := sha256.Sum256([]byte(author))
	copy(a[:authorPart], sum[:])
	if _, err := io.ReadFull(random, a[authorPart:]); err != nil {
		return actor{}, fmt.Errorf("choose an actor: %w", err)
	}
	return a, nil
}

// madeBy reports whether author may use a.
func (a actor) madeBy(author engine.SiteID) bool {
	sum := sha256.Sum256([]byte(author))
	return bytes.Equal(a[:authorPart], sum[:authorPart])
}

// decodeSite takes a SiteID in its one canonical form, base58, and only of an Ed25519 key, which is inside.
func decodeSite(id engine.SiteID) (crypto.PubKey, error) {
	p, err := peer.Decode(string(id))
	if err != nil {
		return nil, fmt.Errorf("site %q: %w", id, err)
	}
	key, err := p.ExtractPublicKey()
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", id, err)
	}
	if p.String() != string(id) || key.Type() != crypto.Ed25519 {
		return nil, fmt.Errorf("site %s: not the canonical name of an Ed25519 key", id)
	}
	return key, nil
}

// signed returns what the author of a change signs.
func signed(h hash) []byte { return append([]byte("skerry change\x00"), h[:]...) }

// verify checks the author's signature over the change named h.
func verify(c engine.SignedChange, h hash) error {
	key, err := decodeSite(c.Author)
	if err != nil {
		return err
	}
	if ok, err := key.Verify(signed(h), c.Signature); err != nil || !ok {
		return errors.New("wrong signature")
	}
	return nil
}
