package mesh

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// An authority's key may be kept where there is no agent. What it is to sign is carried there in a text, and its answer back.

const (
	requestPrefix = "skq1:"
	answerPrefix  = "ska1:"
	// maxSigned is the most bytes of either text.
	maxSigned = 16 << 20
)

// SigningRequest is what an authority is asked to sign.
type SigningRequest struct {
	Mesh string        `cbor:"1,keyasint"`
	By   engine.SiteID `cbor:"2,keyasint"` // the authority
	// Records are what it would say, encoded: what is shown of them and what is signed are the same bytes.
	Records [][]byte `cbor:"3,keyasint"`
}

// Request returns the request to sign records that were made for an author.
func (a Author) Request(records []engine.MeshRecord) SigningRequest {
	q := SigningRequest{Mesh: a.id, By: a.key}
	for _, r := range records {
		q.Records = append(q.Records, engine.Encode(r))
	}
	return q
}

// Text is the request as it is carried.
func (q SigningRequest) Text() string { return wrap(requestPrefix, q) }

func wrap(prefix string, v any) string {
	return prefix + base64.RawURLEncoding.EncodeToString(engine.Encode(v))
}

func unwrap(prefix, what, text string, v any) error {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok || len(text) > maxSigned {
		return fmt.Errorf("%w: no %s: it does not begin with %q, or is over %d bytes", engine.ErrRefused, what, prefix, maxSigned)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err == nil {
		err = engine.Decode(b, v)
	}
	if err != nil {
		return fmt.Errorf("%w: the %s is garbled or incomplete; copy it again", engine.ErrRefused, what)
	}
	return nil
}

// ReadRequest reads a request and says in words, a line each, what signing it would say: all of it, from the bytes that would be signed.
// What says less than it seems to, or something else than an authority may, is refused.
func ReadRequest(text string) (q SigningRequest, words []string, err error) {
	if err := unwrap(requestPrefix, "request to sign", text, &q); err != nil {
		return SigningRequest{}, nil, err
	}
	if len(q.Records) == 0 || !validSite(q.By) || checkText("mesh", q.Mesh, 1, maxText) != nil {
		return SigningRequest{}, nil, fmt.Errorf("%w: a request of nothing, or of nobody", engine.ErrRefused)
	}
	for _, b := range q.Records {
		r, err := open(engine.SignedRecord{Author: q.By, Record: b})
		if err == nil {
			err = r.decode()
		}
		if err == nil && (r.said == nil || !orders(r.Key.Kind) || r.Mesh != q.Mesh || string(engine.Encode(r.MeshRecord)) != string(b) || string(engine.Encode(r.said)) != string(r.Body)) {
			err = fmt.Errorf("%w: it is no word of an authority of this mesh", engine.ErrRefused)
		}
		if err != nil {
			return SigningRequest{}, nil, fmt.Errorf("a record to sign: %w", err)
		}
		words = append(words, r.words())
	}
	return q, words, nil
}

// words says what a record of an authority says.
func (r *record) words() string {
	day := func(at int64) string { return engine.Time(at).UTC().Format(time.DateTime) }
	switch said := r.said.(type) {
	case engine.Authorities:
		keys := make([]string, len(said.Keys))
		for i, k := range said.Keys {
			keys[i] = string(k)
		}
		return "the authorities are from now on, by rank: " + strings.Join(keys, ", ")
	case engine.Certificate:
		if said.Until != 0 {
			return fmt.Sprintf("the site with the key %s belongs to the mesh and is called %s, until %s", r.Key.About, said.Name, day(said.Until))
		}
		return fmt.Sprintf("the site with the key %s belongs to the mesh and is called %s, without an end", r.Key.About, said.Name)
	case engine.Removal:
		if r.Key.Kind == engine.RecordRevocation {
			return fmt.Sprintf("the key of the site %s is not trusted any more, for good", r.Key.About)
		}
		return fmt.Sprintf("the site %s is taken out of the mesh for good", r.Key.About)
	case engine.Invitation:
		return fmt.Sprintf("an invitation lets %d sites in until %s", said.Uses, said.ExpiresAt.UTC().Format(time.DateTime))
	case engine.ZoneRecord:
		if said.Deleted {
			return fmt.Sprintf("there is no zone %s", r.Key.About)
		}
		return fmt.Sprintf("the zone %s has the sites %v", r.Key.About, said.Sites)
	}
	return fmt.Sprintf("something of the kind %s", r.Key.Kind)
}

// Answer signs all of the request and returns what is to be carried back.
func (q SigningRequest) Answer(sign func(message []byte) []byte) string {
	var signed []engine.SignedRecord
	for _, b := range q.Records {
		signed = append(signed, engine.SignedRecord{Author: q.By, Record: b, Signature: sign(Message(b))})
	}
	return wrap(answerPrefix, signed)
}

// ReadAnswer returns the records of an answer. Their signatures are not checked.
func ReadAnswer(text string) ([]engine.SignedRecord, error) {
	var signed []engine.SignedRecord
	if err := unwrap(answerPrefix, "answer of an authority", text, &signed); err != nil {
		return nil, err
	}
	for _, raw := range signed {
		r, err := open(raw)
		if err == nil {
			err = r.decode()
		}
		if err != nil {
			return nil, fmt.Errorf("a record of the answer: %w", err)
		}
	}
	return signed, nil
}

// Order returns the records that carry an order out; none: that is so already. ErrNotFound, or a *engine.Refusal, as the method for it has
// them.
func (a Author) Order(o engine.Order, now time.Time) ([]engine.MeshRecord, error) {
	var r engine.MeshRecord
	var out *engine.MeshRecord
	var err error
	switch {
	case o.Certify != "":
		r, err = a.Certify(o.Certify, o.Name, o.Until, now)
	case o.Retire != "", o.Revoke != "":
		if o.Retire != "" {
			out, err = a.Retire(o.Retire, now)
		} else {
			out, err = a.Distrust(o.Revoke, now)
		}
		if err != nil || out == nil {
			return nil, err
		}
		r = *out
	case o.Add != "":
		r, err = a.AddAuthority(o.Add, o.First)
	case o.Remove != "":
		return a.RemoveAuthority(o.Remove)
	case len(o.Sites) > 0:
		r, err = a.SetZone(o.Zone, o.Sites, now)
	default:
		r, err = a.DeleteZone(o.Zone, now)
	}
	if err != nil {
		return nil, err
	}
	return []engine.MeshRecord{r}, nil
}
