package hostile

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// zone is one that the honest sites' authority has set.
const zone = "west"

// order signs a record of what only authorities may say, with a number above all that they have.
func (m *Member) order(key engine.RecordKey, body any) engine.SignedRecord {
	m.mu.Lock()
	m.number++
	n := 1<<40 + m.number
	m.mu.Unlock()
	b := engine.Encode(engine.MeshRecord{Key: key, Number: n, Mesh: m.meshID, Body: engine.Encode(body)})
	return engine.SignedRecord{Author: m.id, Record: b, Signature: m.docs.Sign(mesh.Message(b))}
}

// oldRemovals takes everybody else out of the mesh, as of long ago.
func oldRemovals(ctx context.Context, m *Member, _ *Orders) error {
	l := &engine.Letter{}
	for _, h := range m.sites {
		for _, kind := range []engine.RecordKind{engine.RecordRemoval, engine.RecordRevocation} {
			l.Records = append(l.Records, m.order(engine.RecordKey{Kind: kind, About: string(h.id)}, engine.Removal{At: 1}))
		}
	}
	return m.tell(ctx, l)
}

// namesOfOthers lets the member in as of long ago, under the name of another site, and says that it is called so.
func namesOfOthers(ctx context.Context, m *Member, _ *Orders) error {
	name := m.victim().name
	return m.tell(ctx, &engine.Letter{Records: []engine.SignedRecord{
		m.order(engine.RecordKey{Kind: engine.RecordCertificate, About: string(m.id)}, engine.Certificate{Name: name, At: 1, From: 1, Named: 1}),
		m.itself(func(r *engine.SiteRecord) { r.Name, r.At = name, 1 }),
	}})
}

// uninvited is what a key writes that no authority has let in.
const uninvited = "by a key that nobody has let in"

// stranger is a key that the member has made, and that no authority has let in.
func (m *Member) stranger() (*Member, error) {
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return nil, err
	}
	docs, err := crdt.New(key)
	if err != nil {
		return nil, err
	}
	return &Member{id: docs.Self(), said: m.said, docs: docs, rules: m.rules}, nil
}

// describes has a stranger change an object, as of a time, after what it has seen. The change is the first of its line.
func (m *Member) describes(d *document, at time.Time, seen engine.Vector) (*engine.Letter, error) {
	own := &document{id: d.id, about: d.about, raw: d.raw, tip: m.docs.First(d.about, d.id, 0)}
	return m.writes(own, engine.MapOperations, m.operation(own, func(o *engine.Operation) {
		o.Time, o.Seen, o.Body = at.UnixMicro(), seen, fmt.Appendf(nil, `{"description":%s}`, encoded(uninvited))
		o.Edit.Set["/description"] = encoded(uninvited)
	}))
}

// keysOfNobody places an object at the honest sites and two keys that nobody has let in, and brings what these have signed: one makes another
// object of that resource, one changes it.
func keysOfNobody(ctx context.Context, m *Member, _ *Orders) error {
	made, err := m.stranger()
	if err != nil {
		return err
	}
	changed, err := m.stranger()
	if err != nil {
		return err
	}
	at := append(slices.Clone(m.sites), honest{id: made.id}, honest{id: changed.id})
	d, mine, err := m.placed(image(prefix), at...)
	if err != nil {
		return err
	}
	theirs, err := changed.describes(d, time.Now(), engine.Vector{m.line(): 1})
	if err != nil {
		return err
	}
	made.known = map[engine.DocumentID]*document{}
	at[len(at)-2] = honest{id: m.id}
	_, l, err := made.placed(image(uninvited), at...)
	if err != nil {
		return err
	}
	l.Parcels = append(l.Parcels, mine.Parcels...)
	l.Parcels = append(l.Parcels, theirs.Parcels...)
	return m.tell(ctx, l)
}

// oldAdmissions lets in, as of long ago, a key that the member has made. Along with that the key says where it is and changes an object, and the
// member changes it as well, all as of then.
func oldAdmissions(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return errNothing
	}
	other, err := m.stranger()
	if err != nil {
		return err
	}
	l, err := other.describes(d, time.UnixMicro(1), nil)
	if err != nil {
		return err
	}
	l.Records = []engine.SignedRecord{
		m.order(engine.RecordKey{Kind: engine.RecordCertificate, About: string(other.id)}, engine.Certificate{Name: "lyon", At: 1, From: 1, Named: 1}),
		other.itself(func(r *engine.SiteRecord) { r.Name, r.At = "lyon", 1 }),
	}
	if err := m.tell(ctx, l); err != nil {
		return err
	}
	return m.issue(ctx, d, m.operation(d, func(o *engine.Operation) { o.Time = 1 }))
}

