package mesh

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

// Author makes the records that the holder of one key says. They change nothing before they are signed and taken in.
type Author struct {
	*State
	key  engine.SiteID
	last uint64 // the highest number of the key's records
}

// By returns what the holder of a key says: this site, or an authority whose key is kept elsewhere.
func (s *State) By(key engine.SiteID) Author {
	a := Author{State: s, key: key}
	if key == s.self {
		a.last = s.last
	}
	for _, r := range s.records[key] {
		a.last = max(a.last, r.Number)
	}
	return a
}

// Next returns the next record of a key. Its number exceeds those of all of the author's that are known, so that it counts
// also after the site's disk was set back, once it has heard what it had said; where the author speaks as an authority, those of all
// authorities.
func (a Author) Next(key engine.RecordKey, body any) engine.MeshRecord { return a.after(0, key, body) }

// after is Next once n more records have been made.
func (a Author) after(n uint64, key engine.RecordKey, body any) engine.MeshRecord {
	r := engine.MeshRecord{Key: key, Number: a.last + n + 1, Body: engine.Encode(body)}
	if orders(key.Kind) {
		r.Number, r.Mesh = max(a.last, a.top)+n+1, a.id
	}
	return r
}

// Found returns the record that founds a mesh with this identifier. This site must belong to none. It is then the mesh's authority, and
// gives itself a certificate.
func (a Author) Found(id string, now time.Time) engine.MeshRecord {
	return a.Next(engine.RecordKey{Kind: engine.RecordMesh}, engine.MeshOrigin{Mesh: id, At: now.UnixMicro()})
}

// Announce returns the record in which this site says what it has to say of itself; changed is false where it has said that
// already, but for its At. The error says why others would refuse it.
func (a Author) Announce(say engine.SiteRecord, now time.Time) (record engine.MeshRecord, changed bool, err error) {
	own, said := a.Site(a.key)
	say.At = own.At
	if said && bytes.Equal(engine.Encode(say), engine.Encode(own)) {
		return engine.MeshRecord{}, false, nil
	}
	say.At = now.UnixMicro()
	if err := CheckSite(say); err != nil {
		return engine.MeshRecord{}, false, fmt.Errorf("say what site %.60q is: %w", say.Name, err)
	}
	return a.Next(engine.RecordKey{Kind: engine.RecordSite}, say), true, nil
}

// Retire returns the record that takes a site out of the mesh for good; nil where one has already. ErrNotFound: it is no
// member. A *engine.Refusal: it cannot be.
func (a Author) Retire(id engine.SiteID, now time.Time) (*engine.MeshRecord, error) {
	return a.remove(engine.RecordRemoval, id, now)
}

// Distrust returns the record that revokes a site's key, whether or not the site was retired before; nil where one has already. The
// errors are those of Retire.
func (a Author) Distrust(id engine.SiteID, now time.Time) (*engine.MeshRecord, error) {
	return a.remove(engine.RecordRevocation, id, now)
}

func (a Author) remove(kind engine.RecordKind, id engine.SiteID, now time.Time) (*engine.MeshRecord, error) {
	if !a.IsMember(id) {
		return nil, fmt.Errorf("remove site %s: %w", id, engine.ErrNotFound)
	}
	if _, removed := a.removed[id]; a.Revoked(id) || removed && kind == engine.RecordRemoval {
		return nil, nil
	}
	if err := a.mayOrder(); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(a.Members(), func(m engine.Member) bool { return m.ID != id && m.Removed.IsZero() }) {
		return nil, &engine.Refusal{Status: http.StatusConflict, Type: "last-site",
			Detail: fmt.Sprintf("%s is the last site of the mesh", a.Name(id))}
	}
	if a.IsAuthority(id) {
		return nil, conflict("the key of %s is an authority of the mesh: remove it from those first, after another one was added", a.Name(id))
	}
	r := a.Next(engine.RecordKey{Kind: kind, About: string(id)}, engine.Removal{At: now.UnixMicro()})
	return &r, nil
}
