package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// maxFetches is how many bodies are fetched at once.
const maxFetches = 4

// bodyJob names the operation whose body is to be fetched.
type bodyJob struct {
	document  DocumentID
	operation OperationID
}

// fetching are the blobs that are being fetched: two documents may refer to one. It is safe for concurrent use.
type fetching struct {
	mu      sync.Mutex
	running map[BlobHash]bool
}

func (f *fetching) start(h BlobHash) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[h] {
		return false
	}
	f.running[h] = true
	return true
}

func (f *fetching) end(h BlobHash) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, h)
}

// lacks reports whether an operation cannot be sent because its body is not here.
func (s *Site) lacks(o *Operation) bool {
	return o != nil && o.Blob != nil && !s.cfg.Blobs.Has(*o.Blob)
}

// wantBodies has the bodies fetched that are needed here sooner or later: while other sites are sure to have them.
func (s *Site) wantBodies(v *view) {
	if !v.large {
		return
	}
	for _, o := range v.history.Living(anyOperation) {
		if !v.settled(s.cfg.Self, o) && s.lacks(o) {
			s.queue.add(job{body: bodyJob{v.document, o.ID}}, 0)
		}
	}
}

// fetchBody brings the body of an operation here, from the nearest site of the placement that has it. It reports whether to try
// again later.
func (s *Site) fetchBody(ctx context.Context, j bodyJob) (again bool, err error) {
	r := s.registry.acquire(j.document)
	defer s.registry.release(r)
	o, lacking, sites, err := s.bodyOf(ctx, r, j.operation)
	if err != nil || o == nil {
		return false, err
	}
	if lacking {
		if !s.fetching.start(o.Blob.Hash) {
			return true, nil
		}
		defer s.fetching.end(o.Blob.Hash)
		defer s.dropBlobOf(ctx, o) // it may have been settled meanwhile
		why := s.fetchFrom(ctx, r, o, sites)
		if errors.Is(why, errNobodyHas) {
			why = s.readBack(ctx, r, o)
		}
		if errors.Is(why, errNobodyHas) {
			if without, err := s.doWithout(ctx, r, o.ID); without || err != nil {
				return err != nil, err
			}
		}
		if why != nil {
			return true, s.tellFetch(ctx, r, o, "waits for its body: "+why.Error(), -1)
		}
	}
	if err := s.tellFetch(ctx, r, o, "", 0); err != nil {
		return true, err
	}
	s.queue.add(job{document: j.document}, 0)
	return false, nil
}

// bodyOf returns the operation whose body is wanted, nil when that is not so any more, whether it is not here, and the sites
// that may have it.
func (s *Site) bodyOf(ctx context.Context, r *resource, id OperationID) (o *Operation, lacking bool, sites []SiteID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return nil, false, nil, err
	}
	if o = v.wantsBody(id); o == nil || o.Blob == nil {
		return nil, false, nil, nil
	}
	if part := v.part(s.cfg.Self); part != partMember && part != partLeaving {
		return nil, false, nil, nil
	}
	sites = slices.DeleteFunc(v.correspondents(), func(id SiteID) bool { return id == s.cfg.Self })
	return o, s.lacks(o), sites, nil
}

// fetchFrom asks one site after the other for a body. The error says for people why it is not here.
func (s *Site) fetchFrom(ctx context.Context, r *resource, o *Operation, sites []SiteID) error {
	if o.Blob.Size > s.cfg.MaxBlob {
		return fmt.Errorf("it has %d bytes, and this site takes at most %d (limits.body)", o.Blob.Size, s.cfg.MaxBlob)
	}
	in, err := s.cfg.Blobs.Begin(*o.Blob)
	if err != nil {
		return err
	}
	defer in.Close()
	if in.Next() == o.Blob.Chunks() { // an earlier process has ended between the last chunk and this
		return in.Done()
	}
	status, asked := s.network.Status(), 0
	var last error
	for _, from := range s.nearest(sites) {
		if !status[from].Reachable {
			continue
		}
		asked++
		err := s.network.Fetch(ctx, from, r.id, *o.Blob, &watched{Incoming: in, s: s, r: r, o: o, from: from})
		switch {
		case errors.Is(err, ErrStorage), ctx.Err() != nil:
			return err
		case in.Next() == o.Blob.Chunks(): // whatever has become of the connection since
			return in.Done()
		case err == nil, errors.Is(err, ErrNotFound):
			continue
		case errors.Is(err, ErrRefused):
			s.cfg.Log.Error("a site gives something else than the body of an operation", "operation", string(o.ID),
				"site", string(s.name(from)), "err", err)
		}
		last = fmt.Errorf("from %s: %w", s.name(from), err)
	}
	switch {
	case last != nil:
		return last
	case asked < len(sites):
		return errors.New("no site that can be reached has it")
	}
	return errNobodyHas
}

