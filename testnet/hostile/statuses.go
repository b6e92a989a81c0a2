package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

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
		return errNothing
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
		return errNothing
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
	for i := range 500 {
		switch n := m.chance(1 << 30); i % 4 {
		case 0:
			l.Records = append(l.Records, m.record(engine.RecordKey{Kind: engine.RecordKind(fmt.Sprint("kind", n))}, make([]byte, 1000)))
		case 1:
			l.Records = append(l.Records, m.record(engine.RecordKey{Kind: engine.RecordInvitation, About: fmt.Sprint(1 + n%64)},
				engine.Invitation{ID: "x", Issuer: m.id, Uses: 1 << 20, ExpiresAt: time.Now().Add(time.Hour), CreatedAt: time.Now()}))
		case 2:
			l.Records = append(l.Records, m.itself(func(r *engine.SiteRecord) { r.Addresses = append(r.Addresses[:1:1], "/ip4/127.0.0.1/tcp/1") }))
		case 3:
			l.Records = append(l.Records, m.record(engine.RecordKey{Kind: engine.RecordSite}, map[int]any{1: 7}), m.itself())
		}
	}
	_, err := m.send(ctx, m.victim(), letters, letterFrame(l))
	return ignore(err)
}
