package hostile

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/skerry/skerry/engine"
)

// forgeLetters says things in the names of others.
func forgeLetters(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return errNothing
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
		return errNothing
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

// farAhead dates an operation far ahead of every clock.
func farAhead(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return errNothing
	}
	return m.issue(ctx, d, m.operation(d, func(o *engine.Operation) { o.Time = time.Now().Add(1000 * time.Hour).UnixMicro() }))
}

// poison signs what can never be sent, or what an application may stumble over.
func poison(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return errNothing
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
