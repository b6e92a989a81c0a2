package mesh

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/skerry/skerry/engine"
)

// Next returns this site's next record of a key. Its number exceeds those of all its own that are known, so that it counts
// also after the site's disk was set back, once it has heard what it had said.
func (s *State) Next(key engine.RecordKey, body any) engine.MeshRecord { return s.after(0, key, body) }

// after is Next once n more records have been made.
func (s *State) after(n uint64, key engine.RecordKey, body any) engine.MeshRecord {
	return engine.MeshRecord{Key: key, Number: s.last + n + 1, Body: engine.Encode(body)}
}

// Found returns the record that founds a mesh with this identifier. This site must belong to none.
func (s *State) Found(id string, now time.Time) engine.MeshRecord {
	return s.Next(engine.RecordKey{Kind: engine.RecordMesh}, engine.MeshOrigin{Mesh: id, At: now.UnixMicro()})
}

// Announce returns the record in which this site says what it has to say of itself; changed is false where it has said that
// already, but for its At. The error says why others would refuse it.
func (s *State) Announce(say engine.SiteRecord, now time.Time) (record engine.MeshRecord, changed bool, err error) {
	own, said := s.Site(s.self)
	say.At = own.At
	if said && bytes.Equal(engine.Encode(say), engine.Encode(own)) {
		return engine.MeshRecord{}, false, nil
	}
	say.At = now.UnixMicro()
	if err := CheckSite(say); err != nil {
		return engine.MeshRecord{}, false, fmt.Errorf("say what site %.60q is: %w", say.Name, err)
	}
	return s.Next(engine.RecordKey{Kind: engine.RecordSite}, say), true, nil
}

// Remove returns the record that takes a site out of the mesh for good; nil where one has already. ErrNotFound: it is no
// member. A *engine.Refusal: it cannot be.
func (s *State) Remove(id engine.SiteID, now time.Time) (*engine.MeshRecord, error) {
	if !s.IsMember(id) {
		return nil, fmt.Errorf("remove site %s: %w", id, engine.ErrNotFound)
	}
	if _, removed := s.removed[id]; removed {
		return nil, nil
	}
	others := 0
	for _, m := range s.Members() {
		if m.ID != id && m.Removed.IsZero() {
			others++
		}
	}
	if others == 0 {
		return nil, &engine.Refusal{Status: http.StatusConflict, Type: "last-site",
			Detail: fmt.Sprintf("%s is the last site of the mesh", s.Name(id))}
	}
	r := s.Next(engine.RecordKey{Kind: engine.RecordRemoval, About: string(id)}, engine.Removal{At: now.UnixMicro()})
	return &r, nil
}
