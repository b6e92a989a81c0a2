package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// twin is what this run of the agent knows of other runs under its key: of one that is lost, because the site was restored
// from a backup, or of one that is live elsewhere, because its data directory was copied. It is safe for concurrent use.
//
// Every run writes its name into the site's record in the mesh document when it starts. A run that hears of a name it
// does not know writes its record anew, and says there which names it has heard. Whoever finds its own name so has proof that
// the other lives: it was heard. A lost run never answers, and no clock is asked.
type twin struct {
	mu       sync.Mutex
	restored time.Time
	cloned   bool
	// looking are the documents of which it is not known yet what the application shows of the lost run's work.
	looking map[DocumentID]bool
}

// ErrCloned is what is answered instead of any write, once another agent has been found that runs with this site's key.
var ErrCloned = &Refusal{Status: http.StatusServiceUnavailable, Type: "cloned", Detail: "another agent is running with this " +
	"site's key, from a copy of its data directory: both have stopped writing. Stop one of them for good and restart the other; " +
	"to make a new site of the copy, empty its data directory and invite it; nothing has happened"}

func (t *twin) isCloned() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cloned
}

func (t *twin) wasRestored() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.restored.IsZero()
}

// takesBack notes that a lost run's changes have come; first says that they are the first.
func (t *twin) takesBack(now time.Time) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first = t.restored.IsZero(); first {
		t.restored = now
	}
	return first
}

// looks notes that what a document has is to be looked for, unless clients have chosen its identifier; looked that it was.
func (t *twin) looks(v *view) {
	if v.kind.Natural() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.looking == nil {
		t.looking = map[DocumentID]bool{}
	}
	t.looking[v.document] = true
}

func (t *twin) looked(id DocumentID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.looking, id)
}

// busy reports whether something is still to be looked for. Until then nothing is made whose identifier the application
// assigns: one that was restored may assign the same ones again, and what it makes would be taken for what is looked for.
func (t *twin) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.looking) > 0
}

// Writable returns ErrCloned once another live agent has been found that has this site's key.
func (s *Site) Writable() error {
	if s.twin.isCloned() {
		return ErrCloned
	}
	return nil
}

// toldRestored tells all members, once, that this site was restored from a backup.
func (s *Site) toldRestored(ctx context.Context) error {
	now := s.cfg.Now()
	if !s.twin.takesBack(now) {
		return nil
	}
	s.cfg.Log.Warn("this site was restored from a backup: other sites know changes that it made since; it takes them back and looks "+
		"what its application shows of them", "run", s.runID)
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	record := s.ownRecord()
	record.Restored = now
	if err := s.writeRecord(ctx, record); err != nil {
		return fmt.Errorf("tell that the site was restored: %w", err)
	}
	return s.commit(ctx, &Batch{Events: []Event{s.event("site.restored", string(s.name(s.cfg.Self)),
		map[string]any{"site": s.name(s.cfg.Self), "run": s.runID})}})
}

// meetTwin looks for other runs in this site's record and answers them. The caller holds mesh.change.
func (s *Site) meetTwin(ctx context.Context) error {
	if s.twin.isCloned() {
		return nil
	}
	values, err := s.cfg.Documents.Values(ctx, s.mesh.documentID(), MapSites, string(s.cfg.Self))
	if err != nil {
		return fmt.Errorf("read this site's record: %w", err)
	}
	record := s.ownRecord()
	known, cloned := len(record.Heard), false
	for _, b := range values {
		var other SiteRecord
		if err := json.Unmarshal(b, &other); err != nil || other.Run == s.runID {
			continue
		}
		if !slices.Contains(record.Heard, other.Run) {
			record.Heard = append(slices.Clone(record.Heard), other.Run)
		}
		cloned = cloned || slices.Contains(other.Heard, s.runID)
	}
	if !cloned && len(record.Heard) == known && len(values) < 2 {
		return nil
	}
	record.Cloned = cloned
	if err := s.writeRecord(ctx, record); err != nil {
		return fmt.Errorf("answer another run under this site's key: %w", err)
	}
	if !cloned {
		return nil
	}
	s.twin.mu.Lock()
	s.twin.cloned = true
	s.twin.mu.Unlock()
	s.cfg.Log.Error("another agent runs with this site's key, from a copy of its data directory: nothing is written any more; "+
		"stop one of them for good and restart the other", "run", s.runID)
	return s.commit(ctx, &Batch{Events: []Event{s.event("site.cloned", string(s.name(s.cfg.Self)),
		map[string]any{"site": s.name(s.cfg.Self), "run": s.runID})}})
}

// ownRecord is what this run says of the site. The caller holds mesh.change.
func (s *Site) ownRecord() SiteRecord {
	s.mesh.mu.RLock()
	defer s.mesh.mu.RUnlock()
	return s.mesh.own
}

// writeRecord publishes what this site says of itself. The caller holds mesh.change.
func (s *Site) writeRecord(ctx context.Context, r SiteRecord) error {
	r.At = s.cfg.Now()
	if err := s.writeMesh(ctx, Entry{Map: MapSites, Key: string(s.cfg.Self), Value: compactStruct(r)}); err != nil {
		return err
	}
	s.mesh.mu.Lock()
	defer s.mesh.mu.Unlock()
	s.mesh.own = r
	return nil
}
