package crdt

import "crypto/ed25519"

// Scheme is how what sites write is signed.
type Scheme interface {
	Sign(key ed25519.PrivateKey, message []byte) []byte
	Verify(key ed25519.PublicKey, message, signature []byte) bool
}

// Ed25519 is the scheme of agents. Another one is for simulations alone, in which nobody forges anything, and the time goes into it.
type Ed25519 struct{}

// Sign implements Scheme.
func (Ed25519) Sign(key ed25519.PrivateKey, message []byte) []byte { return ed25519.Sign(key, message) }

// Verify implements Scheme.
func (Ed25519) Verify(key ed25519.PublicKey, message, signature []byte) bool {
	return ed25519.Verify(key, message, signature)
}
