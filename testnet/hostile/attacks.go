package hostile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/skerry/skerry/engine"
)

// attack is one thing that a member does and must not gain anything by.
type attack struct {
	name string
	do   func(ctx context.Context, m *Member, o *Orders) error
	// yet says why honest sites do not withstand it yet; it is done only where it is asked for by its name.
	yet string
}

// attacks are all that there are. What each must not achieve is for the honest side to see (world_test.go).
var attacks = []attack{
	{name: "garbage", do: throwGarbage},
	{name: "flipped letters", do: flipLetters},
	{name: "replayed letters", do: replayLetters},
	{name: "mutated letters", do: mutateLetters},
	{name: "endless frames", do: endlessFrames},
	{name: "many streams", do: manyStreams},
	{name: "slow bodies", do: slowBodies},
	{name: "forged letters", do: forgeLetters},
	{name: "operations", do: strangeOperations},
	{name: "operations far ahead", do: farAhead},
	{name: "poison", do: poison},
	{name: "statuses", do: strangeStatuses},
	{name: "checkpoints", do: strangeCheckpoints},
	{name: "mesh records", do: manyRecords},
	{name: "wants", do: wantWhatIsNotMine},
	{name: "blobs", do: blobsOfOthers},
	{name: "many documents", do: manyDocuments},
	{name: "early statuses", do: earlyStatuses},
	{name: "wrong clock", do: wrongClock},
	{name: "strangers", do: strangers},
	{name: "requests", do: strangeRequests},
	{name: "fork", do: fork, yet: "which of two changes under one number counts is decided by who heard which first"},
}

func throwGarbage(ctx context.Context, m *Member, _ *Orders) error {
	_, err := m.send(ctx, m.victim(), protocols[m.chance(len(protocols))], garbage[m.chance(len(garbage))])
	return ignore(err)
}

// ignore leaves what the other site has done about it, but that it lets the member in no more.
func ignore(err error) error {
	if shut(err) {
		return err
	}
	return nil
}

// flipLetters sends what an honest site has sent with a few bytes changed.
func flipLetters(ctx context.Context, m *Member, _ *Orders) error {
	heard := m.frames()
	if len(heard) == 0 {
		return nil
	}
	b := slices.Clone(heard[m.chance(len(heard))])
	for range 1 + m.chance(4) {
		b[m.chance(len(b))] ^= 1 << m.chance(8)
	}
	_, err := m.send(ctx, m.victim(), letters, frame(b))
	return ignore(err)
}

// replayLetters sends what honest sites have sent once more, in another order, and much of it at once.
func replayLetters(ctx context.Context, m *Member, _ *Orders) error {
	var all [][]byte
	for _, b := range m.frames() {
		for range 1 + m.chance(3) {
			all = slices.Insert(all, m.chance(len(all)+1), frame(b))
		}
	}
	_, err := m.send(ctx, m.victim(), letters, all...)
	return ignore(err)
}

// mutateLetters takes letters of honest sites apart and puts them together otherwise: parts left out, doubled, exchanged, numbers
// changed, and signed as far as that is the member's to sign.
func mutateLetters(ctx context.Context, m *Member, _ *Orders) error {
	var pool []*engine.Letter
	for _, b := range m.frames() {
		var list []*engine.Letter
		if engine.Decode(b, &list) == nil {
			pool = append(pool, list...)
		}
	}
	if len(pool) == 0 {
		return nil
	}
	l, other := *pool[m.chance(len(pool))], pool[m.chance(len(pool))]
	l.Parcels = slices.Clone(l.Parcels)
	for i := range l.Parcels {
		p := &l.Parcels[i]
		p.Changes = slices.Clone(p.Changes)
		switch m.chance(6) {
		case 0:
			p.Epoch += uint64(m.chance(3))
		case 1:
			if len(other.Parcels) > 0 {
				p.About = other.Parcels[0].About
			}
		case 2:
			slices.Reverse(p.Changes)
		case 3:
			p.Changes = append(p.Changes, p.Changes...)
		case 4:
			for j := range p.Changes {
				p.Changes[j].Line = m.line()
			}
		case 5:
			p.More = true
		}
	}
	switch m.chance(5) {
	case 0:
		l.Sent = nil
	case 1: // to whoever there may be
		for range 1000 {
			l.Sent = append(l.Sent, engine.SiteID(fmt.Sprint("nobody", m.chance(1<<30))))
		}
	case 2:
		l.Statuses = append(slices.Clone(l.Statuses), other.Statuses...)
	case 3:
		l.Batches = slices.Clone(l.Batches)
		for i := range l.Batches {
			l.Batches[i].Site = m.id
		}
	}
	_, err := m.send(ctx, m.victim(), letters, letterFrame(&l))
	return ignore(err)
}