var errNobodyHas = errors.New("no site has it any more")

// wantsBody returns the operation of this identifier whose body is to be sent here: the operation itself is, or its create is to make the
// object anew; nil: none. Where a request is there as two operations, one may be settled and the other not.
func (v *view) wantsBody(id OperationID) *Operation {
	if v.outcomes[v.self][id].Carried {
		return nil
	}
	open := func(o *Operation) bool { return o.ID == id && !v.settled(v.self, o) }
	if i := slices.IndexFunc(v.history.ordered, open); i >= 0 {
		return v.history.ordered[i]
	}
	if sends := Next(v.history, v.standing()).sends(); sends == nil || sends.ID != id {
		return nil
	}
	return v.history.Get(id)
}

// readBack brings a body here that no agent has any more from an application that shows it, where the catalog says how that is read:
// what is read there has to be these bytes. The error wraps errNobodyHas when none shows them.
func (s *Site) readBack(ctx context.Context, r *resource, o *Operation) error {
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	kind, key, part, holders := v.kind, v.about.Key, v.kind.contentOf(o), v.holders()
	if v.replica(s.cfg.Self).Bare { // all of the content is copied
		part = nil
	}
	unlock()
	last := errNobodyHas
	if part == nil {
		return last
	}
	for _, from := range s.nearest(holders) {
		a, _, err := s.askContent(ctx, kind, key, from, part)
		if err != nil {
			last = fmt.Errorf("from %s: %w", s.name(from), err)
			continue
		}
		if a.none() {
			continue
		}
		ref, release, err := s.cfg.Blobs.Take(ctx, &bounded{Reader: a.Content, left: o.Blob.Size})
		a.Content.Close()
		switch {
		case errors.Is(err, ErrTooLarge): // it is something else
		case err != nil:
			last = fmt.Errorf("from %s: %w", s.name(from), err)
		default:
			release()
			if ref == *o.Blob {
				return nil
			}
			s.dropBlob(context.WithoutCancel(ctx), ref.Hash)
		}
	}
	return last
}

// doWithout has this site go on without the body of an operation that no site has any more, where it may. It reports whether that
// is so.
func (s *Site) doWithout(ctx context.Context, r *resource, id OperationID) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, err
	}
	o := v.wantsBody(id)
	if o == nil {
		return false, nil
	}
	out, may := v.withoutBody(o)
	settles := out.State == StateRejected && !out.Blocks
	if !may || settles && o.Seq > 1 && !v.replica(v.self).has(o.Line(), o.Seq-1) { // what is settled is counted by line
		return false, nil
	}
	delete(v.fetches, id)
	entries := []Entry{s.outcomeEntry(o, out)}
	if settles {
		entries = append(entries, s.replicaEntry(v, v.local(), o))
	}
	if err := s.write(ctx, r, entries, &Batch{}); err != nil {
		return false, err
	}
	s.queue.add(job{document: r.id}, 0)
	return true, nil
}

// withoutBody is what becomes here of an operation whose body no site has any more. It counts as applied where somebody has accepted
// that when this site was added, and waits where the content of the object is still to be copied, where a site may have the body that
// has not heard that this one was added, and for the last word of one that was removed: it may know why nobody needs the body. Else it
// is refused, so that a person sees it.
func (v *view) withoutBody(o *Operation) (out Outcome, may bool) {
	if v.mayDoWithout(o) {
		return Outcome{State: StateApplied, Carried: true, Error: "no site had its body any more when this one was added"}, true
	}
	me := v.replica(v.self)
	joined := v.history.Get(me.Joined)
	unheard := func(site SiteID) bool {
		return site != v.self && (v.part(site) == partLeaving || joined != nil && !v.settled(site, joined))
	}
	if me.Bare || slices.ContainsFunc(v.correspondents(), unheard) {
		return Outcome{}, false
	}
	return Outcome{State: StateRejected, Error: "no site has its body any more", Blocks: o.Type == TypeCreate}, true
}

// fetched is how far the body of an operation that waits for it has come.
type fetched struct {
	why   string
	bytes int64 // that are here
}

// tellFetch says why an operation waits for its body, and how much of it is here (negative: as much as before); why is empty
// when it waits no more.
func (s *Site) tellFetch(ctx context.Context, r *resource, o *Operation, why string, bytes int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	now := fetched{why, bytes}
	if bytes < 0 {
		now.bytes = v.fetches[o.ID].bytes
	}
	if v.fetches[o.ID] == now {
		return nil
	}
	if why == "" {
		delete(v.fetches, o.ID)
	} else {
		v.fetches[o.ID] = now
	}
	v.touched[o.ID] = true
	return s.store(ctx, r, &Batch{})
}