// zonesOfOthers has a zone be the member alone, as of the end of time.
func zonesOfOthers(ctx context.Context, m *Member, _ *Orders) error {
	last := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).UnixMicro()
	if m.chance(2) == 0 {
		last = 1<<53 - 1 // the latest that is a time at all
	}
	key := engine.RecordKey{Kind: engine.RecordZone, About: zone}
	return m.tell(ctx, &engine.Letter{Records: []engine.SignedRecord{m.order(key, engine.ZoneRecord{Sites: []engine.SiteID{m.id}, At: last})}})
}

// signStarts has the member ready to say thousands of times that it has started, and is something else each time.
func signStarts(m *Member) {
	m.starts = nil
	for begun := 0; begun < 8300; {
		l := &engine.Letter{}
		for range 2075 {
			begun++
			l.Records = append(l.Records, m.itself(func(r *engine.SiteRecord) { r.Run, r.Version = fmt.Sprint("run", begun), fmt.Sprint(m.chance(1<<30)) }))
		}
		m.starts = append(m.starts, letterFrame(l))
	}
}

// manyStarts says what signStarts has signed.
func manyStarts(ctx context.Context, m *Member, _ *Orders) error {
	to := m.victim()
	for _, b := range m.starts {
		if _, err := m.send(ctx, to, letters, b); err != nil {
			return ignore(err)
		}
	}
	return nil
}

// rivals publishes an object under a name that the honest sites' clients have given one, and says that it was there first.
func rivals(ctx context.Context, m *Member, o *Orders) error {
	if o.Key == "" {
		return errNothing
	}
	about := engine.About{Service: "servers", Kind: "key", Collaboration: engine.Replication, Key: engine.ResourceID(o.Key),
		Placement: []engine.SiteID{m.id, m.victim().id}}
	if about.Placement[0] > about.Placement[1] {
		about.Placement[0], about.Placement[1] = about.Placement[1], about.Placement[0]
	}
	raw, id, err := m.docs.Identify(about)
	if err != nil {
		return err
	}
	m.mu.Lock()
	d := m.known[id]
	if d == nil { // else its line goes on: another beginning would fork it
		d = &document{id: id, about: about, raw: raw, tip: m.docs.First(about, id, 0), part: true, made: true}
		m.known[id] = d
	}
	m.mu.Unlock()
	l, err := m.writes(d, engine.MapOperations, m.operation(d, func(o *engine.Operation) {
		o.Type, o.Method, o.Path, o.Header, o.Time = engine.TypeCreate, "PUT", "/keys/{id}", map[string]string{"Content-Type": "application/json"}, 0
		o.Body = []byte(`{"public":"mallory"}`)
		o.Edit = &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/public": json.RawMessage(`"mallory"`)}}
	}))
	if err != nil {
		return err
	}
	m.mu.Lock()
	d.ops++
	m.mu.Unlock()
	return m.tell(ctx, l)
}

// otherPaths asks for what no catalog names, with headers by which an application may know its user: among them what would have the
// application of lab fail each of its clients.
func otherPaths(ctx context.Context, m *Member, _ *Orders) error {
	paths := []string{"POST /-/faults", "GET /-/requests", "DELETE /-/faults", "POST /images/../-/faults", "POST /images/%2e%2e/-/faults", "POST //-/faults", "GET /admin", "TRACE /images"}
	body := `{"status":500}`
	head := fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nX-Forwarded-User: admin\r\nX-Remote-User: admin\r\nX-Forwarded-For: 127.0.0.1\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", paths[m.chance(len(paths))], len(body))
	b, err := m.send(ctx, m.victim(), requests, []byte(head+body))
	if bytes.HasPrefix(b, []byte("HTTP/1.1 2")) {
		return fmt.Errorf("%w: %.40q is answered with %.200q", errGained, head, b)
	}
	return ignore(err)
}
