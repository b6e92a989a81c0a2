package members

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// A key that is at no site takes over, lets a site in and takes another out, by texts that are carried there and back.
func TestAnAuthorityOffLine(t *testing.T) {
	w, paris, nantes, lyon := three(t)
	off := keyOf("offline")
	must(t, nantes.AddAuthority(t.Context(), off.site(), true))
	w.deliver()
	sign := func(order engine.Order) string {
		t.Helper()
		text, err := lyon.Request(off.site(), order) // any site makes it
		must(t, err)
		q, _, err := mesh.ReadRequest(text)
		must(t, err)
		return q.Answer(off.Sign)
	}
	apply := func(answer string, want int) {
		t.Helper()
		if n, err := lyon.Apply(t.Context(), answer); err != nil || n != want {
			t.Fatalf("%d records count, not %d: %v", n, want, err)
		}
		w.deliver()
	}
	apply(sign(engine.Order{Remove: nantes.Self()}), 2) // nantes has let lyon in
	apply(sign(engine.Order{Remove: paris.Self()}), 3)
	if got := paris.Authorities(); len(got) != 1 || got[0] != off.site() || names(paris) != "[paris nantes lyon]" || paris.of(lyon).Certified != off.site() {
		t.Errorf("the authorities are %v, the members %s", got, names(paris))
	}
	var refusal *engine.Refusal
	if _, _, err := paris.Invite(t.Context(), time.Hour, 1, 0); !errors.As(err, &refusal) || !strings.Contains(refusal.Detail, "skerry authority request") {
		t.Errorf("paris invites: %v", err)
	}
	apply(sign(engine.Order{Certify: keyOf("brest").site(), Name: "brest"}), 1)
	brest := w.start("brest", newDisk())
	records, err := nantes.Admit(t.Context(), engine.JoinRequest{Site: brest.Self(), Record: engine.SiteRecord{Name: "brest"}}) // at any site, without an invitation
	must(t, err)
	must(t, brest.Adopt(t.Context(), nantes.MeshID(), paris.Self(), records))
	must(t, brest.Announce(t.Context(), engine.SiteRecord{Name: "brest"}))
	w.deliver()
	if names(paris) != "[paris nantes lyon brest]" {
		t.Errorf("the members are %s", names(paris))
	}
	retired := sign(engine.Order{Retire: nantes.Self()})
	apply(retired, 1)
	if !paris.Removed(nantes.Self()) || nantes.disk.count("site.removed") != 1 {
		t.Error("nantes was not taken out")
	}
	apply(retired, 0) // a second time
	for name, answer := range map[string]string{
		"garbled": "ska1:x", "no answer": "text", "": "",
		"signed by another": func() string {
			text, err := lyon.Request(off.site(), engine.Order{Certify: lyon.Self(), Name: "metz"})
			must(t, err)
			q, _, err := mesh.ReadRequest(text)
			must(t, err)
			return q.Answer(lyon.key.Sign)
		}(),
		"signed by none that is one": func() string {
			text, err := lyon.Request(off.site(), engine.Order{Certify: lyon.Self(), Name: "metz"})
			must(t, err)
			q, _, err := mesh.ReadRequest(text)
			must(t, err)
			q.By = lyon.Self()
			return q.Answer(lyon.key.Sign)
		}(),
	} {
		before := lyon.Fingerprint()
		if n, err := lyon.Apply(t.Context(), answer); !errors.As(err, &refusal) || refusal.Type != "authority" || n != 0 && lyon.Fingerprint() != before || lyon.Fingerprint() != before {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	late := sign(engine.Order{Zone: "west", Sites: []engine.SiteID{paris.Self()}})
	apply(sign(engine.Order{Zone: "west", Sites: []engine.SiteID{lyon.Self()}}), 1)
	if _, err := lyon.Apply(t.Context(), late); !errors.As(err, &refusal) && len(paris.Zones()) != 1 {
		t.Errorf("an answer that came late: %v", err)
	}
	if _, err := lyon.Request(paris.Self(), engine.Order{Retire: nantes.Self()}); !errors.As(err, &refusal) {
		t.Errorf("a request to who is none: %v", err)
	}
	if _, err := lyon.Request(off.site(), engine.Order{Retire: nantes.Self()}); !errors.As(err, &refusal) || refusal.Status != 409 {
		t.Errorf("a request of what is so already: %v", err)
	}
}
