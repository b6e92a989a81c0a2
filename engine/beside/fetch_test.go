package beside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// imageKind has content beside its representation.
var imageKind = &engine.Kind{Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/id"},
	Content: []engine.Content{{Read: "/images/{id}/file", Method: "PUT", Write: "/images/{id}/file"}}}

// replicaWith is a replica at the site "a" of a resource that a and b and c share.
func replicaWith(k *engine.Kind, key engine.ResourceID, collaboration engine.Collaboration, ops ...*engine.Operation) *replica.Replica {
	about := engine.About{Service: k.Service, Kind: k.Name, Key: key, Collaboration: collaboration, Placement: []engine.SiteID{"a", "b", "c"}}
	if collaboration == engine.Cross {
		about.Parts = engine.Parts{{"a"}, {"b"}, {"c"}}
	}
	v := view.New("a", engine.DocumentID(key), about, nil, k, siteName)
	v.Epochs = []*view.Epoch{view.NewEpoch(0, engine.Tip{})}
	for _, o := range ops {
		v.AddOperation(o)
	}
	return replica.New(v, replica.Limits{}, false)
}

func siteName(id engine.SiteID) engine.SiteName { return engine.SiteName(strings.ToUpper(string(id))) }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// desktop is the replicas that are looked at, and what they were told.
type desktop struct {
	replicas map[engine.DocumentID]*replica.Replica
	told     []string
	inputs   []replica.Input
}

func (d *desktop) look(_ context.Context, id engine.DocumentID, f func(*replica.Replica)) error {
	r := d.replicas[id]
	if r == nil {
		return engine.ErrNotFound
	}
	f(r)
	return nil
}

func (d *desktop) tell(id engine.DocumentID, in replica.Input) {
	d.inputs = append(d.inputs, in)
	switch in := in.(type) {
	case *replica.News:
		d.told = append(d.told, fmt.Sprintf("%s: %+v", id, *in))
	case *replica.Lacks:
		d.told = append(d.told, fmt.Sprintf("%s lacks %q", id, in.Why))
	case *replica.Ask:
		d.told = append(d.told, fmt.Sprintf("%s: %s %s", id, in.Request.Method, in.Request.Target))
	case *replica.Decide:
		d.told = append(d.told, fmt.Sprintf("%s: remove from %v", id, in.Place.Remove))
	case *replica.Inside:
		d.told = append(d.told, fmt.Sprintf("%s: %d %s in %s", id, len(in.Items), in.Kind.Name, in.Within))
	}
}

// take returns what was told since.
func (d *desktop) take() []string {
	told := d.told
	d.told, d.inputs = nil, nil
	return told
}

// bin keeps blobs.
type bin struct {
	whole   map[engine.BlobHash]bool
	part    map[engine.BlobHash]int64
	begun   int
	dropped []engine.BlobHash
	full    bool
}

func (b *bin) Has(ref engine.BlobRef) bool { return b.whole[ref.Hash] }

func (b *bin) Take(_ context.Context, r io.Reader) (engine.BlobRef, func(), error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return engine.BlobRef{}, nil, fmt.Errorf("take: %w", err)
	}
	ref := refOf(content)
	b.whole[ref.Hash] = true
	return ref, func() {}, nil
}

func refOf(content []byte) engine.BlobRef {
	h := engine.NewBlobHasher()
	h.Write(content)
	ref, _ := h.Sum()
	return ref
}

func (b *bin) Begin(ref engine.BlobRef) (engine.Incoming, error) {
	b.begun++
	if b.full {
		return nil, engine.ErrStorage
	}
	return &coming{bin: b, ref: ref}, nil
}

func (b *bin) Drop(h engine.BlobHash, needed func() (bool, error)) error {
	if is, err := needed(); is || err != nil {
		return err
	}
	delete(b.whole, h)
	delete(b.part, h)
	b.dropped = append(b.dropped, h)
	return nil
}

// coming is a blob of which only the number of chunks counts.
type coming struct {
	bin *bin
	ref engine.BlobRef
}

