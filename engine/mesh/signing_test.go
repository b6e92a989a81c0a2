package mesh

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// What is to be signed is told in words that follow from the bytes, and nothing else than an authority's word is signed.
func TestSigningRequest(t *testing.T) {
	paris := found(t)
	r, err := pen(paris).AddAuthority("offline", true)
	must(t, err)
	own(t, paris, r)
	for _, c := range []struct {
		order engine.Order
		want  string
	}{
		{engine.Order{Certify: "k1", Name: "lyon"}, "the key k1 belongs to the mesh and is called lyon, without an end"},
		{engine.Order{Certify: "k1", Name: "lyon", Until: at(60)}, "is called lyon, until 2026-07-14 13:00:00"},
		{engine.Order{Add: "k2"}, "by rank: offline, paris, k2"},
		{engine.Order{Zone: "west", Sites: []engine.SiteID{"paris"}}, "the zone west has the sites [paris]"},
	} {
		records, err := paris.By("offline").Order(c.order, at(1))
		must(t, err)
		q, words, err := ReadRequest(paris.By("offline").Request(records).Text() + "\n")
		if err != nil || q.By != "offline" || q.Mesh != "mesh" || len(words) != 1 || !strings.Contains(words[0], c.want) {
			t.Errorf("it says %q: %v", words, err)
		}
		signed, err := ReadAnswer(q.Answer(func(message []byte) []byte { return message }))
		if err != nil || len(signed) != 1 || string(signed[0].Signature) != string(Message(q.Records[0])) {
			t.Errorf("the answer is %+v: %v", signed, err)
		}
		s := paris.Clone()
		if news, err := s.Take(signed...); err != nil || len(news.Records) != 1 {
			t.Errorf("it does not count: %v", err)
		}
	}
	if _, err := paris.By("offline").Order(engine.Order{Retire: "paris"}, at(1)); err == nil {
		t.Error("the last site is retired")
	}
	good := engine.MeshRecord{Key: zoneKey("west"), Number: 9, Mesh: "mesh", Body: engine.Encode(engine.ZoneRecord{Deleted: true})}
	with := func(f func(*engine.MeshRecord)) []byte {
		r := good
		f(&r)
		return engine.Encode(r)
	}
	for name, q := range map[string]SigningRequest{
		"nothing":      {Mesh: "mesh", By: "offline"},
		"nobody":       {Mesh: "mesh", Records: [][]byte{engine.Encode(good)}},
		"no mesh":      {By: "offline", Records: [][]byte{engine.Encode(good)}},
		"another mesh": {Mesh: "other", By: "offline", Records: [][]byte{engine.Encode(good)}},
		"no record":    {Mesh: "mesh", By: "offline", Records: [][]byte{{1}}},
		"unknown":      {Mesh: "mesh", By: "offline", Records: [][]byte{with(func(r *engine.MeshRecord) { r.Key.Kind = "future" })}},
		"a site's word": {Mesh: "mesh", By: "offline", Records: [][]byte{with(func(r *engine.MeshRecord) {
			r.Key = engine.RecordKey{Kind: engine.RecordSite}
			r.Body = engine.Encode(engine.SiteRecord{Name: "x"})
		})}},
		"what is not shown": {Mesh: "mesh", By: "offline", Records: [][]byte{with(func(r *engine.MeshRecord) {
			r.Body = engine.Encode(map[int]any{2: 0, 3: true, 9: "more"})
		})}},
	} {
		if _, words, err := ReadRequest(q.Text()); !errors.Is(err, engine.ErrRefused) || words != nil {
			t.Errorf("%s: %q, %v", name, words, err)
		}
	}
}

// FuzzSigning reads requests and answers of any bytes. What is read can be written, and says the same.
func FuzzSigning(f *testing.F) {
	paris := found(f)
	for _, order := range []engine.Order{{Certify: "k1", Name: "lyon", Until: at(60)}, {Add: "k2"}, {Zone: "west", Sites: []engine.SiteID{"paris"}}} {
		records, err := pen(paris).Order(order, at(1))
		must(f, err)
		q := pen(paris).Request(records)
		f.Add(q.Text())
		f.Add(q.Answer(func([]byte) []byte { return []byte("signature") }))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if q, words, err := ReadRequest(text); err == nil {
			again, same, err := ReadRequest(q.Text())
			if err != nil || len(words) != len(q.Records) || strings.Join(words, "\n") != strings.Join(same, "\n") || again.By != q.By {
				t.Fatalf("%q has become %q: %v", words, same, err)
			}
		}
		if signed, err := ReadAnswer(text); err == nil {
			s := New("lyon")
			hear(t, s, paris)
			_, _ = s.Take(signed...)
			s.Members()
			s.Good("paris", time.Time{})
		}
	})
}

// FuzzAuthorities takes in what authorities and others may have said: certificates, revocations, invitations and lists, of any bytes.
func FuzzAuthorities(f *testing.F) {
	base := found(f)
	nantes := join(f, base, "nantes", 1)
	promote(f, base, nantes, false)
	join(f, base, "lyon", 2)
	for _, order := range []engine.Order{{Certify: "lyon", Until: at(60)}, {Revoke: "lyon"}, {Retire: "lyon"}, {Remove: "nantes"}} {
		records, err := pen(base).Order(order, at(3))
		must(f, err)
		for _, r := range records {
			f.Add("paris", string(r.Key.Kind), r.Key.About, r.Number, r.Body)
		}
	}
	for _, r := range base.records["paris"] {
		f.Add("nantes", string(r.Key.Kind), r.Key.About, r.Number, r.Body)
	}
	f.Fuzz(func(t *testing.T, author, kind, about string, number uint64, body []byte) {
		r := raw(engine.SiteID(author), engine.MeshRecord{Key: engine.RecordKey{Kind: engine.RecordKind(kind), About: about}, Number: number, Mesh: "mesh", Body: body})
		s := New("lyon")
		hear(t, s, base)
		before, by := names(s), s.IsAuthority(engine.SiteID(author))
		news, err := s.Take(r)
		if !by && orders(engine.RecordKind(kind)) && (err == nil || len(news.Records) > 0 || names(s) != before) {
			t.Fatalf("%s, which is no authority, has said %s: %+v", author, kind, news)
		}
		again := New("metz")
		hear(t, again, s)
		if again.Fingerprint() != s.Fingerprint() || names(again) != names(s) {
			t.Fatalf("passed on it is %s, not %s", names(again), names(s))
		}
	})
}
