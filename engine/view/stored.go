package view

import (
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// Kept is what is stored of a view beside its changes, its statuses and its checkpoint.
type Kept struct {
	Me   *engine.Status `cbor:"1,keyasint"`
	Mine *Mine          `cbor:"2,keyasint"`
	// Doing is the encoding of what package replica is about to do or waits for.
	Doing []byte `cbor:"3,keyasint,omitempty"`
}

// Kept returns what is to be stored of the view, with what package replica adds to it.
func (v *View) Kept(doing []byte) []byte {
	return engine.Encode(&Kept{Me: &v.Me, Mine: &v.Mine, Doing: doing})
}

// Restore takes in what was stored by Kept; it returns what package replica had added.
func (v *View) Restore(b []byte) (doing []byte, err error) {
	k := Kept{Me: &engine.Status{}, Mine: &Mine{}}
	if err := engine.Decode(b, &k); err != nil {
		return nil, fmt.Errorf("read what is kept of %s: %w", v.About.Key, err)
	}
	v.Account.restore(*k.Me, *k.Mine, v.Document)
	return k.Doing, nil
}

// RestoreStatuses takes in the stored statuses of other sites.
func (v *View) RestoreStatuses(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	var list []engine.SignedStatus
	if err := engine.Decode(b, &list); err != nil {
		return fmt.Errorf("read the statuses of %s: %w", v.About.Key, err)
	}
	for _, s := range list {
		st := new(engine.Status)
		if err := engine.Decode(s.Status, st); err != nil {
			return fmt.Errorf("read the statuses of %s: %w", v.About.Key, err)
		}
		v.let(s.Site) // it was, when it was taken in
		if _, err := v.TakeStatus(st, s); err != nil {
			return err
		}
	}
	return nil
}

// Digest is what anti-entropy compares of the resource between this site and another one that shares it: it counts the changes and the
// statuses that are here.
func (v *View) Digest() engine.Fingerprint {
	sum := v.Statuses.digest
	sum.Add(digestOf(v.Self, v.Me.Number))
	for _, e := range v.Epochs {
		sum.Add(e.digest)
	}
	sum.Add(v.ForkedLines.digest())
	return sum
}

// Shared tells with whom the resource is shared: with peers it is compared as it is; with each of apart, of which or of this
// site one has left, only that last word is compared, for good.
func (v *View) Shared() (peers []engine.SiteID, apart map[engine.SiteID]engine.Fingerprint) {
	mine := v.Part(v.Self)
	if mine == PartNone {
		return nil, nil
	}
	if v.settled() && mine == PartMember {
		return v.Others(), nil
	}
	for _, s := range v.Writers() {
		if s == v.Self || v.Part(s) == PartNone { // what adds it is held back here
			continue
		}
		last := lastWords(v, s)
		switch {
		case last != engine.Fingerprint{} && (cameAfter(v, v.Self, s) || cameAfter(v, s, v.Self)):
		case last != engine.Fingerprint{}:
			if apart == nil {
				apart = map[engine.SiteID]engine.Fingerprint{}
			}
			apart[s] = last
		case mine == PartFormer:
		case v.Part(s) == PartMember || v.Part(s) == PartLeaving:
			peers = append(peers, s)
		}
	}
	return peers, apart
}

// cameAfter reports whether a site was added, for the first time, after another one had left, and had said so: that one hears of it no more.
func cameAfter(v *View, s, left engine.SiteID) bool {
	p, last := v.Placement(), v.newestOf(left)
	by := p.Added[s]
	return by != nil && p.Removed[s] == nil && v.Part(s) != PartFormer && last.Left != nil && !by.In(last.Settled)
}

// lastWords is the digest of the last words between this site and another; zero when neither has left. It is none of a resource of which
// the last words alone are here: what they were said of is still to come there. Who has left gets nothing more, so it goes by the word alone.
func lastWords(v *View, s engine.SiteID) engine.Fingerprint {
	var f engine.Fingerprint
	left := v.Part(v.Self) == PartFormer
	if left {
		f.Add(digestOfLast(v.Self, v.Me.Number))
	}
	if v.Part(s) == PartFormer || left && v.newestOf(s).Left != nil {
		f.Add(digestOfLast(s, v.newestOf(s).Number))
	}
	return f
}

// Have tells what is here of the resource.
func (v *View) Have() engine.Have {
	h := engine.Have{Document: v.Document, Changes: map[uint64]map[engine.Line]uint64{}, Statuses: map[engine.SiteID]uint64{}}
	for _, e := range v.Epochs {
		lines := make(map[engine.Line]uint64, len(e.Lines))
		for l, t := range e.Lines {
			lines[l] = t.Number
		}
		h.Changes[e.Number] = lines
	}
	for l, f := range v.Forks {
		if h.Forks == nil {
			h.Forks = engine.Forks{}
		}
		h.Forks[l] = engine.Fork{Line: l, Epoch: f.Epoch, Number: f.Number}
	}
	for s, heard := range v.Statuses.of {
		h.Statuses[s] = heard.status.Number
	}
	if v.Me.Number > 0 {
		h.Statuses[v.Self] = v.Me.Number
	}
	return h
}

// Settle says that operations need nothing more here, and with them what came after them in their lines and a checkpoint alone stands for.
func Settle(v *View, ops ...*engine.Operation) {
	v.Settle(ops...)
	base := v.History.Base()
	if base == nil {
		return
	}
	for _, o := range ops {
		l, next := o.Line, base.Seen[o.Line]
		for _, other := range v.History.Ordered() {
			if other.Line == l && other.Number > v.Me.Settled[l] {
				next = min(next, other.Number-1)
			}
		}
		if next > v.Me.Settled[l] {
			v.Me.Settled[l] = next
		}
	}
}

// Foundation is what is kept of epochs that are over: the checkpoint, and what else of them still counts.
type Foundation struct {
	Checkpoint merge.Checkpoint                 `cbor:"1,keyasint"`
	Decisions  []engine.Decision                `cbor:"3,keyasint,omitempty"`
	Contents   map[engine.SiteID][]engine.Inner `cbor:"4,keyasint,omitempty"`
	Replicas   map[engine.SiteID]engine.Replica `cbor:"5,keyasint,omitempty"`
	Writers    []engine.SiteID                  `cbor:"6,keyasint"`
}

// Found returns the foundation of the current epoch: what stands for all before it.
func (v *View) Found() (*Foundation, []byte, error) {
	f := &Foundation{Checkpoint: *v.History.Base(), Decisions: v.Decisions.list(), Contents: v.Contents.kept(), Writers: v.Writers(),
		Replicas: map[engine.SiteID]engine.Replica{}}
	for site, said := range v.Said {
		f.Replicas[site] = said.Replica
	}
	b := engine.Encode(f)
	if len(b) > engine.MaxCheckpoint {
		return nil, nil, fmt.Errorf("the checkpoint of %s: %w: %d bytes", v.About.Key, engine.ErrTooLarge, len(b))
	}
	return f, b, nil
}

// Begin makes the view begin with a foundation, which may come from another site: the error wraps ErrRefused.
func (v *View) Begin(b []byte) error {
	var f Foundation
	if err := engine.Decode(b, &f); err != nil {
		return fmt.Errorf("read the checkpoint of %s: %w", v.About.Key, err)
	}
	if err := f.validate(); err != nil {
		return fmt.Errorf("read the checkpoint of %s: %w", v.About.Key, err)
	}
	v.let(f.Writers...)
	v.History.Stand(&f.Checkpoint)
	for _, d := range f.Decisions {
		v.Decisions.take(d)
	}
	for site, list := range f.Contents {
		for _, c := range list {
			if err := v.Contents.take(site, c, place{}); err != nil {
				return fmt.Errorf("read the checkpoint of %s: %w", v.About.Key, err)
			}
		}
	}
	for site, r := range f.Replicas {
		v.Said[site] = Said{r, v.Said[site].in}
	}
	for _, o := range v.History.Ordered() {
		v.Large = v.Large || o.Blob != nil
	}
	v.placed = nil
	v.CreatedAt = time.UnixMicro(f.Checkpoint.First).UTC()
	return nil
}

func (f *Foundation) validate() error {
	if len(f.Writers) > engine.MaxPlaced*4 {
		return fmt.Errorf("%w: %d writers", engine.ErrRefused, len(f.Writers))
	}
	for _, s := range f.Writers {
		if s == "" || len(s) > engine.MaxSiteID {
			return fmt.Errorf("%w: a writer that is no site", engine.ErrRefused)
		}
	}
	return f.Checkpoint.Validate()
}