// watched tells how a fetch gets on.
type watched struct {
	Incoming
	s    *Site
	r    *resource
	o    *Operation
	from SiteID
	told time.Time
}

// tellEvery is how often that is told.
const tellEvery = time.Second

func (w *watched) Add(chunk []byte) error {
	if err := w.Incoming.Add(chunk); err != nil {
		return err
	}
	if now := w.s.cfg.Now(); now.Sub(w.told) >= tellEvery {
		w.told = now
		why := fmt.Sprintf("fetching its body from %s: %d %% of %s", w.s.name(w.from), 100*w.Next()/w.o.Blob.Chunks(), Bytes(w.o.Blob.Size))
		here := min(w.Next()*ChunkSize, w.o.Blob.Size)
		if err := w.s.tellFetch(context.Background(), w.r, w.o, why, here); err != nil {
			w.s.cfg.Log.Error("tell how a fetch gets on", "operation", string(w.o.ID), "err", err)
		}
	}
	return nil
}

// Bytes writes a number of bytes for people.
func Bytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB"}
	f, i := float64(n), 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// needsBlob reports whether some site may still need the body of an operation, as far as is known here: it has not settled it, or
// another operation of the same request, or has refused it and a person may have it tried again.
func (v *view) needsBlob(o *Operation) bool {
	if o.Blob == nil {
		return false
	}
	lives := slices.Contains(v.history.Living(anyOperation), o)
	for _, site := range v.correspondents() {
		out, settled := v.outcomes[site][o.ID], v.settledAt(site)
		refused := (out.State == StateRejected || out.State == StateUncertain) && !out.Dropped && (out.Blocks || !v.history.base.has(o))
		if !settled(o) || lives && refused || v.history.again(o, func(p *Operation) bool { return !settled(p) }) {
			return true
		}
	}
	return false
}

// indexBodiless adds to b the rows of operations that a checkpoint has taken the place of and whose bodies were needed until then.
func (s *Site) indexBodiless(ctx context.Context, v *view, b *Batch) error {
	for _, id := range v.bodiless {
		o := v.history.Get(id)
		if o != nil && (v.touched[id] || v.needsBlob(o)) {
			continue // its row is made anew, or has it right
		}
		row, err := s.cfg.Store.Operation(ctx, id)
		if errors.Is(err, ErrNotFound) || err == nil && !row.NeedsBlob {
			continue
		}
		if err != nil {
			return fmt.Errorf("index of operation %s: %w", id, err)
		}
		row.NeedsBlob = false
		b.Operations, v.unneeded = append(b.Operations, row), append(v.unneeded, row.Blob.Hash)
	}
	return nil
}

// sweepBodies removes what an earlier process has left of bodies that nothing needs.
func (s *Site) sweepBodies(ctx context.Context, all []Kept) error {
	needed, spools := map[BlobHash]bool{}, map[string]bool{}
	hashes, err := s.cfg.Store.NeededBlobs(ctx)
	if err != nil {
		return fmt.Errorf("list the bodies that are needed: %w", err)
	}
	for _, h := range hashes {
		needed[h] = true
	}
	for _, row := range all {
		var e kept
		if err := s.unseal(row.Operation, row.Data, &e); err != nil {
			return fmt.Errorf("read kept operation %s: %w", row.Operation, err)
		}
		spools[e.Spool] = true
	}
	return errors.Join(s.cfg.Blobs.Sweep(needed), s.cfg.Spools.Sweep(spools))
}

// Blob implements Replicas.
func (s *Site) Blob(ctx context.Context, with SiteID, document DocumentID, ref BlobRef, first int64) (Digests, io.ReadCloser, error) {
	if !s.IsMember(with) {
		return nil, nil, ErrNotFound
	}
	shared, err := s.sharesBlob(ctx, with, document, ref)
	if err != nil {
		return nil, nil, err
	}
	if !shared || first < 0 || first > ref.Chunks() {
		return nil, nil, ErrNotFound // whether it exists is not that site's to know
	}
	content, err := s.cfg.Blobs.Open(ref, first)
	if err != nil {
		return nil, nil, err
	}
	digests, err := s.cfg.Blobs.Digests(ref)
	if err != nil {
		return nil, nil, errors.Join(err, content.Close())
	}
	return digests, content, nil
}

// sharesBlob reports whether a site has a part in the document and an operation of it refers to the blob.
func (s *Site) sharesBlob(ctx context.Context, with SiteID, document DocumentID, ref BlobRef) (bool, error) {
	_, v, unlock, err := s.locked(ctx, document)
	defer unlock()
	if err != nil {
		return false, err
	}
	if part := v.part(with); part != partMember && part != partLeaving {
		return false, nil
	}
	return slices.ContainsFunc(v.history.ordered, func(o *Operation) bool { return o.Blob != nil && *o.Blob == ref }), nil
}
