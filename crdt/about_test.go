package crdt

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestAbout(t *testing.T) {
	paris, nantes, brest := newSite(t, "paris"), newSite(t, "nantes"), newSite(t, "brest")
	crossed := func(a *engine.About) {
		a.Collaboration = engine.Cross
		a.Parts = engine.Parts{{a.Placement[2]}, {a.Placement[0], a.Placement[1]}}
	}
	named := func(a *engine.About) { a.Collaboration = engine.ExactlyOne }
	for name, c := range map[string]struct {
		spoil func(*engine.About)
		says  string // empty: it is taken
	}{
		"replicated":            {func(*engine.About) {}, ""},
		"another incarnation":   {func(a *engine.About) { a.Incarnation = 7 }, ""},
		"cross":                 {crossed, ""},
		"a name":                {named, ""},
		"no service":            {func(a *engine.About) { a.Service = "" }, "a name of 0"},
		"no kind":               {func(a *engine.About) { a.Kind = "" }, "a name of 0"},
		"a long kind":           {func(a *engine.About) { a.Kind = engine.KindName(strings.Repeat("x", 257)) }, "a name of 257"},
		"no text":               {func(a *engine.About) { a.Service = "\xff" }, "no text"},
		"no key":                {func(a *engine.About) { a.Key = "" }, "a key of 0"},
		"a long key":            {func(a *engine.About) { a.Key = engine.ResourceID(strings.Repeat("x", 2049)) }, "a key of 2049"},
		"no collaboration":      {func(a *engine.About) { a.Collaboration = "" }, "unknown collaboration"},
		"another collaboration": {func(a *engine.About) { a.Collaboration = "mesh" }, "unknown collaboration"},
		"nowhere":               {func(a *engine.About) { a.Placement = nil }, "a placement of 0"},
		"at too many sites":     {func(a *engine.About) { a.Placement = make([]engine.SiteID, maxSites+1) }, "a placement of 4097"},
		"not sorted":            {func(a *engine.About) { slices.Reverse(a.Placement) }, "not sorted"},
		"twice at one site":     {func(a *engine.About) { a.Placement[1] = a.Placement[0] }, "names a site twice"},
		"at no site":            {func(a *engine.About) { a.Placement = []engine.SiteID{"paris"} }, "site \"paris\""},
		"parts of a replica":    {func(a *engine.About) { crossed(a); a.Collaboration = engine.Replication }, "parts of what is not cross"},
		"parts of a name":       {func(a *engine.About) { crossed(a); a.Collaboration = engine.ExactlyOne }, "parts of what is not cross"},
		"cross without parts":   {func(a *engine.About) { a.Collaboration = engine.Cross }, "less than two parts"},
		"cross of one part":     {func(a *engine.About) { crossed(a); a.Parts = engine.Parts{a.Placement} }, "less than two parts"},
		"an empty part":         {func(a *engine.About) { crossed(a); a.Parts = append(a.Parts, nil) }, "no site holds"},
		"a site of two parts":   {func(a *engine.About) { crossed(a); a.Parts[0] = a.Placement[:1] }, "not at the sites"},
		"a site of no part":     {func(a *engine.About) { crossed(a); a.Parts[1] = a.Placement[:1] }, "not at the sites"},
		"a name at one site":    {func(a *engine.About) { named(a); a.Placement = a.Placement[:1] }, "for 1 sites"},
		"a name's next life":    {func(a *engine.About) { named(a); a.Incarnation = 1 }, "in incarnation 1"},
		"more than fits":        {func(a *engine.About) { crossed(a); a.Placement, a.Parts = crowd(t) }, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			about := replicated(paris, nantes, brest)
			c.spoil(&about)
			b, id, err := paris.Identify(about)
			_, _, decoded := nantes.Decode(engine.Encode(about))
			if c.says == "" {
				again, same, err2 := nantes.Decode(b)
				if err != nil || err2 != nil || same != id || !bytes.Equal(engine.Encode(again), b) {
					t.Errorf("%v, %v", err, err2)
				}
				return
			}
			for _, err := range []error{err, decoded} {
				if !errors.Is(err, engine.ErrRefused) || c.says != "no text" && !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %q", err, c.says)
				}
			}
		})
	}
}

// crowd is a placement, and its parts, of so many sites that an About of them is too large.
func crowd(tb testing.TB) ([]engine.SiteID, engine.Parts) {
	tb.Helper()
	var placement []engine.SiteID
	var parts engine.Parts
	for i := range 2600 {
		id := newSite(tb, string(rune(i))).Self()
		placement, parts = append(placement, id), append(parts, []engine.SiteID{id})
	}
	slices.Sort(placement)
	return placement, parts
}

// TestSitesThatNeverMet make the same document from equal Abouts, and another one from any other.
func TestSitesThatNeverMet(t *testing.T) {
	paris, nantes := newSite(t, "paris"), newSite(t, "nantes")
	about := replicated(paris, nantes)
	_, a, err := paris.Identify(about)
	must(t, err)
	_, b, err := nantes.Identify(about)
	must(t, err)
	about.Incarnation++
	_, c, err := nantes.Identify(about)
	must(t, err)
	if a != b || a == c || !a.Valid() {
		t.Errorf("they make %s, %s and %s", a, b, c)
	}
	if paris.First(about, a, 0).Hash == paris.First(about, a, 1).Hash {
		t.Error("two epochs begin alike")
	}
}

// TestAboutIsCanonical: other bytes that say the same are refused.
func TestAboutIsCanonical(t *testing.T) {
	paris := newSite(t, "paris")
	b, _, err := paris.Identify(replicated(paris))
	must(t, err)
	more := append([]byte{b[0] + 1}, append(slices.Clone(b[1:]), 0x18, 0x63, 0x01)...) // a field of another version
	long := append([]byte{b[0], 0x18}, b[1:]...)                                       // the first key in two bytes
	for name, bad := range map[string][]byte{"one more field": more, "a key written long": long, "bytes after it": append(slices.Clone(b), 0), "nothing": nil} {
		if _, _, err := paris.Decode(bad); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAuthorsAreBounded(t *testing.T) {
	var a authors
	a.known = map[engine.SiteID]*author{}
	for i := range maxAuthors {
		a.known[engine.SiteID(rune(i+1))] = nil
	}
	paris := newSite(t, "paris").Self()
	got, err := a.of(paris)
	must(t, err)
	if again, err := a.of(paris); err != nil || again != got || len(a.known) > maxAuthors {
		t.Errorf("%d are known", len(a.known))
	}
}
