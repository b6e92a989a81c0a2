package members

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// Signatures signs and checks records. It is safe for concurrent use.
type Signatures interface {
	// Sign signs with this site's key. Verify checks the signature of a site: engine.ErrRefused.
	Sign(message []byte) []byte
	Verify(site engine.SiteID, message, signature []byte) error
}

// Store keeps the records. See engine.Store for what each method promises.
type Store interface {
	Commit(ctx context.Context, b *engine.Batch) error
	Mesh(ctx context.Context) ([]engine.SignedRecord, error)
}

// Config hands Members all that it works with. Every field is needed, but those that say otherwise.
type Config struct {
	Self      engine.SiteID
	Documents Signatures
	Store     Store
	Log       *slog.Logger
	// Now is the wall clock, NewID makes a new identifier, Random fills b with random bytes.
	Now    func() time.Time
	NewID  func() string
	Random func(b []byte)
	// LeaveWithin is how long the others wait for a site that was removed to say that it shares nothing more (7 days).
	LeaveWithin time.Duration
	// Changed is told what is news, once it is durable; with it, events may have come to the log. Nil: nobody needs it. It is
	// called without a lock, by whoever brought the news, at times by several at once.
	Changed func(mesh.News)
	// Rejoined is called, once, when the others have a record of this site's own that this run has not made: its disk was
	// set back, or another agent runs with its key. Nil: nobody needs it. It is called as Changed is.
	Rejoined func()
}

// Members is what one site knows of the mesh. It is safe for concurrent use. What its methods return must not be changed.
type Members struct {
	Orders
	cfg Config
	run string

	// changing is held by whoever makes a change, until that is durable. It is taken before mu, which is never held while
	// the disk is waited for.
	changing sync.Mutex

	mu      sync.Mutex
	state   *mesh.State
	say     engine.SiteRecord // what this run says of the site; without a name while it has not said anything
	network engine.Network    // nil before Attach
}

var _ engine.Membership = (*Members)(nil)

// New reads from the store what this site knows of the mesh.
func New(ctx context.Context, cfg Config) (*Members, error) {
	if cfg.LeaveWithin == 0 {
		cfg.LeaveWithin = 7 * 24 * time.Hour
	}
	var run [4]byte
	cfg.Random(run[:])
	m := &Members{cfg: cfg, run: hex.EncodeToString(run[:]), state: mesh.New(cfg.Self)}
	m.Orders = Orders{m}
	records, err := cfg.Store.Mesh(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the records of the mesh: %w", err)
	}
	if _, err := m.state.Take(records...); err != nil { // such as of one that is no authority any more
		cfg.Log.Info("records of the mesh on the disk are left out", "err", err)
	}
	was := m.state.Own()
	m.say = engine.SiteRecord{Run: m.run, Coordinate: was.Coordinate, Gone: was.Gone}
	return m, nil
}

// Attach gives it the way to the other sites, which is made after it.
func (m *Members) Attach(n engine.Network) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.network = n
}

// look lets f read the state.
func look[T any](m *Members, f func(*mesh.State) T) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	return f(m.state)
}

// Self is this site.
func (m *Members) Self() engine.SiteID { return m.cfg.Self }

// Run names this run of the agent.
func (m *Members) Run() string { return m.run }

// MeshID identifies the mesh; it is empty before this site belongs to one.
func (m *Members) MeshID() string { return look(m, (*mesh.State).ID) }

// InMesh reports whether this site belongs to a mesh.
func (m *Members) InMesh() bool { return m.MeshID() != "" }

// Members lists the members, by when they joined.
func (m *Members) Members() []engine.Member { return look(m, (*mesh.State).Members) }

// IsMember reports whether a site is a member that may be talked to now: its certificate is good. One that was removed is one until
// it has left.
func (m *Members) IsMember(id engine.SiteID) bool {
	now := m.cfg.Now()
	return look(m, func(s *mesh.State) bool { return s.Good(id, now) })
}

// WasAdmitted reports whether a site is a member, or was one.
func (m *Members) WasAdmitted(id engine.SiteID) bool {
	return look(m, func(s *mesh.State) bool { return s.WasAdmitted(id) })
}

// Fingerprint is that of all records, Records are all of them, in an order in which each can be taken in after those before.
func (m *Members) Fingerprint() engine.Fingerprint { return look(m, (*mesh.State).Fingerprint) }

// Records returns all records that count.
func (m *Members) Records() []engine.SignedRecord { return look(m, (*mesh.State).Records) }

// Name is what people call a site; of one that is unknown, its identifier, shortened.
func (m *Members) Name(id engine.SiteID) engine.SiteName {
	return look(m, func(s *mesh.State) engine.SiteName { return nameOf(s, id) })
}

// nameOf shortens an identifier as libp2p does: all of them begin alike.
func nameOf(s *mesh.State, id engine.SiteID) engine.SiteName {
	const first, last = 2, 6
	name := s.Name(id)
	if n := len(id); name == engine.SiteName(id) && n > first+1+last {
		return name[:first] + "*" + name[n-last:]
	}
	return name
}

// Mismatch says which of some sites have other rules for a kind than others, as far as they have told; empty: none has.
func (m *Members) Mismatch(service engine.ServiceName, kind engine.KindName, sites []engine.SiteID) string {
	return look(m, func(s *mesh.State) string { return s.Mismatch(service, kind, sites) })
}
