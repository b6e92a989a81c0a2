package tree

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Canonical returns a representation without its identifier and its ignored fields, with sorted members, with the elements
// of keyed arrays in one order and with numbers by value, as a tree and as bytes. ok is false for what is not JSON.
func Canonical(k *engine.Kind, representation []byte) (tree any, form []byte, ok bool) {
	tree, err := Parse(k, representation)
	if err != nil {
		return nil, nil, false
	}
	WithoutOwn(k, tree)
	if k.ID.At != "" {
		UnsetAt(tree, k.ID.At)
	}
	unmarked(k, tree)
	tree = numbersByValue(tree)
	sorted(tree)
	return tree, Compact(tree), true
}

// WithoutOwn takes out of a representation, a tree, what differs between replicas by nature.
func WithoutOwn(k *engine.Kind, tree any) {
	for _, p := range k.IgnoredWhere(Says(tree)) {
		UnsetAll(tree, p)
	}
}

// Says tells what stands where in a tree; nil for nothing.
func Says(tree any) func(engine.Pointer) any {
	return func(p engine.Pointer) any {
		v, _ := ValueAt(tree, p)
		return v
	}
}

// Comparable returns a representation without what differs between replicas by nature: two that are the same to clients
// give the same bytes. ok is false for what is not JSON.
func Comparable(k *engine.Kind, representation []byte) (form []byte, ok bool) {
	_, form, ok = Canonical(k, representation)
	return form, ok
}

// numbersByValue writes equal numbers alike: 1, 1.0 and 10e-1 are one number to an application, and one may write it
// another way after an update. It changes v.
func numbersByValue(v any) any {
	switch c := v.(type) {
	case json.Number:
		return numberByValue(c)
	case []any:
		for i := range c {
			c[i] = numbersByValue(c[i])
		}
	case map[string]any:
		for name := range c {
			c[name] = numbersByValue(c[name])
		}
	case *elements:
		for t := range c.by {
			c.by[t] = numbersByValue(c.by[t])
		}
	case whole:
		return whole{numbersByValue(c.v)}
	}
	return v
}

// numberByValue returns the one way to write a number without leading or trailing zeros. It is exact for any size; a number
// whose exponent is absurd stays as it is.
func numberByValue(n json.Number) json.Number {
	text, sign := string(n), ""
	if strings.HasPrefix(text, "-") {
		text, sign = text[1:], "-"
	}
	exponent := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.ParseInt(text[i+1:], 10, 32)
		if err != nil {
			return n
		}
		text, exponent = text[:i], int(e)
	}
	integer, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(integer+fraction, "0")
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	switch {
	case short == "":
		return "0"
	case exponent == 0:
		return json.Number(sign + short)
	}
	return json.Number(sign + short + "e" + strconv.Itoa(exponent))
}

// ByValue returns JSON in compact form with numbers by value, as Canonical has them; what is no JSON stays as it is.
func ByValue(b json.RawMessage) json.RawMessage {
	v, err := ParseJSON(b)
	if err != nil {
		return b
	}
	return Compact(numbersByValue(v))
}

// KeyedDigest makes digests that travel between the sites of a document and are compared there. The key is the document's
// own, so that equal values in two documents do not show, and no table of digests serves for more than one. A sensitive value
// that is short enough to be tried out could be found by whoever has the digest and the rest of the representation: so digests
// are shown in no API, log or event.
func KeyedDigest(d engine.DocumentID, domain string, b []byte) string {
	m := hmac.New(sha256.New, []byte("skerry "+domain+"\x00"+string(d)))
	m.Write(b)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:16])
}
