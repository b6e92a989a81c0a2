package mesh

import (
	"errors"
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestAdmit(t *testing.T) {
	paris := found(t)
	join(t, paris, "nantes", 0)
	r, err := pen(paris).SetZone("west", []engine.SiteID{"paris"}, at(1))
	must(t, err)
	own(t, paris, r)
	for _, id := range []string{"once", "revoked", "short"} {
		invite(t, paris, id, 1, 0)
	}
	revoked, err := pen(paris).Revoke("revoked")
	must(t, err)
	own(t, paris, revoked)
	wrong := asks("once", "lyon", "lyon")
	wrong.Secret = []byte("guess")
	rude := asks("once", "lyon", "lyon")
	rude.Record.Version = string(make([]byte, 300))
	for name, c := range map[string]struct {
		r       engine.JoinRequest
		minutes int
		status  int
	}{
		"an unknown invitation":     {asks("none", "lyon", "lyon"), 2, 403},
		"another secret":            {wrong, 2, 403},
		"a revoked one":             {asks("revoked", "lyon", "lyon"), 2, 403},
		"one that has expired":      {asks("short", "lyon", "lyon"), 60, 403},
		"a name that is taken":      {asks("once", "lyon", "nantes"), 2, 409},
		"the name of a zone":        {asks("once", "lyon", "west"), 2, 409},
		"no name":                   {asks("once", "lyon", ""), 2, 422},
		"a word of scopes":          {asks("once", "lyon", "around"), 2, 422},
		"a site that is none":       {asks("once", "ly/on", "lyon"), 2, 422},
		"more than a site may say":  {rude, 2, 422},
		"an invitation used up now": {asks("paris-nantes", "lyon", "lyon"), 2, 403},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pen(paris).Admit(c.r, at(c.minutes))
			var r *engine.Refusal
			if !errors.As(err, &r) || r.Status != c.status {
				t.Errorf("got %v, want a refusal %d", err, c.status)
			}
		})
	}
	records, err := pen(paris).Admit(asks("once", "lyon", "lyon"), at(2))
	must(t, err)
	if records[0].Number != paris.last+1 || records[1].Number != paris.last+2 {
		t.Errorf("after number %d come %d and %d", paris.last, records[0].Number, records[1].Number)
	}
	own(t, paris, records...)
	again, err := pen(paris).Admit(asks("once", "lyon", "lyon"), at(3))
	if err != nil || again != nil || !paris.IsMember("lyon") {
		t.Errorf("one whose first try was cut off gets %v: %v", again, err)
	}
	_, err = pen(paris).Admit(asks("once", "brest", "brest"), at(3))
	refused(t, err, 403, "invitation")
}

// However many invitations a site makes, their records stay few: one that is over gives its place to the next.
func TestInvitationsReuseTheirPlaces(t *testing.T) {
	paris := found(t)
	for i := range 500 {
		invite(t, paris, fmt.Sprint(i), 1, 100*i) // by then the one before has expired
		if i%3 == 0 {
			r, err := pen(paris).Revoke(fmt.Sprint(i))
			must(t, err)
			own(t, paris, r)
		}
	}
	if n := len(paris.Records()); n != 4 || len(paris.Invitations()) != 1 {
		t.Errorf("there are %d records and the invitations %+v", n, paris.Invitations())
	}
	late := 100 * 500
	for i := range MaxInvitations {
		invite(t, paris, fmt.Sprint("open ", i), 1, late)
	}
	_, err := pen(paris).Invite(engine.Invitation{ID: "more", ExpiresAt: at(late + 1), Uses: 1}, at(late))
	refused(t, err, 409, "invitation")
	if list := paris.Invitations(); len(list) != MaxInvitations || !paris.Inviting(at(late)) || paris.Inviting(at(late+60)) {
		t.Errorf("%d invitations are open", len(list))
	}
	r, err := pen(paris).Revoke("open 7")
	must(t, err)
	own(t, paris, r)
	invite(t, paris, "more", 2, late)
	if len(paris.Invitations()) != MaxInvitations {
		t.Error("the revoked one is there still")
	}
	if _, err := pen(paris).Revoke("open 7"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("what is no more is revoked: %v", err)
	}
	nantes := join(t, paris, "nantes", late+60)
	_, err = pen(nantes).Invite(engine.Invitation{ID: "i", ExpiresAt: at(late + 90), Uses: 1}, at(late+61))
	refused(t, err, 403, "authority")
	if _, err := pen(nantes).Revoke("more"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("another site's is revoked: %v", err)
	}
	if nantes.Inviting(at(late)) {
		t.Error("another site's invitation opens this one's door")
	}
}

func TestInviteRefuses(t *testing.T) {
	paris := found(t)
	for _, i := range []engine.Invitation{
		{ID: "i", ExpiresAt: at(1)}, {ID: "i", ExpiresAt: at(1), Uses: -1}, {ID: "i", ExpiresAt: at(1), Uses: 1 << 30},
		{ID: "i", ExpiresAt: at(0), Uses: 1}, {ExpiresAt: at(1), Uses: 1},
	} {
		_, err := pen(paris).Invite(i, noon)
		refused(t, err, 422, "invitation")
	}
}

// A site whose disk was set back hears how often its invitation was used since.
func TestUsesAreNotForgotten(t *testing.T) {
	paris := found(t)
	invite(t, paris, "i", 1, 0)
	backup := New("paris")
	hear(t, backup, paris)
	records, err := pen(paris).Admit(asks("i", "nantes", "nantes"), at(1))
	must(t, err)
	own(t, paris, records...)
	nantes := New("nantes")
	hear(t, nantes, paris)
	if news := hear(t, backup, nantes); len(news.Own) != 2 {
		t.Errorf("it hears of its own: %+v", news.Own)
	}
	_, err = pen(backup).Admit(asks("i", "lyon", "lyon"), at(2))
	refused(t, err, 403, "invitation")
	if r := pen(backup).Next(engine.RecordKey{Kind: engine.RecordSite}, engine.SiteRecord{}); r.Number != paris.last+1 {
		t.Errorf("it goes on with number %d, after %d", r.Number, paris.last)
	}
}
