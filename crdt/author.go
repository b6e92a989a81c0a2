package crdt

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/skerry/skerry/engine"
)

// author is what follows from a SiteID.
type author struct {
	id  engine.SiteID
	key ed25519.PublicKey
}

// actorOf is the Automerge actor of a line, the same in all documents: the first half of SHA-256 over its name.
func actorOf(l engine.Line) actor {
	sum := sha256.Sum256([]byte(l))
	return actor(sum[:len(actor{})])
}

// newAuthor takes a SiteID in its one canonical form, base58, and only of an Ed25519 key, which is inside.
func newAuthor(id engine.SiteID) (*author, error) {
	if len(id) > engine.MaxSiteID {
		return nil, fmt.Errorf("site %.60q: %d bytes", id, len(id))
	}
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
	raw, err := key.Raw()
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", id, err)
	}
	return &author{id: id, key: raw}, nil
}

// maxAuthors is how many authors are remembered, so that nobody can fill the memory with names.
const maxAuthors = 8192

// authors remembers what follows from SiteIDs. It is safe for concurrent use.
type authors struct {
	mu    sync.RWMutex
	known map[engine.SiteID]*author
}

// of returns the author of this name; the error says why it is none.
func (a *authors) of(id engine.SiteID) (*author, error) {
	a.mu.RLock()
	known := a.known[id]
	a.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	made, err := newAuthor(id)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxAuthors { // those that are needed come back
		a.known = map[engine.SiteID]*author{}
	}
	a.known[id] = made
	return made, nil
}
