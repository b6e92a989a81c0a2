package engine

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// HeaderAfter tells, beside the answer to a write, what a client sends back to be answered from a state that has the write: a text of an After.
// A request may have several, separated by commas.
const HeaderAfter = "Skerry-After"

const (
	// MaxAfters is how many of them a request may have.
	MaxAfters = 64
	// maxAfter is the most bytes that the text of one may have.
	maxAfter = 16 << 10
)

// After names one operation, and with it all that is before it in its line. A site of the placement that has not heard of it cannot tell it from
// an invention otherwise: so the sites are named as well.
type After struct {
	Document DocumentID
	Line     Line
	Number   uint64
	// sites has a short hash of each site that is to have it. One that has another's waits in vain, once in some four thousand million.
	sites []uint32
}

// MakeAfter returns the one of an operation.
func MakeAfter(id DocumentID, o *Operation, placement []SiteID) After {
	a := After{Document: id, Line: o.Line, Number: o.Number}
	for _, s := range placement {
		a.sites = append(a.sites, short(s))
	}
	return a
}

// Concerns reports whether a site is to have the operation.
func (a After) Concerns(s SiteID) bool { return slices.Contains(a.sites, short(s)) }

func short(s SiteID) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

// afterText is what the text of an After holds.
type afterText struct {
	Document []byte   `cbor:"1,keyasint"`
	Line     Line     `cbor:"2,keyasint"`
	Number   uint64   `cbor:"3,keyasint"`
	Sites    []uint32 `cbor:"4,keyasint"`
}

// String writes it as ParseAfter reads it.
func (a After) String() string {
	document, err := hex.DecodeString(string(a.Document))
	if err != nil {
		panic(err) // identifiers of documents are hexadecimal
	}
	return base64.RawURLEncoding.EncodeToString(Encode(afterText{document, a.Line, a.Number, a.sites}))
}

// MarshalText is String, for a request that is kept.
func (a After) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText is ParseAfter.
func (a *After) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAfter(string(text))
	return err
}

// ParseAfters reads all that the headers of a request tell. The error wraps ErrRefused.
func ParseAfters(values []string) ([]After, error) {
	var all []After
	for text := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		a, err := ParseAfter(text)
		if err != nil {
			return nil, err
		}
		if all = append(all, a); len(all) > MaxAfters {
			return nil, fmt.Errorf("%w: there are over %d", ErrRefused, MaxAfters)
		}
	}
	return all, nil
}

// JoinAfters writes what ParseAfters reads, empty for none.
func JoinAfters(all []After) string {
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", ")
}

// ParseAfter reads what a client has sent back. The error wraps ErrRefused.
func ParseAfter(text string) (After, error) {
	if len(text) > maxAfter {
		return After{}, fmt.Errorf("%w: it has over %d bytes", ErrRefused, maxAfter)
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return After{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	var t afterText
	if err := Decode(b, &t); err != nil {
		return After{}, err
	}
	a := After{Document: DocumentID(hex.EncodeToString(t.Document)), Line: t.Line, Number: t.Number, sites: t.Sites}
	if len(t.Document) != 32 || !t.Line.Valid() || t.Number == 0 {
		return After{}, fmt.Errorf("%w: it names no operation", ErrRefused)
	}
	return a, nil
}
