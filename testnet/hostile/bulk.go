package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

// lone begins the names of what a member makes that honest sites need not have alike: each has as much of it as there is room for.
const lone = prefix + "lone-"

// bulk is how many bytes each large body of a member has. Two of them are within what a site may have of one member (roomForBodies), three are not.
const bulk = 900 << 10

// errUnasked says that no site has asked for the bodies that it was told of.
var errUnasked = errors.New("no site has fetched a body of it")

// object is what a member makes: one field that it has beside its identifier.
type object struct {
	service engine.ServiceName
	kind    engine.KindName
	key     engine.ResourceID
	request string // "POST /images"
	field   engine.Pointer
	value   string
}

// image is one whose name begins so.
func image(name string) object {
	key := uuid.Must(uuid.NewV7()).String()
	return object{"images", "image", engine.ResourceID(key), "POST /images", "/name", name + key}
}

// placed makes a document of an object at some sites and the member, and returns the letter that has it created.
func (m *Member) placed(x object, at ...honest) (*document, *engine.Letter, error) {
	about := engine.About{Service: x.service, Kind: x.kind, Collaboration: engine.Replication, Placement: []engine.SiteID{m.id}, Key: x.key}
	for _, h := range at {
		about.Placement = append(about.Placement, h.id)
	}
	slices.Sort(about.Placement)
	raw, id, err := m.docs.Identify(about)
	if err != nil {
		return nil, nil, err
	}
	d := &document{id: id, about: about, raw: raw, tip: m.docs.First(about, id, 0), part: true, made: true}
	m.mu.Lock()
	m.known[id] = d // others tell it of the document: another beginning of its line would fork that
	m.mu.Unlock()
	l, err := m.writes(d, engine.MapOperations, m.operation(d, func(o *engine.Operation) {
		o.Type, o.Header = engine.TypeCreate, map[string]string{"Content-Type": "application/json"}
		o.Method, o.Path, _ = strings.Cut(x.request, " ")
		o.Body = fmt.Appendf(nil, `{%q:%s}`, x.field[1:], encoded(x.value))
		o.Edit = &engine.Edit{Set: map[engine.Pointer]json.RawMessage{x.field: encoded(x.value)}}
	}))
	d.ops = 1
	return d, l, err
}

// manyDocuments makes documents that place things at the honest sites. It may; and not without end.
func manyDocuments(ctx context.Context, m *Member, _ *Orders) error {
	all := &engine.Letter{}
	for range 40 {
		_, l, err := m.placed(image(prefix), m.sites...)
		if err != nil {
			return err
		}
		all.Parcels = append(all.Parcels, l.Parcels...)
	}
	_, err := m.send(ctx, m.victim(), letters, letterFrame(all))
	return ignore(err)
}

// largeBodies places resources with more in large bodies than a site may have of one member, and gives the bodies to whoever asks. What it never
// says is that it has applied them: so they are kept.
func largeBodies(ctx context.Context, m *Member, _ *Orders) error {
	for range 3 {
		d, made, err := m.placed(image(lone), m.sites...)
		if err != nil {
			return err
		}
		seed := m.seed()
		h := engine.NewBlobHasher()
		_, _ = h.Write(bodyOf(seed))
		ref, digests := h.Sum()
		m.mu.Lock()
		m.bodies[ref.Hash] = body{seed, digests}
		m.mu.Unlock()
		l, err := m.writes(d, engine.MapOperations, m.operation(d, func(o *engine.Operation) {
			o.Type, o.Method, o.Path, o.Header = engine.TypeAbsolute, "PUT", "/images/{id}/file", map[string]string{"Content-Type": "application/octet-stream"}
			o.Body, o.Edit, o.Blob = nil, nil, &ref
		}))
		if err != nil {
			return err
		}
		made.Parcels[0].Changes = append(made.Parcels[0].Changes, l.Parcels[0].Changes...)
		if err := m.tell(ctx, made); err != nil {
			return err
		}
	}
	select {
	case <-m.fetched: // one of these, or of earlier ones
		return nil
	case <-time.After(waitTime):
		return errUnasked
	case <-ctx.Done():
		return errUnasked
	}
}

// body is a large one, made anew each time that it is asked for.
type body struct {
	seed    [32]byte
	digests engine.Digests
}

func (m *Member) seed() (s [32]byte) {
	m.noise(s[:])
	return s
}

func bodyOf(seed [32]byte) []byte {
	b := make([]byte, bulk)
	_, _ = rand.NewChaCha8(seed).Read(b) // it never fails
	return b
}

// gives answers a request for a body of the member's own as an honest site does. It returns false where the request is for something else.
func (m *Member) gives(s network.Stream, request []byte) bool {
	var asked struct {
		Document engine.DocumentID `cbor:"1,keyasint"`
		Blob     engine.BlobRef    `cbor:"2,keyasint"`
		First    int64             `cbor:"3,keyasint"`
		Digests  bool              `cbor:"4,keyasint,omitempty"`
	}
	if engine.Decode(request, &asked) != nil {
		return false
	}
	m.mu.Lock()
	b, is := m.bodies[asked.Blob.Hash]
	m.mu.Unlock()
	if !is {
		return false
	}
	answer := map[int]any{1: true}
	if asked.Digests {
		answer[2] = []byte(b.digests)
	}
	content := bytes.NewReader(append(frame(engine.Encode(answer)), bodyOf(b.seed)...))
	if _, err := io.Copy(s, content); err != nil {
		return true
	}
	select {
	case m.fetched <- struct{}{}:
	default:
	}
	return true
}

// turns is how many resources a member places at one site at once, to be before everybody else there.
const turns = 150

// manyTurns places many resources at one site, whose application has to make each. Nothing but their turn is waited for: who knows a name knows the object.
func manyTurns(ctx context.Context, m *Member, _ *Orders) error {
	to, all := m.victim(), &engine.Letter{}
	for range turns {
		name := lone + uuid.Must(uuid.NewV7()).String()
		_, l, err := m.placed(object{"servers", "key", engine.ResourceID(name), "PUT /keys/{id}", "/public", "mallory"}, to)
		if err != nil {
			return err
		}
		all.Parcels = append(all.Parcels, l.Parcels...)
	}
	_, err := m.send(ctx, to, letters, letterFrame(all))
	return ignore(err)
}
