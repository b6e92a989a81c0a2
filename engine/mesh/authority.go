package mesh

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
)

// The authorities are a list of keys, and what that is follows from the lists that were signed, in a chain: the founder alone comes first,
// and each list names the one that it takes the place of. It must be signed by a key of that, and may change what comes from that key
// on, but none that ranks above it. Of several lists in one place that of the highest rank counts; one authority has one list in a
// place, and what it signs there later is left out.
//
// Nothing else that an authority has signed counts when it is on the list no more, whatever number or date that has: whoever has its key
// could sign anything as of old. So who takes one off the list signs anew what is to stay.

// Authorities are the keys that may say who belongs to the mesh, by rank.
func (s *State) Authorities() []engine.SiteID { return s.authorities }

// IsAuthority reports whether a key is one of them.
func (s *State) IsAuthority(id engine.SiteID) bool { return slices.Contains(s.authorities, id) }

// follow finds, among lists of authorities, those that count and the keys that the last of them has. Those that counted before come first.
func (s *State) follow(candidates []*record) (lists []*record, keys []engine.SiteID) {
	keys = []engine.SiteID{s.founder}
	for after := [sha256.Size]byte{}; ; after = sha256.Sum256(lists[len(lists)-1].raw.Record) {
		place, rank := strconv.Itoa(len(lists)+1), len(keys)
		var next *record
		for _, c := range candidates {
			said, at := c.said.(engine.Authorities), slices.Index(keys, c.raw.Author)
			if c.Key.About == place && said.After == after && c.Mesh == s.id && at >= 0 && at < rank &&
				len(said.Keys) >= at && slices.Equal(said.Keys[:at], keys[:at]) {
				next, rank = c, at
			}
		}
		if next == nil {
			return lists, keys
		}
		lists, keys = append(lists, next), next.said.(engine.Authorities).Keys
	}
}

// mayOrder returns a *engine.Refusal where this site is no authority.
func (a Author) mayOrder() error {
	if a.IsAuthority(a.key) {
		return nil
	}
	var others []string
	for _, id := range a.authorities {
		others = append(others, string(a.Name(id)))
	}
	return &engine.Refusal{Status: http.StatusForbidden, Type: "authority", Detail: fmt.Sprintf("this site is no authority of the mesh: do it at one that is, "+
		"or have a key sign it that is kept off line (skerry authority request); the authorities are %s", strings.Join(others, ", "))}
}

// AddAuthority returns the record that makes a key an authority, of the lowest rank, or of the one before this site's own. The error is
// a *engine.Refusal.
func (a Author) AddAuthority(key engine.SiteID, before bool) (engine.MeshRecord, error) {
	switch at := slices.Index(a.authorities, a.key); {
	case at < 0:
		return engine.MeshRecord{}, a.mayOrder()
	case !validSite(key):
		return engine.MeshRecord{}, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "authority", Detail: fmt.Sprintf("%.60q is no key", key)}
	case a.IsAuthority(key):
		return engine.MeshRecord{}, conflict("%s is an authority already", a.Name(key))
	case len(a.authorities) >= MaxAuthorities:
		return engine.MeshRecord{}, conflict("the mesh has %d authorities: remove one first", MaxAuthorities)
	case before:
		return a.nextList(0, slices.Insert(slices.Clone(a.authorities), at, key))
	}
	return a.nextList(0, append(slices.Clone(a.authorities), key))
}

// RemoveAuthority returns the records that take a key off the list of authorities. What it has signed and still counts comes first,
// signed anew by this site's key. ErrNotFound: it is none. The error may be a *engine.Refusal.
func (a Author) RemoveAuthority(key engine.SiteID) ([]engine.MeshRecord, error) {
	self, at := slices.Index(a.authorities, a.key), slices.Index(a.authorities, key)
	switch {
	case at < 0:
		return nil, fmt.Errorf("remove authority %.60q: %w", key, engine.ErrNotFound)
	case self < 0:
		return nil, a.mayOrder()
	case len(a.authorities) == 1:
		return nil, conflict("%s is the only authority of the mesh: add another one first", a.Name(key))
	case at < self:
		return nil, conflict("%s ranks above %s: one that ranks higher has to remove it, or it removes itself", a.Name(key), a.Name(a.key))
	}
	anew := a.signedBy(key)
	if at == self && len(anew) > 0 {
		return nil, conflict("%d things that count are signed by %s: an authority that ranks above it has to remove it, and signs them anew", len(anew), a.Name(key))
	}
	var records []engine.MeshRecord
	for _, r := range anew {
		said := r.said
		if c, ok := said.(engine.Certificate); ok {
			c.Named = cmp.Or(c.Named, r.Number)
			said = c
		}
		records = append(records, a.after(uint64(len(records)), r.Key, said))
	}
	list, err := a.nextList(uint64(len(records)), slices.Delete(slices.Clone(a.authorities), at, at+1))
	return append(records, list), err
}