// endlessFrames announces the longest frame there may be, and lets it trickle.
func endlessFrames(ctx context.Context, m *Member, _ *Orders) error {
	zeros := make([]byte, 1<<20)
	head := binary.AppendUvarint(nil, 4<<20)
	_, err := m.send(ctx, m.victim(), protocols[1+m.chance(3)], head, zeros, zeros, zeros)
	return ignore(err)
}

// hold opens streams that begin and stay, as many as go before half of the time is over.
func (m *Member) hold(ctx context.Context, to honest, number int, protocol func(i int) protocol.ID, begin func(s network.Stream)) error {
	opening, cancel := context.WithTimeout(ctx, attackTime/2)
	defer cancel()
	var open []network.Stream
	defer func() {
		for _, s := range open {
			_ = s.Reset()
		}
	}()
	for i := 0; i < number && opening.Err() == nil; i++ {
		s, err := m.stream(opening, to, protocol(i))
		if err != nil {
			if len(open) == 0 {
				return err
			}
			break
		}
		open = append(open, s)
		_ = s.SetDeadline(time.Now().Add(50 * time.Millisecond))
		begin(s)
	}
	return rest(ctx, attackTime/4)
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// manyStreams opens many more streams of all protocols than anybody needs.
func manyStreams(ctx context.Context, m *Member, _ *Orders) error {
	each := func(i int) protocol.ID { return protocols[i%len(protocols)] }
	return m.hold(ctx, m.victim(), 1200, each, func(s network.Stream) { _, _ = s.Write([]byte{5}) })
}

// slowBodies begins 400 requests with a body that never ends, after as much of it as goes through.
func slowBodies(ctx context.Context, m *Member, _ *Orders) error {
	to, body := m.victim(), make([]byte, 256<<10)
	return m.hold(ctx, to, 400, func(int) protocol.ID { return requests }, func(s network.Stream) {
		_, err := fmt.Fprintf(s, "POST /images HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Via: %s\r\nSkerry-Operation: %s\r\nSkerry-Placement: %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", m.id, uuid.Must(uuid.NewV7()), to.id, 64<<20)
		for n := 0; err == nil && n < 4; n++ {
			_, err = s.Write(body)
		}
	})
}

// forgeLetters says things in the names of others.
func forgeLetters(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return nil
	}
	l, _, err := m.written(d, engine.MapOperations, m.operation(d, func(*engine.Operation) {}))
	if err != nil {
		return err
	}
	to := m.victim()
	l.Parcels[0].Changes[0].Line = engine.LineOf(to.id, "1")
	st := m.status(d, func(*engine.Status) {})
	batch := m.docs.SignStatuses([][]byte{engine.Encode(st)})
	batch.Site = to.id
	removal := m.record(engine.RecordKey{Kind: engine.RecordRemoval, About: string(to.id)}, engine.Removal{At: 1})
	removal.Author = m.victim().id
	_, err = m.send(ctx, to, letters, letterFrame(l), letterFrame(&engine.Letter{Batches: []engine.StatusBatch{batch}}),
		letterFrame(&engine.Letter{Records: []engine.SignedRecord{removal}}))
	return ignore(err)
}