func (c *coming) Digests() engine.Digests         { return nil }
func (c *coming) SetDigests(engine.Digests) error { return nil }
func (c *coming) Next() int64                     { return c.bin.part[c.ref.Hash] }
func (c *coming) Add([]byte) error                { c.bin.part[c.ref.Hash]++; return nil }
func (c *coming) Done() error                     { c.bin.whole[c.ref.Hash] = true; return nil }
func (c *coming) Close() error                    { return nil }

// shore is the other sites.
type shore struct {
	status map[engine.SiteID]engine.SiteStatus
	// sends is what a site does about a blob of which so many chunks are here; nil: it has none.
	sends map[engine.SiteID]func(into engine.Incoming) error
	asked []engine.SiteID
}

func (s *shore) Status() map[engine.SiteID]engine.SiteStatus { return s.status }

func (s *shore) Fetch(_ context.Context, from engine.SiteID, _ engine.DocumentID, _ engine.BlobRef, into engine.Incoming) error {
	s.asked = append(s.asked, from)
	if f := s.sends[from]; f != nil {
		return f(into)
	}
	return engine.ErrNotFound
}

// gives has a site give so many chunks and then end with an error.
func gives(chunks int, err error) func(engine.Incoming) error {
	return func(into engine.Incoming) error {
		for range chunks {
			if err := into.Add(nil); err != nil {
				return err
			}
		}
		return err
	}
}

// loading is a fetcher and all that is around it.
type loading struct {
	*clock
	*desktop
	*bin
	*shore
	*fetcher
	content []byte
	ref     engine.BlobRef
	needed  bool
	reads   map[engine.SiteID]string
}

func newLoading() *loading {
	content := bytes.Repeat([]byte("0123456789abcdef"), engine.ChunkSize/8) // two chunks
	l := &loading{clock: newClock(), desktop: &desktop{replicas: map[engine.DocumentID]*replica.Replica{}},
		bin:   &bin{whole: map[engine.BlobHash]bool{}, part: map[engine.BlobHash]int64{}},
		shore: &shore{status: map[engine.SiteID]engine.SiteStatus{"b": {Reachable: true, RTT: 5 * time.Millisecond}, "c": {Reachable: true, RTT: time.Millisecond}}, sends: map[engine.SiteID]func(engine.Incoming) error{}},
		ref:   refOf(content), content: content, needed: true, reads: map[engine.SiteID]string{}}
	l.fetcher = newFetcher(fetching{bodies: l.bin, others: l.shore, shown: l, look: l.desktop.look, tell: l.desktop.tell, name: siteName, now: l.clock.now, backoff: seconds,
		needs: func(context.Context, engine.BlobHash) (bool, error) { return l.needed, nil }, maxBlob: 1 << 30, shares: newShares("a", 3<<20), log: quiet()})
	l.replicas["img"] = replicaWith(imageKind, "img", engine.Replication, putFile("put", l.ref))
	return l
}

func putFile(id engine.OperationID, ref engine.BlobRef) *engine.Operation {
	return &engine.Operation{ID: id, Type: engine.TypeAbsolute, Method: "PUT", Path: "/images/{id}/file", Blob: &ref, Line: "b", Origin: "b", Number: 1, Time: 2}
}

func (l *loading) ask(_ context.Context, _ *engine.Kind, _ engine.ResourceID, from engine.SiteID, _ *engine.Content) (engine.Reply, engine.Vector, error) {
	content, ok := l.reads[from]
	if !ok {
		return engine.Reply{Status: 404}, nil, nil
	}
	return engine.Reply{Status: 200, Content: io.NopCloser(strings.NewReader(content))}, nil, nil
}

func (l *loading) wantIt() {
	l.want("img", "put", l.ref, []engine.SiteID{"b", "c"})
	l.run(l.step)
}

func TestABodyComesFromTheNearestSite(t *testing.T) {
	l := newLoading()
	l.sends["b"], l.sends["c"] = gives(2, nil), gives(2, nil)
	l.wantIt()
	told := l.take()
	if !slices.Equal(l.asked, []engine.SiteID{"c"}) || !l.Has(l.ref) {
		t.Errorf("asked %v, it is here: %t", l.asked, l.Has(l.ref))
	}
	if len(told) != 2 || !strings.Contains(told[0], "fetching its body from C: 50 % of 2.0 MiB Bytes:1048576") ||
		told[1] != "img: {Body:put Why: Bytes:0 Hurry:false Look:false NoBody:}" {
		t.Errorf("told:\n%s", strings.Join(told, "\n"))
	}
	if at := l.due.next(); !at.IsZero() {
		t.Errorf("something is due at %s", at)
	}
}

