package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Asker is who asked for an operation, as the application of its origin, or who is believed there, has found out. It travels in the
// operation and is signed with it, so that other sites can have their applications decide whether that user may do it there.
type Asker struct {
	User   string              `cbor:"1,keyasint" json:"user"`
	Groups []string            `cbor:"2,keyasint,omitempty" json:"groups,omitempty"`
	Extra  map[string][]string `cbor:"3,keyasint,omitempty" json:"extra,omitempty"`
}

// maxAsker is the most bytes that an Asker may say.
const maxAsker = 8 << 10

// Validate checks that an Asker can be told to an application, in headers, without becoming somebody else.
func (a *Asker) Validate() error {
	names, texts := append([]string{a.User}, a.Groups...), []string{}
	for _, key := range slices.Sorted(maps.Keys(a.Extra)) {
		names = append(names, key)
		texts = append(texts, a.Extra[key]...)
	}
	size := 0
	for i, s := range append(names, texts...) {
		size += len(s)
		if !utf8.ValidString(s) || strings.TrimSpace(s) != s || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f }) || i < len(names) && s == "" {
			return fmt.Errorf("%.60q is no name of a user, of a group, or of what else is known of who asked", s)
		}
	}
	if size > maxAsker {
		return errors.New("more is said of who asked than a request can tell")
	}
	return nil
}

// Same reports whether both are the same user, with the same rights as far as is said.
func (a *Asker) Same(b *Asker) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.User == b.User && slices.Equal(a.Groups, b.Groups) && maps.EqualFunc(a.Extra, b.Extra, slices.Equal[[]string])
}

// As says with whose rights a site has its application asked for what others want there.
type As string

const (
	// AsAgent: with those of the account that the site's agent has there.
	AsAgent As = "agent"
	// AsUser: with those of whoever asked. What nobody is known to have asked for waits.
	AsUser As = "user"
)