// operation is one that would be in order, but for what change makes of it.
func (m *Member) operation(d *document, change func(o *engine.Operation)) *engine.Operation {
	m.mu.Lock()
	n := d.ops + 1
	m.mu.Unlock()
	o := &engine.Operation{ID: engine.OperationID(uuid.Must(uuid.NewV7()).String()), Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}", Number: n,
		Header: map[string]string{"Content-Type": "application/merge-patch+json"}, Body: []byte(`{"description":"by a hostile member"}`), User: "admin",
		Time: time.Now().UnixMicro(), Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/description": json.RawMessage(`"by a hostile member"`)}}}
	change(o)
	return o
}

// issue signs an operation and sends it to all honest sites.
func (m *Member) issue(ctx context.Context, d *document, o *engine.Operation) error {
	l, err := m.writes(d, engine.MapOperations, o)
	if err != nil {
		return err
	}
	m.mu.Lock()
	d.ops = o.Number
	m.mu.Unlock()
	return m.tell(ctx, l)
}

// tell sends a letter to all honest sites.
func (m *Member) tell(ctx context.Context, l *engine.Letter) (shut error) {
	for _, to := range m.sites {
		if _, err := m.send(ctx, to, letters, letterFrame(l)); err != nil {
			shut = ignore(err)
		}
	}
	return shut
}

// strange are operations that no agent makes.
func strange() []func(o *engine.Operation) {
	value := func(v string) *engine.Edit {
		return &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/size": json.RawMessage(v)}}
	}
	deep := engine.Pointer(strings.Repeat("/a", 20_000))
	return []func(o *engine.Operation){
		func(o *engine.Operation) { o.Path = "/images" },
		func(o *engine.Operation) { o.Path = "/images/{id}{id}/start" },
		func(o *engine.Operation) { o.Path = "/../-/requests" },
		func(o *engine.Operation) { o.Header["Authorization"] = "Bearer x" },
		func(o *engine.Operation) { o.Method = "DELETE" },
		func(o *engine.Operation) {
			o.Type, o.Method, o.Edit, o.Body = engine.TypeDelete, "DELETE", nil, nil
			o.Path = "/images"
		},
		func(o *engine.Operation) { o.Number += 7 },
		func(o *engine.Operation) { o.Number = math.MaxUint64 },
		func(o *engine.Operation) { o.Time = math.MaxInt64 },
		func(o *engine.Operation) { o.Time = -1 },
		func(o *engine.Operation) { o.Time = 0 },
		func(o *engine.Operation) {
			o.Edit = &engine.Edit{Set: map[engine.Pointer]json.RawMessage{deep: json.RawMessage("1")}}
		},
		func(o *engine.Operation) { o.Edit = value("{") },
		func(o *engine.Operation) {
			o.Edit = value(`"not a number"`)
			o.Body = []byte(`{"size":"not a number"}`)
		},
		func(o *engine.Operation) { o.Edit = value(strings.Repeat("[", 9000) + strings.Repeat("]", 9000)) },
		func(o *engine.Operation) { o.Edit = value(strings.Repeat("9", 60_000)) },
		func(o *engine.Operation) { o.Seen = engine.Vector{"nobody": 3} },
		func(o *engine.Operation) { o.Keep, o.Edit = true, nil },
		func(o *engine.Operation) { o.Type, o.Method, o.Keep, o.Edit = engine.TypeReplace, "PUT", true, nil },
		func(o *engine.Operation) {
			o.Type, o.Method, o.Path, o.Keep, o.Edit = engine.TypeCreate, "POST", "/images", true, nil
		},
		func(o *engine.Operation) {
			o.Type, o.Method, o.Edit = engine.TypeAbsolute, "PUT", nil
			o.Path += "/file"
			o.Keep = true
		},
		func(o *engine.Operation) {
			o.Type, o.Method, o.Path, o.Edit, o.Body = engine.TypePlace, "", "", nil, nil
			o.Place = &engine.PlacementChange{Remove: []engine.SiteID{"x", "x"}}
		},
		func(o *engine.Operation) {
			o.Blob, o.Body = &engine.BlobRef{Hash: engine.BlobHash(strings.Repeat("0", 64)), Size: 1 << 40}, nil
		},
		func(o *engine.Operation) { o.Whereabouts = slices.Repeat([]engine.Whereabouts{{}}, 64) },
		func(o *engine.Operation) { o.Body = make([]byte, engine.MaxInlineBody) },
		func(o *engine.Operation) { o.Query = "a=\r\nHost: x" },
		func(o *engine.Operation) { o.ID = "not an identifier" },
	}
}

