package mesh

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// pen makes what a site itself says.
func pen(s *State) Author { return s.By(s.Self()) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// noon is when tests begin.
var noon = time.Date(2026, 7, 14, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// raw is a record as its author has signed it: nobody here looks at signatures.
func raw(author engine.SiteID, r engine.MeshRecord) engine.SignedRecord {
	return engine.SignedRecord{Author: author, Record: engine.Encode(r)}
}

// says is a record of an author with this number.
func says(author engine.SiteID, number uint64, kind engine.RecordKind, about string, body any) engine.SignedRecord {
	r := engine.MeshRecord{Key: engine.RecordKey{Kind: kind, About: about}, Number: number, Body: engine.Encode(body)}
	if orders(kind) {
		r.Mesh = "mesh"
	}
	return raw(author, r)
}

// own takes in records that a site has just made.
func own(tb testing.TB, s *State, records ...engine.MeshRecord) []engine.SignedRecord {
	tb.Helper()
	var raws []engine.SignedRecord
	for _, r := range records {
		raws = append(raws, raw(s.Self(), r))
	}
	news, err := s.Take(raws...)
	must(tb, err)
	if len(news.Records) != len(raws) || len(news.Own) != len(raws) {
		tb.Fatalf("of %d own records these count: %+v", len(raws), news)
	}
	return raws
}

// hear takes in all that another site has.
func hear(tb testing.TB, s, from *State) News {
	tb.Helper()
	news, err := s.Take(from.Records()...)
	must(tb, err)
	return news
}

// found returns the state of the first site of a mesh, paris.
func found(tb testing.TB) *State {
	tb.Helper()
	s := New("paris")
	own(tb, s, pen(s).Found("mesh", noon))
	certify(tb, s, "paris", "paris", 0)
	announce(tb, s, engine.SiteRecord{Name: "paris"}, 0)
	return s
}

// certify has an authority give a site a certificate without an end.
func certify(tb testing.TB, s *State, id engine.SiteID, name engine.SiteName, minutes int) {
	tb.Helper()
	r, err := pen(s).Certify(id, name, time.Time{}, at(minutes))
	must(tb, err)
	own(tb, s, r)
}

// promote has an authority make another site one, which hears of it.
func promote(tb testing.TB, by, s *State, before bool) {
	tb.Helper()
	r, err := pen(by).AddAuthority(s.Self(), before)
	must(tb, err)
	own(tb, by, r)
	hear(tb, s, by)
}

func announce(tb testing.TB, s *State, r engine.SiteRecord, minutes int) {
	tb.Helper()
	record, changed, err := pen(s).Announce(r, at(minutes))
	must(tb, err)
	if !changed {
		tb.Fatalf("%+v says nothing new", r)
	}
	own(tb, s, record)
}

func secretOf(id string) []byte { return []byte("secret of " + id) }

// invite makes an invitation.
func invite(tb testing.TB, s *State, id string, uses, minutes int) {
	tb.Helper()
	r, err := pen(s).Invite(engine.Invitation{ID: id, Secret: sha256.Sum256(secretOf(id)), ExpiresAt: at(minutes + 60), Uses: uses}, at(minutes))
	must(tb, err)
	own(tb, s, r)
}

func asks(invitation string, site engine.SiteID, name engine.SiteName) engine.JoinRequest {
	return engine.JoinRequest{Invitation: invitation, Secret: secretOf(invitation), Site: site, Record: engine.SiteRecord{Name: name}}
}

// join lets a site in by an invitation of its own and returns its state.
func join(tb testing.TB, by *State, id engine.SiteID, minutes int) *State {
	tb.Helper()
	invitation := fmt.Sprintf("%s-%s", by.Self(), id)
	invite(tb, by, invitation, 1, minutes)
	records, err := pen(by).Admit(asks(invitation, id, engine.SiteName(id)), at(minutes))
	must(tb, err)
	own(tb, by, records...)
	s := New(id)
	hear(tb, s, by)
	announce(tb, s, engine.SiteRecord{Name: engine.SiteName(id)}, minutes)
	hear(tb, by, s)
	return s
}

// refused checks that an error is a refusal of this status, type and text.
func refused(tb testing.TB, err error, status int, kind string) {
	tb.Helper()
	var r *engine.Refusal
	if !errors.As(err, &r) || r.Status != status || r.Type != kind {
		tb.Errorf("got %v, want a refusal %d %s", err, status, kind)
	}
}

func names(s *State) string {
	var list []engine.SiteName
	for _, m := range s.Members() {
		list = append(list, m.Name)
	}
	return fmt.Sprint(list)
}
