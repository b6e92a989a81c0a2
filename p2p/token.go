package p2p

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

// ErrToken is returned for a text that is no invitation, or not a whole one.
var ErrToken = errors.New("not a valid invitation")

const (
	tokenPrefix    = "skr1:"
	maxToken       = 8 << 10
	maxTokenAddrs  = 32
	maxAddress     = 256
	minTokenSecret = 16
	maxTokenSecret = 64
	maxTokenName   = 256
)

// Token is what a new site needs to join: whom to ask, where, and the secret that lets it in.
type Token struct {
	// Mesh and Founder identify the mesh that the new site is to find behind the invitation: who belongs to it follows from what
	// the founder's key has signed.
	Mesh    string        `cbor:"1,keyasint"`
	Founder engine.SiteID `cbor:"7,keyasint"`
	Inviter engine.SiteID `cbor:"2,keyasint"`
	// Addresses are the inviter's multiaddresses, without the /p2p part.
	Addresses []string `cbor:"3,keyasint"`
	// Invitation and Secret are empty in what a site that has a certificate joins by.
	Invitation string `cbor:"4,keyasint"`
	Secret     []byte `cbor:"5,keyasint"`
	// Expires has a resolution of seconds.
	Expires time.Time `cbor:"-"`
	Unix    int64     `cbor:"6,keyasint"` // Expires as it travels; EncodeToken sets it
}

// EncodeToken returns t as the text that people pass on: "skr1:" and CBOR in base64url without padding.
func EncodeToken(t Token) (string, error) {
	t.Unix = t.Expires.Unix()
	if err := t.check(); err != nil {
		return "", fmt.Errorf("encode invitation: %w", err)
	}
	text := tokenPrefix + base64.RawURLEncoding.EncodeToString(engine.Encode(t))
	if len(text) > maxToken {
		return "", fmt.Errorf("encode invitation: %w", engine.ErrTooLarge)
	}
	return text, nil
}

// DecodeToken reads what EncodeToken wrote; white space around it is ignored. The error wraps ErrToken and says what
// is wrong. An expired invitation decodes: whether it still counts is its inviter's decision, by its clock.
func DecodeToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxToken {
		return Token{}, fmt.Errorf("%w: it is over %d bytes", ErrToken, maxToken)
	}
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok {
		return Token{}, fmt.Errorf("%w: it does not begin with %q", ErrToken, tokenPrefix)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err != nil {
		return Token{}, fmt.Errorf("%w: it is garbled or incomplete; copy it again", ErrToken)
	}
	var t Token
	if err := decode(b, &t); err != nil {
		return Token{}, fmt.Errorf("%w: it is garbled or incomplete; copy it again", ErrToken)
	}
	if err := t.check(); err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	t.Expires = time.Unix(t.Unix, 0)
	return t, nil
}

func (t Token) check() error {
	if t.Mesh == "" || len(t.Mesh) > maxTokenName {
		return errors.New("it names no mesh")
	}
	if _, err := peerOf(t.Founder); err != nil {
		return fmt.Errorf("it names no founder of the mesh: %w", err)
	}
	if _, err := peerOf(t.Inviter); err != nil {
		return fmt.Errorf("it names no inviter: %w", err)
	}
	if t.Invitation == "" && len(t.Secret) == 0 { // of a site that has a certificate
		return t.checkWay()
	}
	if t.Invitation == "" || len(t.Invitation) > maxTokenName {
		return errors.New("it names no invitation")
	}
	if len(t.Secret) < minTokenSecret || len(t.Secret) > maxTokenSecret {
		return fmt.Errorf("its secret has %d bytes, not %d to %d", len(t.Secret), minTokenSecret, maxTokenSecret)
	}
	return t.checkWay()
}

// checkWay checks how the inviter is reached, and until when.
func (t Token) checkWay() error {
	if len(t.Addresses) == 0 || len(t.Addresses) > maxTokenAddrs {
		return fmt.Errorf("it has %d addresses, not 1 to %d", len(t.Addresses), maxTokenAddrs)
	}
	if _, err := parseAddresses(t.Addresses); err != nil {
		return err
	}
	if t.Unix < 0 || t.Unix > 1<<40 {
		return errors.New("it has no sensible time of expiry")
	}
	return nil
}

// parseAddresses parses multiaddresses without a /p2p part.
func parseAddresses(texts []string) ([]multiaddr.Multiaddr, error) {
	addrs := make([]multiaddr.Multiaddr, 0, len(texts))
	for _, text := range texts {
		if len(text) > maxAddress {
			return nil, fmt.Errorf("an address is over %d bytes", maxAddress)
		}
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", text, err)
		}
		addrs = append(addrs, a)
	}
	return addrs, nil
}