// strangeOperations signs an operation that no agent makes, in a document of the member's own part, or in one in which it has none.
func strangeOperations(ctx context.Context, m *Member, o *Orders) error {
	d := m.anyDocumentOrSecret(o, 4)
	if d == nil {
		return nil
	}
	kinds := strange()
	return m.issue(ctx, d, m.operation(d, kinds[m.chance(len(kinds))]))
}

// secret is a document in which the member has no part, of which it has found out what it begins with.
func (m *Member) secret(o *Orders) *document {
	if len(o.Secrets) == 0 {
		return nil
	}
	s := o.Secrets[m.chance(len(o.Secrets))]
	about := engine.About{Service: "images", Kind: "image", Collaboration: engine.Replication, Key: engine.ResourceID(s.Resource)}
	for _, h := range m.sites {
		about.Placement = append(about.Placement, h.id)
	}
	slices.Sort(about.Placement)
	raw, _, err := m.docs.Identify(about)
	if err != nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.learn(raw)
}

// fork signs two changes under one number, one for each of two sites.
func fork(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return nil
	}
	other, _, err := m.written(d, engine.MapOperations, m.operation(d, func(o *engine.Operation) {
		o.Edit.Set["/description"], o.Body = json.RawMessage(`"another"`), []byte(`{"description":"another"}`)
	}))
	if err != nil {
		return err
	}
	o := m.operation(d, func(*engine.Operation) {})
	l, err := m.writes(d, engine.MapOperations, o)
	if err != nil {
		return err
	}
	m.mu.Lock()
	d.ops = o.Number
	m.mu.Unlock()
	for i, letter := range []*engine.Letter{l, other} {
		if _, err = m.send(ctx, m.sites[i], letters, letterFrame(letter)); err != nil {
			return ignore(err)
		}
	}
	return nil
}

// farAhead dates an operation far ahead of every clock.
func farAhead(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return nil
	}
	return m.issue(ctx, d, m.operation(d, func(o *engine.Operation) { o.Time = time.Now().Add(1000 * time.Hour).UnixMicro() }))
}

// poison signs what can never be sent, or what an application may stumble over.
func poison(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return nil
	}
	return m.issue(ctx, d, m.operation(d, func(o *engine.Operation) {
		switch m.chance(4) {
		case 0:
			o.Header["Content-Encoding"] = "gzip\r\nX-Forwarded-User: admin"
		case 1:
			o.Header["Content-Type"] = "application/json\x00"
		case 2:
			o.Query = "x=\x7f \n"
		case 3:
			o.Header["Content-Language"] = strings.Repeat("x", 60_000)
		}
	}))
}

// status is one that would be in order, but for what change makes of it.
func (m *Member) status(d *document, change func(s *engine.Status)) *engine.Status {
	s := &engine.Status{Document: d.id, Number: uint64(time.Now().UnixNano()), At: time.Now().UnixMicro(), Settled: engine.Vector{}}
	change(s)
	return s
}

// anyDocumentOrSecret returns a document of the member's own or, one time in so many and where it has none, one in which it has no part. Nil: it
// knows neither.
func (m *Member) anyDocumentOrSecret(o *Orders, one int) *document {
	d := m.anyDocument()
	if secret := m.secret(o); secret != nil && (d == nil || m.chance(one) == 0) {
		return secret
	}
	return d
}

