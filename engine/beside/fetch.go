package beside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

const (
	// maxFetches is how many bodies are fetched at once.
	maxFetches = 4
	// tellEvery is how often it is told how a fetch gets on.
	tellEvery = time.Second
)

// bodies is what the fetcher needs of engine.Blobs.
type bodies interface {
	Take(ctx context.Context, r io.Reader) (ref engine.BlobRef, release func(), err error)
	Has(ref engine.BlobRef) bool
	Begin(ref engine.BlobRef) (engine.Incoming, error)
	Drop(h engine.BlobHash, needed func() (bool, error)) error
}

// carrier brings bodies from other sites: an engine.Network.
type carrier interface {
	Status() map[engine.SiteID]engine.SiteStatus
	Fetch(ctx context.Context, from engine.SiteID, document engine.DocumentID, ref engine.BlobRef, into engine.Incoming) error
}

// shower asks another site for content that its application shows: a *copier.
type shower interface {
	ask(ctx context.Context, k *engine.Kind, key engine.ResourceID, from engine.SiteID, part *engine.Content) (engine.Reply, engine.Vector, error)
}

// fetching is what a fetcher works with.
type fetching struct {
	bodies bodies
	others carrier
	shown  shower
	// look lets f look at a replica: Site.Look.
	look func(ctx context.Context, id engine.DocumentID, f func(*replica.Replica)) error
	// needs reports whether anything that is stored needs a blob.
	needs func(ctx context.Context, h engine.BlobHash) (bool, error)
	// tell hands an input to a replica, and does not wait.
	tell    func(engine.DocumentID, replica.Input)
	name    func(engine.SiteID) engine.SiteName
	now     func() time.Time
	backoff func(tries int) time.Duration
	maxBlob int64 // the most bytes of a body
	shares  *shares
	log     *slog.Logger
}

// fetcher brings the large bodies of operations here from the sites that have them, each once at a time, for as long as somebody may
// have it, and lets go of those that nothing needs. It is safe for concurrent use.
type fetcher struct {
	fetching
	due *agenda[fetchKey]

	mu      sync.Mutex
	wishes  map[fetchKey]*wish
	running map[engine.BlobHash]bool // two documents may refer to one
}

// fetchKey names the operation whose body is to be fetched, or a body to let go of.
type fetchKey struct {
	document  engine.DocumentID
	operation engine.OperationID
	drop      engine.BlobHash
}

// wish is that a body be here.
type wish struct {
	ref   engine.BlobRef
	from  []engine.SiteID // who may have it, as far as is known
	times int             // that it was said
	told  replica.News    // what its replica was told last
	room  bool            // it waits for room for bodies of its site
}

func newFetcher(f fetching) *fetcher {
	return &fetcher{fetching: f, due: newAgenda[fetchKey](f.now, f.backoff, maxFetches), wishes: map[fetchKey]*wish{},
		running: map[engine.BlobHash]bool{}}
}

// want begins to fetch the body of an operation, which other sites may have. What comes of it is told to the replica.
func (f *fetcher) want(document engine.DocumentID, operation engine.OperationID, ref engine.BlobRef, from []engine.SiteID) {
	k := fetchKey{document: document, operation: operation}
	f.mu.Lock()
	w := f.wishes[k]
	known := w != nil
	if !known {
		w = &wish{}
		f.wishes[k] = w
	}
	more := slices.ContainsFunc(from, func(s engine.SiteID) bool { return !slices.Contains(w.from, s) })
	w.ref, w.from, w.times = ref, from, w.times+1
	f.mu.Unlock()
	switch {
	case !known:
		f.due.add(k, 0)
	case more:
		f.hurry(func(other *wish) bool { return other == w })
	}
}

// drop lets go of a body that nothing needs any more.
func (f *fetcher) drop(h engine.BlobHash) { f.due.add(fetchKey{drop: h}, 0) }

// reached is to be called when another site has come into reach: it may have what is waited for.
func (f *fetcher) reached() { f.hurry(func(*wish) bool { return true }) }

// step does one thing that is due, and returns when the next is due; zero: nothing is.
func (f *fetcher) step(ctx context.Context, now time.Time) time.Time {
	return f.due.step(now, func(k fetchKey) (again bool) {
		if k.drop != "" {
			f.letGo(ctx, k.drop)
			return false
		}
		return f.fetch(ctx, k)
	})
}

// letGo removes a body, unless something needs it. One that is being fetched is looked at when that ends.
func (f *fetcher) letGo(ctx context.Context, h engine.BlobHash) {
	if !f.start(h) {
		return
	}
	defer f.end(h)
	gone := false
	err := f.bodies.Drop(h, func() (bool, error) {
		needed, err := f.needs(ctx, h)
		gone = !needed && err == nil
		return needed, err
	})
	if err != nil { // it goes with the next start
		f.log.Error("drop a body that nothing needs", "blob", string(h), "err", err)
	}
	if gone && err == nil && f.shares.free(h) {
		f.hurry(func(w *wish) bool { return w.room })
	}
}