// signedBy lists what all authorities share and this one has signed, in a fixed order.
func (s *State) signedBy(key engine.SiteID) (list []*record) {
	for _, r := range s.shared {
		if r.raw.Author == key {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *record) int { return a.newer(b) })
	return list
}

func (a Author) nextList(n uint64, keys []engine.SiteID) (engine.MeshRecord, error) {
	list := engine.Authorities{Keys: keys}
	if len(a.lists) >= maxLists {
		return engine.MeshRecord{}, conflict("the authorities of the mesh have changed %d times: they cannot any more", maxLists)
	}
	if len(a.lists) > 0 {
		list.After = sha256.Sum256(a.lists[len(a.lists)-1].raw.Record)
	}
	return a.after(n, engine.RecordKey{Kind: engine.RecordAuthorities, About: strconv.Itoa(len(a.lists) + 1)}, list), nil
}

func conflict(format string, args ...any) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusConflict, Type: "authority", Detail: fmt.Sprintf(format, args...)}
}

// certificate is that of a site; the record is nil where it has none.
func (s *State) certificate(id engine.SiteID) (engine.Certificate, *record) {
	r := s.shared[engine.RecordKey{Kind: engine.RecordCertificate, About: string(id)}]
	if r == nil {
		return engine.Certificate{}, nil
	}
	return r.said.(engine.Certificate), r
}

// Certified reports whether a site has a certificate. The founder may have none, as long as it is an authority.
func (s *State) Certified(id engine.SiteID) bool { _, r := s.certificate(id); return r != nil }

// Certify returns the record of a certificate: it lets a site in, gives it another name, or lets it be good for longer. An empty name
// leaves it the one that it has. Until is when it ends; zero: never. The error is a *engine.Refusal.
func (a Author) Certify(site engine.SiteID, name engine.SiteName, until, now time.Time) (engine.MeshRecord, error) {
	if _, removed := a.removed[site]; removed {
		return engine.MeshRecord{}, conflict("%s was taken out of the mesh for good", a.Name(site))
	}
	return a.certify(site, name, "", until, now)
}

// taken is the name of another site, or of a zone, that a reader may take a name for; empty: there is none.
func (a Author) taken(site engine.SiteID, name string) string {
	for _, m := range a.Members() {
		if m.ID != site && alike(string(m.Name), name) {
			return string(m.Name)
		}
	}
	for _, z := range a.Zones() {
		if alike(string(z.Name), name) {
			return string(z.Name)
		}
	}
	return ""
}

func (a Author) certify(site engine.SiteID, name engine.SiteName, invitation string, until, now time.Time) (engine.MeshRecord, error) {
	old, r := a.certificate(site)
	c := engine.Certificate{Invitation: invitation, Name: name, At: now.UnixMicro(), From: now.UnixMicro()}
	if site == a.founder {
		c.At = a.origin().At
	}
	if r != nil {
		c.Invitation, c.At = old.Invitation, old.At
		if name == "" || name == old.Name {
			c.Name, c.Named = old.Name, cmp.Or(old.Named, r.Number)
		}
	}
	refuse := func(status int, kind, format string, args ...any) (engine.MeshRecord, error) {
		return engine.MeshRecord{}, &engine.Refusal{Status: status, Type: kind, Detail: fmt.Sprintf(format, args...)}
	}
	if !until.IsZero() {
		c.Until = until.UnixMicro()
	}
	switch {
	case a.mayOrder() != nil:
		return engine.MeshRecord{}, a.mayOrder()
	case !validSite(site) || checkName(string(c.Name)) != nil || !scope.Name(string(c.Name)):
		return refuse(http.StatusUnprocessableEntity, "certificate", "a site cannot be called %.100q, or %.60q is no key", c.Name, site)
	case c.Until != 0 && (c.Until <= c.From || c.Until > maxTime):
		return refuse(http.StatusUnprocessableEntity, "certificate", "a certificate ends later than now")
	case slices.ContainsFunc(a.Members(), func(m engine.Member) bool { return m.Name == c.Name && m.ID != site }):
		return refuse(http.StatusConflict, "exists", "the mesh has a site called %s already", c.Name)
	case c.Named == 0 && mixed(string(c.Name)):
		return refuse(http.StatusUnprocessableEntity, "certificate", "%s has letters of several scripts, or such as stand in no text: who reads it may take it for another name", c.Name)
	case c.Named == 0 && a.taken(site, string(c.Name)) != "":
		return refuse(http.StatusConflict, "exists", "who reads %s may take it for %s, which the mesh has already", c.Name, a.taken(site, string(c.Name)))
	case a.isZone(engine.ZoneName(c.Name)):
		return refuse(http.StatusConflict, "exists", "the mesh has a zone called %s", c.Name)
	case !a.admitted[site] && len(a.admitted) >= MaxMembers:
		return refuse(http.StatusConflict, "certificate", "the mesh has %d sites; it takes no more", MaxMembers)
	}
	return a.Next(engine.RecordKey{Kind: engine.RecordCertificate, About: string(site)}, c), nil
}