// TestAFetchGoesOnWhereItWasLeft: one site breaks off, the next gives the rest.
func TestAFetchGoesOnWhereItWasLeft(t *testing.T) {
	l := newLoading()
	l.sends["c"] = gives(1, errors.New("the line is cut"))
	l.wantIt()
	if told := l.take(); !strings.Contains(told[len(told)-1], "waits for its body: from C: the line is cut Bytes:1048576") {
		t.Errorf("told %v", told)
	}
	l.sends["c"], l.sends["b"] = nil, gives(1, nil)
	if l.pass(999 * time.Millisecond); l.begun != 1 {
		t.Errorf("begun %d times", l.begun)
	}
	l.pass(time.Millisecond)
	l.run(l.step)
	if told := l.take(); !l.Has(l.ref) || !strings.HasSuffix(told[len(told)-1], "{Body:put Why: Bytes:0 Hurry:false Look:false NoBody:}") {
		t.Errorf("it is here: %t, told %v", l.Has(l.ref), told)
	}
}

func TestAFetchHurriesWhenASiteComesIntoReach(t *testing.T) {
	l := newLoading()
	l.sends["b"] = gives(2, nil)
	l.status["b"] = engine.SiteStatus{}
	l.wantIt()
	for range 5 { // what is told once is not told again
		l.pass(time.Minute)
		l.run(l.step)
	}
	if told := l.take(); len(told) != 1 || !strings.Contains(told[0], "no site that can be reached has it") || strings.Contains(told[0], "NoBody:put") {
		t.Errorf("told %v", told)
	}
	l.wantIt() // said again, it does not hurry
	if l.status["b"] = (engine.SiteStatus{Reachable: true}); l.Has(l.ref) {
		t.Error("it is here")
	}
	l.reached()
	if l.run(l.step); !l.Has(l.ref) {
		t.Error("it is not here")
	}
}

// TestNobodyHasABody: that is said for as long as the replica wants it, and no longer.
func TestNobodyHasABody(t *testing.T) {
	l := newLoading()
	l.wantIt()
	l.pass(time.Second)
	l.run(l.step)
	if told := l.take(); len(told) != 2 || !strings.Contains(told[0], "NoBody:put") || !strings.Contains(told[1], "NoBody:put") {
		t.Errorf("told %v", told)
	}
	l.replicas["img"].Mine.Outcomes["put"] = engine.Outcome{State: engine.StateApplied, Carried: true}
	l.pass(time.Minute)
	l.run(l.step)
	if told := l.take(); len(told) != 1 || strings.Contains(told[0], "NoBody:put") || !l.due.next().IsZero() {
		t.Errorf("told %v, due %s", told, l.due.next())
	}
}

// TestABodyIsReadBack from an application that shows it, where no agent has it any more; other bytes do not count.
func TestABodyIsReadBack(t *testing.T) {
	l := newLoading()
	l.needed = false
	l.reads["b"] = "something else, and longer than what is inline"
	r := l.replicas["img"]
	for _, site := range []engine.SiteID{"b", "c"} {
		if _, err := r.TakeStatus(&engine.Status{Document: "img", Number: 1, Object: true}, engine.SignedStatus{Site: site}); err != nil {
			t.Fatal(err)
		}
	}
	if l.wantIt(); l.Has(l.ref) || !slices.Contains(l.dropped, refOf([]byte(l.reads["b"])).Hash) {
		t.Errorf("it is here: %t, dropped %v", l.Has(l.ref), l.dropped)
	}
	l.needed, l.reads["c"] = true, string(l.content)
	l.pass(time.Second)
	if l.run(l.step); !l.Has(l.ref) {
		t.Errorf("it is not here; told %v", l.take())
	}
}