// start takes a blob for itself; false: somebody has it.
func (f *fetcher) start(h engine.BlobHash) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[h] {
		return false
	}
	f.running[h] = true
	return true
}

func (f *fetcher) end(h engine.BlobHash) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, h)
}

// wanted is what is to be known of a body that is wanted.
type wanted struct {
	operation *engine.Operation
	sites     []engine.SiteID // that may have it
	// part is the part of the content of key that the body is, nil where it is none or all of that is to be copied; holders have it.
	kind    *engine.Kind
	key     engine.ResourceID
	part    *engine.Content
	holders []engine.SiteID
}

// wantedOf returns what an operation of a replica lacks, nil when its body is not wanted here any more.
func wantedOf(r *replica.Replica, id engine.OperationID) *wanted {
	if part := r.Part(r.Self); part != view.PartMember && part != view.PartLeaving {
		return nil
	}
	o, sites := r.WantsBody(id)
	if o == nil {
		return nil
	}
	w := &wanted{operation: o, sites: sites, kind: r.Kind, key: r.About.Key, holders: view.HoldersOf(r.View)}
	if !r.Me.Bare {
		w.part = plan.ContentOf(r.Kind, o)
	}
	return w
}

// fetch brings the body of an operation here. It reports whether to try again later.
func (f *fetcher) fetch(ctx context.Context, k fetchKey) (again bool) {
	said := f.said(k)
	var w *wanted
	err := f.look(ctx, k.document, func(r *replica.Replica) { w = wantedOf(r, k.operation) })
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		if ctx.Err() == nil {
			f.log.Error("fetch the body of an operation", "document", string(k.document), "operation", string(k.operation), "err", err)
		}
		return true
	}
	if w == nil {
		ends, waits := f.forget(k, said)
		if waits {
			f.tell(k.document, &replica.News{Body: k.operation})
		}
		return !ends
	}
	ref := *w.operation.Blob
	if !f.bodies.Has(ref) {
		if !f.start(ref.Hash) {
			return true // it comes for another operation
		}
		here, err := f.bring(ctx, k, w)
		f.end(ref.Hash)
		f.drop(ref.Hash) // it may have been settled meanwhile
		if err != nil {
			f.failed(ctx, k, here, err)
			return true
		}
		f.hurry(func(w *wish) bool { return w.ref == ref })
	}
	f.forget(k, f.said(k))
	f.tell(k.document, &replica.News{Body: k.operation})
	return false
}

// hurry has those wishes looked at now that match selects.
func (f *fetcher) hurry(match func(*wish) bool) {
	f.mu.Lock()
	keys := map[fetchKey]bool{}
	for k, w := range f.wishes {
		keys[k] = match(w)
	}
	f.mu.Unlock()
	f.due.hurry(func(k fetchKey) bool { return keys[k] })
}

// said counts how often a wish was said.
func (f *fetcher) said(k fetchKey) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.wishes[k]; w != nil {
		return w.times
	}
	return 0
}

// forget ends a wish, unless it was said again meanwhile. Waits says that the replica was told why it waits.
func (f *fetcher) forget(k fetchKey, said int) (ends, waits bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.wishes[k]
	if w != nil && w.times != said {
		return false, false
	}
	delete(f.wishes, k)
	return true, w != nil && w.told.Why != ""
}

// failed tells why an operation waits for its body, of which so many bytes are here.
func (f *fetcher) failed(ctx context.Context, k fetchKey, here int64, err error) {
	if ctx.Err() != nil {
		return
	}
	news := replica.News{Body: k.operation, Why: "waits for its body: " + err.Error(), Bytes: here}
	if errors.Is(err, errNobodyHas) {
		news.NoBody = k.operation
	}
	f.mu.Lock()
	if w := f.wishes[k]; w != nil {
		w.room = errors.Is(err, errNoRoom)
	}
	f.mu.Unlock()
	f.say(k, news)
}

// say tells a replica how the body of an operation gets on, where that is news.
func (f *fetcher) say(k fetchKey, news replica.News) {
	f.mu.Lock()
	w := f.wishes[k]
	same := w == nil || w.told == news && news.NoBody == "" // one that was loaded anew knows of nothing
	if !same {
		w.told = news
	}
	f.mu.Unlock()
	if !same {
		f.tell(k.document, &news)
	}
}

var errNobodyHas = errors.New("no site has it any more")