// strangeStatuses says things of the member's own replica that are not so.
func strangeStatuses(ctx context.Context, m *Member, o *Orders) error {
	d := m.anyDocumentOrSecret(o, 4)
	if d == nil {
		return nil
	}
	to := m.victim()
	lies := []func(s *engine.Status){
		func(s *engine.Status) { s.Number = math.MaxUint64 },
		func(s *engine.Status) { s.At = math.MaxInt64 },
		func(s *engine.Status) { s.At = math.MinInt64 },
		func(s *engine.Status) {
			s.Epoch, s.Lines = math.MaxUint64, map[engine.Line]engine.Wrote{m.line(): {Changes: math.MaxUint64, Final: math.MaxUint64}}
		},
		func(s *engine.Status) { s.Whole, s.Over, s.Epoch = true, true, 1 },
		func(s *engine.Status) { s.Lines = map[engine.Line]engine.Wrote{m.line(): {Issued: math.MaxUint64}} },
		func(s *engine.Status) {
			s.Lines = map[engine.Line]engine.Wrote{engine.Line(to.id): {Changes: math.MaxUint64}}
		},
		func(s *engine.Status) { s.Settled[engine.Line(to.id)] = math.MaxUint64 },
		func(s *engine.Status) {
			for i := range 1000 {
				s.Settled[engine.Line(fmt.Sprint("nobody", i))] = 1
			}
		},
		func(s *engine.Status) { s.Executed = slices.Repeat([]engine.Fact{{Earlier: "a", Later: "b"}}, 300) },
		func(s *engine.Status) {
			s.Shown = &engine.Shown{Hash: "x", Fold: "y", Steady: true, Since: math.MaxInt64}
		},
		func(s *engine.Status) {
			s.Summary = json.RawMessage(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))
		},
		func(s *engine.Status) {
			s.Waits = slices.Repeat([]engine.Wait{{Kind: engine.WaitKind("nonsense"), Reason: "x"}}, 500)
		},
		func(s *engine.Status) { s.Left = &engine.Left{By: "nobody", At: math.MaxInt64} },
		func(s *engine.Status) { s.Rejoins = true },
		func(s *engine.Status) { s.Holding = &engine.Holding{} },
		func(s *engine.Status) { s.Joined = "nobody" },
		func(s *engine.Status) { s.Asked = math.MaxInt64 },
		func(s *engine.Status) {
			s.Repairs, s.Kept = slices.Repeat([]int64{math.MaxInt64}, 500), slices.Repeat([]int64{math.MinInt64}, 500)
		},
		func(s *engine.Status) {
			s.Outcomes = map[engine.OperationID]engine.Outcome{"x": {State: "nonsense", Blocks: true, Again: true}}
		},
		func(s *engine.Status) { s.Document = engine.DocumentID(strings.Repeat("0", 64)) },
	}
	s := m.status(d, lies[m.chance(len(lies))])
	return m.tell(ctx, &engine.Letter{Batches: []engine.StatusBatch{m.docs.SignStatuses([][]byte{engine.Encode(s)})}})
}

