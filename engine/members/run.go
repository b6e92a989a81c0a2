package members

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// Every run of an agent says its name in the site's record when it starts. A run that hears a record of its site that it has not
// made says its own again, and with it which runs it has heard of. Who finds its own name so has proof that the other lives:
// it was heard. A lost run never answers, and no clock is asked (mesh.Meet).

// ErrCloned is what is answered instead of any write, once another agent has been found that runs with this site's key.
var ErrCloned = &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "cloned", Detail: "another agent is running with this " +
	"site's key, from a copy of its data directory: both have stopped writing. Stop one of them for good and restart the other; " +
	"to make a new site of the copy, empty its data directory and invite it; nothing has happened"}

// Cloned reports whether another agent has been found that runs with this site's key.
func (m *Members) Cloned() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.say.Cloned
}

// Writable returns ErrCloned once another agent has been found that runs with this site's key.
func (m *Members) Writable() error {
	if m.Cloned() {
		return ErrCloned
	}
	return nil
}

// meet sees to records of this site's own that others have brought.
func (d *draft) meet() error {
	if len(d.news.Own) == 0 {
		return nil
	}
	cloned := false
	if slices.ContainsFunc(d.news.Own, func(k engine.RecordKey) bool { return k.Kind == engine.RecordSite }) {
		d.say, cloned = mesh.Meet(d.say, d.Own())
	}
	log, run := d.m.cfg.Log, d.say.Run
	if cloned {
		d.event("site.cloned", d.Self(), "run", run)
		d.after = append(d.after, func() {
			log.Error("another agent runs with this site's key, from a copy of its data directory: nothing is written any more; "+
				"stop one of them for good and restart the other", "run", run)
		})
	} else if d.rejoins() && d.m.cfg.Rejoined != nil {
		d.after = append(d.after, d.m.cfg.Rejoined)
	}
	return d.announce()
}

// insist has a site that has found its copy say so again where the copy, which does not know yet, has spoken after it: under one key
// what is said later takes the place of what was said before, and nobody would ever tell the copy. It ends once both know. Nothing else
// is taken in: ErrCloned.
func (m *Members) insist(ctx context.Context, records []engine.SignedRecord) error {
	err := m.alter(ctx, func(d *draft) error {
		own := slices.DeleteFunc(slices.Clone(records), func(r engine.SignedRecord) bool { return r.Author != d.Self() })
		if err := d.hear(own); err != nil {
			return err
		}
		copied := d.Own()
		if len(d.news.Own) == 0 || copied.Cloned || copied.Run == d.say.Run {
			return ErrCloned
		}
		d.say, _ = mesh.Meet(d.say, copied)
		return d.announce()
	})
	return cmp.Or(err, error(ErrCloned))
}

// Rejoins tells all members, once, that this site's disk was set back: it was found to be so by what others have of its resources.
func (m *Members) Rejoins(ctx context.Context) error {
	return m.change(ctx, func(d *draft) error {
		if d.rejoins() {
			return d.announce()
		}
		return nil
	})
}

// rejoins notes that the site's disk was set back; first says that it was not known.
func (d *draft) rejoins() (first bool) {
	if d.say.Rejoined != 0 {
		return false
	}
	d.say.Rejoined = d.now.UnixMicro()
	d.event("site.restored", d.Self(), "run", d.say.Run)
	log, run := d.m.cfg.Log, d.say.Run
	d.after = append(d.after, func() {
		log.Warn("this site was restored from a backup, or another agent runs with its key: other sites know what it has said since; "+
			"it takes what it shares from them anew", "run", run)
	})
	return true
}