// bring brings a body here from the nearest site that has it, else from an application that shows it. The error says for people why it
// is not here; here is how many bytes of it are.
func (f *fetcher) bring(ctx context.Context, k fetchKey, w *wanted) (here int64, err error) {
	ref := *w.operation.Blob
	if ref.Size > f.maxBlob {
		return 0, fmt.Errorf("it has %d bytes, and this site takes at most %d (limits.body)", ref.Size, f.maxBlob)
	}
	if err := f.shares.take(ref, w.operation.Origin, f.name); err != nil {
		return 0, err
	}
	here, err = f.fetchFrom(ctx, k, ref, w.sites)
	if errors.Is(err, errNobodyHas) {
		err = f.readBack(ctx, w)
	}
	return here, err
}

// fetchFrom asks one site after the other for a body.
func (f *fetcher) fetchFrom(ctx context.Context, k fetchKey, ref engine.BlobRef, sites []engine.SiteID) (here int64, err error) {
	in, err := f.bodies.Begin(ref)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if in.Next() == ref.Chunks() { // an earlier process has ended between the last chunk and this
		return ref.Size, in.Done()
	}
	status, asked := f.others.Status(), 0
	var last error
	for _, from := range byDistance(sites, status) {
		if !status[from].Reachable {
			continue
		}
		asked++
		err := f.others.Fetch(ctx, from, k.document, ref, &watched{Incoming: in, f: f, k: k, ref: ref, from: from})
		if errors.Is(err, engine.ErrStorage) || ctx.Err() != nil {
			return here, errors.Join(err, ctx.Err())
		}
		here = arrived(in, ref)
		switch {
		case in.Next() == ref.Chunks(): // whatever has become of the connection since
			return here, in.Done()
		case err == nil, errors.Is(err, engine.ErrNotFound):
			continue
		case errors.Is(err, engine.ErrRefused):
			f.log.Error("a site gives something else than the body of an operation", "operation", string(k.operation), "site", string(f.name(from)), "err", err)
		}
		last = fmt.Errorf("from %s: %w", f.name(from), err)
	}
	switch {
	case last != nil:
		return here, last
	case asked < len(sites):
		return here, errors.New("no site that can be reached has it")
	}
	return here, errNobodyHas
}

// byDistance orders sites by how long a round trip to them takes; those of which that is not known come last.
func byDistance(sites []engine.SiteID, status map[engine.SiteID]engine.SiteStatus) []engine.SiteID {
	far := func(s engine.SiteID) time.Duration {
		if rtt := status[s].RTT; rtt > 0 {
			return rtt
		}
		return time.Hour
	}
	sites = slices.Clone(sites)
	slices.SortStableFunc(sites, func(a, b engine.SiteID) int { return cmp.Compare(far(a), far(b)) })
	return sites
}

// arrived is how many bytes of a blob are here.
func arrived(in engine.Incoming, ref engine.BlobRef) int64 {
	return min(in.Next()*engine.ChunkSize, ref.Size)
}

// readBack brings a body here that no agent has any more from an application that shows it, where the catalog says how that is read:
// what is read there has to be these bytes. The error wraps errNobodyHas when none shows them.
func (f *fetcher) readBack(ctx context.Context, w *wanted) error {
	last := errNobodyHas
	if w.part == nil {
		return last
	}
	ref := *w.operation.Blob
	for _, from := range byDistance(w.holders, f.others.Status()) {
		a, _, err := f.shown.ask(ctx, w.kind, w.key, from, w.part)
		if err != nil {
			last = fmt.Errorf("from %s: %w", f.name(from), err)
			continue
		}
		if none(a) {
			continue
		}
		got, release, err := f.bodies.Take(ctx, &bounded{Reader: a.Content, left: ref.Size})
		a.Content.Close()
		switch {
		case errors.Is(err, engine.ErrTooLarge): // it is something else
		case err != nil:
			last = fmt.Errorf("from %s: %w", f.name(from), err)
		default:
			release()
			if got == ref {
				return nil
			}
			f.drop(got.Hash)
		}
	}
	return last
}

// watched tells how a fetch gets on.
type watched struct {
	engine.Incoming
	f    *fetcher
	k    fetchKey
	ref  engine.BlobRef
	from engine.SiteID
	told time.Time
}

func (w *watched) Add(chunk []byte) error {
	if err := w.Incoming.Add(chunk); err != nil {
		return err
	}
	if now := w.f.now(); now.Sub(w.told) >= tellEvery {
		w.told = now
		w.f.say(w.k, replica.News{Body: w.k.operation, Bytes: arrived(w.Incoming, w.ref), Why: fmt.Sprintf(
			"fetching its body from %s: %d %% of %s", w.f.name(w.from), 100*w.Next()/w.ref.Chunks(), engine.Bytes(w.ref.Size))})
	}
	return nil
}
