package engine

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Observed is what a site's application showed of a resource when everything that the site knew of was settled there. It
// stands for that state alone: it goes as soon as another operation is settled.
type Observed struct {
	// Hash is a keyed digest of the canonical representation (canonicalForm); empty when Unseen says why there is none.
	Hash string `json:"hash,omitempty"`
	// Unseen says why there is nothing to compare.
	Unseen Unseen `json:"unseen,omitempty"`
	// Fold is a keyed digest of what the settled operations fold to. Sites that have settled the same have the same.
	Fold string `json:"fold"`
	// Differs are paths that the fold sets and at which the application shows something else, at most maxDiffers of them.
	Differs []Pointer `json:"differs,omitempty"`
	// Apart says that some of them are of a divided field: this part of a cross resource shows something else than its share,
	// which Hash leaves out.
	Apart bool `json:"apart,omitempty"`
	// Was is the Hash that the application had shown before, in the same state, when all sites agreed on it: what it shows
	// now was brought about by nothing that the sites know of.
	Was string `json:"was,omitempty"`
	// Since is when the application was first seen to show this.
	Since time.Time `json:"since"`
	// Steady says that the application showed the same again a while later. It is told only where sites differ.
	Steady bool `json:"steady,omitempty"`
}

// Unseen is why an Observed holds no hash.
type Unseen string

const (
	// UnseenGone: the application has no such object.
	UnseenGone Unseen = "gone"
	// UnseenOpaque: the representation is not JSON.
	UnseenOpaque Unseen = "opaque"
	// UnseenUnreadable: the application does not let the object be read.
	UnseenUnreadable Unseen = "unreadable"
)

// maxDiffers bounds the paths that a site tells of.
const maxDiffers = 8

// shows is what is compared between sites.
func (o *Observed) shows() string {
	if o.Unseen != "" {
		return string(o.Unseen)
	}
	return o.Hash
}

// equal reports whether o and p say the same.
func (o *Observed) equal(p *Observed) bool {
	if o == nil || p == nil {
		return o == p
	}
	return o.Hash == p.Hash && o.Unseen == p.Unseen && o.Apart == p.Apart && o.Fold == p.Fold && slices.Equal(o.Differs, p.Differs) && o.Was == p.Was &&
		o.Steady == p.Steady
}

// keyedDigest makes digests that travel in a document and are compared there. The key is the document's own, so that equal
// values in two documents do not show, and no table of digests serves for more than one. A sensitive value that is short
// enough to be tried out could be found by whoever has the digest and the rest of the representation: so digests are shown
// in no API, log or event, and stay among the sites that hold the value itself.
func keyedDigest(d DocumentID, domain string, b []byte) string {
	m := hmac.New(sha256.New, []byte("skerry "+domain+"\x00"+string(d)))
	m.Write(b)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:16])
}

// canonicalForm returns a representation without its identifier and its ignored fields, with sorted members, with the
// elements of keyed arrays in one order and with numbers by value, as a tree and as bytes. ok is false for what is not JSON.
func canonicalForm(k *Kind, representation []byte) (tree any, form []byte, ok bool) {
	tree, err := k.parse(representation)
	if err != nil {
		return nil, nil, false
	}
	for _, p := range k.Ignore {
		unsetAll(tree, p)
	}
	if k.ID.At != "" {
		unsetAt(tree, k.ID.At)
	}
	k.unmarked(tree)
	tree = numbersByValue(tree)
	sorted(tree)
	return tree, compact(tree), true
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
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
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

// observe says what a representation, in terms of meta-identifiers, amounts to where the application is to show mine, of what
// the operations fold to.
func observe(k *Kind, d DocumentID, representation []byte, fold, mine Fold, divided []Pointer) *Observed {
	o := &Observed{Fold: fold.digest(d)}
	tree, form, ok := canonicalForm(k, representation)
	if !ok {
		o.Unseen = UnseenOpaque
		return o
	}
	o.Differs = mine.deviations(k, tree)
	for _, p := range divided {
		o.Apart = o.Apart || slices.Contains(o.Differs, p)
		if _, shared := mine.Cells[p]; shared {
			unsetAt(tree, p)
		}
	}
	if len(divided) > 0 {
		form = compact(tree)
	}
	o.Hash = keyedDigest(d, "observed", form)
	if len(o.Differs) > maxDiffers {
		o.Differs = o.Differs[:maxDiffers]
	}
	return o
}

// deviations lists the paths that f sets and at which a canonical tree shows something else, the uppermost of each branch.
func (f Fold) deviations(k *Kind, tree any) []Pointer {
	var paths []Pointer
	shown := f.paths()
	for _, p := range sortedPointers(shown) {
		want := shown[p]
		if k.Ignored(p) || slices.ContainsFunc(paths, func(q Pointer) bool { return q.Contains(p) }) {
			continue
		}
		got, ok := valueAt(tree, p)
		if holds(want, got) || !ok && p == k.Marker && string(want) == `""` {
			continue
		}
		if !ok || !bytes.Equal(compact(got), byValue(want)) {
			paths = append(paths, p)
		}
	}
	for p, c := range f.Cells { // what was removed is not to be there
		if got, ok := valueAt(tree, p); c.Value == nil && shown[p] == nil && ok && got != nil && !k.Ignored(p) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

func byValue(b json.RawMessage) json.RawMessage {
	v, err := parseJSON(b)
	if err != nil {
		return b
	}
	return compact(numbersByValue(v))
}

// digest tells folds apart.
func (f Fold) digest(d DocumentID) string {
	var b bytes.Buffer
	write := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(strconv.Itoa(len(p)))
			b.WriteByte(':')
			b.WriteString(p)
		}
	}
	write(strconv.FormatBool(f.Exists))
	shown := f.paths()
	for _, p := range sortedPointers(shown) {
		write(string(p), string(shown[p]))
	}
	for _, path := range slices.Sorted(maps.Keys(f.Absolute)) {
		write(path, string(f.Absolute[path].ID))
	}
	return keyedDigest(d, "fold", b.Bytes())
}