// strangeCheckpoints offers what stands for epochs that there never were.
func strangeCheckpoints(ctx context.Context, m *Member, o *Orders) error {
	d := m.anyDocumentOrSecret(o, 2)
	if d == nil {
		return nil
	}
	to := m.victim()
	whole := m.operation(d, func(o *engine.Operation) { o.Type, o.Method, o.Path = engine.TypeCreate, "POST", "/images" })
	kept := func(list any) map[int]any {
		return map[int]any{1: engine.Vector{engine.Line(to.id): 1000}, 3: time.Now().UnixMicro(), 4: 1, 5: 1000, 7: list}
	}
	many := [][]byte{
		{}, {0xf6}, {0xa0}, {0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		engine.Encode(map[int]any{1: []any{nil}, 2: []any{nil}, 3: []any{nil}, 4: []any{nil}}),
		engine.Encode(map[int]any{1: kept([]any{nil})}),
		engine.Encode(map[int]any{1: kept([]any{map[int]any{1: whole, 2: to.id}})}),
		engine.Encode(map[int]any{1: kept([]any{map[int]any{1: whole, 2: to.id}}), 2: map[engine.SiteID]any{to.id: nil}, 3: []any{nil}, 4: nil, 5: map[int]any{}}),
	}
	return m.tell(ctx, &engine.Letter{Parcels: []engine.Parcel{{About: d.raw, Epoch: 1 + uint64(m.chance(5)), Checkpoint: many[m.chance(len(many))]}}})
}

// manyRecords says as much in the mesh as one may, and more.
func manyRecords(ctx context.Context, m *Member, _ *Orders) error {
	l := &engine.Letter{}
	now := time.Now().UnixMicro()
	for i := range 500 {
		switch n := m.chance(1 << 30); i % 4 {
		case 0:
			l.Records = append(l.Records, m.record(engine.RecordKey{Kind: engine.RecordKind(fmt.Sprint("kind", n))}, make([]byte, 1000)))
		case 1:
			l.Records = append(l.Records, m.record(engine.RecordKey{Kind: engine.RecordInvitation, About: fmt.Sprint(1 + n%64)},
				engine.Invitation{ID: "x", Issuer: m.id, Uses: 1 << 20, ExpiresAt: time.Now().Add(time.Hour), CreatedAt: time.Now()}))
		case 2:
			l.Records = append(l.Records, m.record(engine.RecordKey{Kind: engine.RecordSite}, engine.SiteRecord{Name: engine.SiteName(m.name), At: now, Addresses: []string{"/ip4/127.0.0.1/tcp/1"}}))
		case 3:
			l.Records = append(l.Records, m.record(engine.RecordKey{Kind: engine.RecordSite}, map[int]any{1: 7}))
		}
	}
	_, err := m.send(ctx, m.victim(), letters, letterFrame(l))
	return ignore(err)
}

// wantWhatIsNotMine compares, and asks for documents in which the member has no part. An answer that has anything of one is told.
func wantWhatIsNotMine(ctx context.Context, m *Member, o *Orders) error {
	secret := m.secret(o)
	if secret == nil {
		return nil
	}
	open := opening(m.noise)
	lists := message{1: 4, 6: true}
	b, err := m.send(ctx, m.victim(), compares, open.frame(), lists.frame(), wanting(secret.id).frame(), message{1: 10}.frame())
	if err != nil {
		return ignore(err)
	}
	return o.leaks(b)
}

// leaks says that an answer holds something that is the honest sites' alone.
func (o *Orders) leaks(b []byte) error {
	for _, s := range o.Secrets {
		if i := strings.Index(string(b), s.Content); i >= 0 {
			return fmt.Errorf("%w: %.200q", errGained, b[max(0, i-100):])
		}
	}
	return nil
}

// blobsOfOthers asks for the body of an operation that it has no part in, and for what there cannot be.
func blobsOfOthers(ctx context.Context, m *Member, o *Orders) error {
	secret := m.secret(o)
	if secret == nil {
		return nil
	}
	hash := sha256.Sum256([]byte(secret.about.Key))
	for _, size := range []int64{1 << 20, math.MaxInt64, 0, -1} {
		request := map[int]any{1: secret.id, 2: engine.BlobRef{Hash: engine.BlobHash(hex.EncodeToString(hash[:])), Size: size}, 3: int64(m.chance(3) - 1), 4: true}
		b, err := m.send(ctx, m.victim(), blobs, frame(engine.Encode(request)))
		if shut(err) {
			return err
		}
		if err := o.leaks(b); err != nil {
			return err
		}
	}
	return nil
}

// manyDocuments makes documents that place things at the honest sites. It may; and not without end.
func manyDocuments(ctx context.Context, m *Member, _ *Orders) error {
	placement := []engine.SiteID{m.id}
	for _, h := range m.sites {
		placement = append(placement, h.id)
	}
	slices.Sort(placement)
	l := &engine.Letter{}
	for range 40 {
		about := engine.About{Service: "images", Kind: "image", Collaboration: engine.Replication, Placement: placement, Key: engine.ResourceID(uuid.Must(uuid.NewV7()).String())}
		raw, id, err := m.docs.Identify(about)
		if err != nil {
			return err
		}
		d := &document{id: id, about: about, raw: raw, tip: m.docs.First(about, id, 0), part: true}
		m.mu.Lock()
		m.known[id] = d
		m.mu.Unlock()
		name, _ := json.Marshal(prefix + string(about.Key))
		change, err := m.writes(d, engine.MapOperations, m.operation(d, func(o *engine.Operation) {
			o.Type, o.Method, o.Path, o.Header = engine.TypeCreate, "POST", "/images", map[string]string{"Content-Type": "application/json"}
			o.Body = fmt.Appendf(nil, `{"name":%s}`, name)
			o.Edit = &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/name": name}}
		}))
		if err != nil {
			return err
		}
		d.ops = 1
		l.Parcels = append(l.Parcels, change.Parcels...)
	}
	_, err := m.send(ctx, m.victim(), letters, letterFrame(l))
	return ignore(err)
}

// earlyStatuses tells of documents that nobody has.
func earlyStatuses(ctx context.Context, m *Member, _ *Orders) error {
	var list [][]byte
	for range 1000 {
		id := make([]byte, 32)
		m.noise(id)
		list = append(list, engine.Encode(&engine.Status{Document: engine.DocumentID(hex.EncodeToString(id)), Number: 1, At: 1,
			Summary: json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)}))
	}
	_, err := m.send(ctx, m.victim(), letters, letterFrame(&engine.Letter{Batches: []engine.StatusBatch{m.docs.SignStatuses(list)}}))
	return ignore(err)
}