// TestASiteWaitsForRoomForItsBodies: what one has here bounds it alone, and once that is done with the next comes.
func TestASiteWaitsForRoomForItsBodies(t *testing.T) {
	l := newLoading()
	l.sends["c"] = gives(2, nil)
	l.wantIt() // two of three MiB
	l.take()
	next := func(id engine.OperationID, origin engine.SiteID) engine.BlobRef {
		ref := refOf(bytes.Repeat([]byte(id), 2*engine.ChunkSize/len(id)))
		o := putFile(id, ref)
		o.Origin, o.Line = origin, engine.Line(origin)
		l.replicas[engine.DocumentID(id)] = replicaWith(imageKind, engine.ResourceID(id), engine.Replication, o)
		l.want(engine.DocumentID(id), id, ref, []engine.SiteID{"c"})
		l.run(l.step)
		return ref
	}
	more, others := next("more", "b"), next("else", "c")
	if l.Has(more) || !l.Has(others) {
		t.Errorf("what was one too many is here: %t; what is for another site is: %t", l.Has(more), l.Has(others))
	}
	if told := strings.Join(l.take(), "\n"); !strings.Contains(told, "B has 2.0 MiB of bodies here, and may have 3.0 MiB (limits.members.bodies)") {
		t.Errorf("told %s", told)
	}
	if held := l.shares.held(); held["b"] != 2<<20 || held["c"] != 2<<20 {
		t.Errorf("they have %v", held)
	}
	l.needed = false
	l.drop(l.ref.Hash)
	l.step(t.Context(), l.now())
	l.needed = true
	if l.run(l.step); !l.Has(more) {
		t.Error("there is room, and it does not come")
	}
}

// TestABodyIsFetchedOnceAtATime, for all operations that have it.
func TestABodyIsFetchedOnceAtATime(t *testing.T) {
	l := newLoading()
	l.replicas["other"] = replicaWith(imageKind, "other", engine.Replication, putFile("put-too", l.ref))
	l.want("other", "put-too", l.ref, []engine.SiteID{"b"})
	l.sends["c"] = func(into engine.Incoming) error {
		l.needed = false
		l.drop(l.ref.Hash) // while it comes
		l.step(t.Context(), l.now())
		l.step(t.Context(), l.now())
		l.needed = true
		return gives(2, nil)(into)
	}
	l.wantIt()
	if l.begun != 1 || len(l.dropped) > 0 || !l.Has(l.ref) {
		t.Errorf("begun %d times, dropped %v, it is here: %t", l.begun, l.dropped, l.Has(l.ref))
	}
	all := strings.Join(l.take(), "\n")
	for _, id := range []string{"img: {Body:put Why: ", "other: {Body:put-too Why: "} {
		if !strings.Contains(all, id) {
			t.Errorf("%s was not told:\n%s", id, all)
		}
	}
}

func TestABodyIsNotTakenIn(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*loading)
		want string
	}{
		"too large":      {func(l *loading) { l.maxBlob = 1 << 20 }, "it has 2097152 bytes, and this site takes at most 1048576 (limits.body)"},
		"no room":        {func(l *loading) { l.full = true }, "storage"},
		"something else": {func(l *loading) { l.sends["c"] = gives(0, engine.ErrRefused) }, "from C: refused"},
	} {
		l := newLoading()
		c.set(l)
		l.wantIt()
		if told := l.take(); len(told) != 1 || !strings.Contains(told[0], c.want) || l.due.next().IsZero() {
			t.Errorf("%s: told %v, again %s", name, told, l.due.next())
		}
	}
}

func TestABodyIsLetGo(t *testing.T) {
	l := newLoading()
	l.whole[l.ref.Hash] = true
	l.drop(l.ref.Hash)
	if l.run(l.step); !l.Has(l.ref) {
		t.Error("what is needed is gone")
	}
	l.needed = false
	l.drop(l.ref.Hash)
	if l.run(l.step); l.Has(l.ref) {
		t.Error("what nothing needs is there")
	}
}

func TestInBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1536: "1.5 KiB", 5 << 30: "5.0 GiB", 64 << 40: "65536.0 GiB"} {
		if got := engine.Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