// wrongClock pretends to another time from now on.
func wrongClock(_ context.Context, m *Member, _ *Orders) error {
	off := []time.Duration{0, 30 * time.Minute, -30 * time.Minute, 50_000 * time.Hour, -50_000 * time.Hour}[m.chance(5)]
	m.mu.Lock()
	m.clock = off
	m.mu.Unlock()
	return nil
}

// strangers knock with keys that nobody has let in, and wrong secrets.
func strangers(ctx context.Context, m *Member, o *Orders) error {
	b := frame(engine.Encode(map[int]any{1: "x", 2: make([]byte, 32), 3: engine.SiteRecord{Name: "nantes"}}))
	answer, err := m.send(ctx, m.victim(), joins, b)
	if err != nil {
		return ignore(err)
	}
	return o.leaks(answer)
}

// strangeRequests asks other agents as no agent does.
func strangeRequests(ctx context.Context, m *Member, o *Orders) error {
	to := m.victim()
	secret := "x"
	if len(o.Secrets) > 0 {
		secret = o.Secrets[m.chance(len(o.Secrets))].Resource
	}
	heads := []string{
		"GET /images HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Via: " + string(m.id) + strings.Repeat(","+string(m.id), 300),
		"GET /images HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Placement: " + strings.Repeat(string(to.id)+";", 400),
		"GET /images HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Aggregate: " + strings.Repeat(string(to.id)+",", 400),
		"GET /images/" + secret + " HTTP/1.1\r\nHost: x\r\nSkerry-Service: nonsense",
		"PATCH /images/" + secret + " HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Operation: not an identifier\r\nContent-Length: 2",
		"POST /images HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
		"GET /api/v1/" + strings.Repeat("x/", 1000) + " HTTP/1.1\r\nHost: x",
		"CONNECT x:1 HTTP/1.1\r\nHost: x\r\nSkerry-Service: images",
		"GET /images HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 2<<20),
		"PRI * HTTP/2.0\r\n\r\nSM",
	}
	b, err := m.send(ctx, to, requests, []byte(heads[m.chance(len(heads))]+"\r\n\r\n{}"))
	if err != nil && len(b) == 0 {
		return ignore(err)
	}
	return nil
}
