package auth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestPasswords(t *testing.T) {
	const password = "correct horse battery"
	text, err := Hash(password)
	if err != nil {
		t.Fatal(err)
	}
	h, err := parseHash(text)
	if err != nil || h.String() != text {
		t.Fatalf("%s is read as %s, %v", text, h, err)
	}
	if !h.matches(password) || h.matches(password+" ") || h.matches("") {
		t.Error("the hash fits another password, or not its own")
	}
	if again, _ := Hash(password); again == text {
		t.Error("two accounts of one password have one hash")
	}
	if _, err := Hash(strings.Repeat("é", 11)); err == nil {
		t.Error("11 characters pass")
	}
	if _, err := Hash(strings.Repeat("x", 513)); err == nil {
		t.Error("513 bytes pass")
	}
	for _, wrong := range []string{"", "x", strings.Replace(text, "argon2id", "argon2i", 1), strings.Replace(text, "m=19456", "m=99999999", 1),
		strings.Replace(text, "t=2", "t=0", 1), strings.Replace(text, "v=19", "v=16", 1), text + "$", text[:len(text)-30]} {
		if _, err := parseHash(wrong); err == nil {
			t.Errorf("%q passes as a hash", wrong)
		}
	}
}

func TestPace(t *testing.T) {
	a, p, now := newAttempts(), pace{free: 2, longest: 10 * time.Second}, time.Unix(1_000_000, 0)
	want := []time.Duration{0, 0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second}
	for i, w := range want {
		if got := a.begin("who", p, now); got != w {
			t.Errorf("attempt %d waits %s, want %s", i, got, w)
		}
		if now = now.Add(w); w > 0 && a.begin("who", p, now) != 0 {
			t.Errorf("attempt %d is not let through after its wait", i)
		}
	}
	if a.begin("other", p, now) != 0 {
		t.Error("one waits for another")
	}
	a.forget("who")
	if a.begin("who", p, now) != 0 {
		t.Error("who got in has to wait")
	}
	for range 100 {
		a.begin("late", p, now)
	}
	now = now.Add(30 * time.Second)
	for range 2 {
		if a.begin("late", p, now) != 0 {
			t.Error("what was long ago still counts")
		}
	}
}

func TestNetworkOfAnAddress(t *testing.T) {
	for address, want := range map[string]string{"192.0.2.1:9": "192.0.2.1", "[2001:db8:1:2:3::4]:9": "2001:db8:1:2::", "2001:db8:1:2::9": "2001:db8:1:2::"} {
		if got := network(address); got != want {
			t.Errorf("%s counts as %s, want %s", address, got, want)
		}
	}
}

// Names that no account can have leave nothing in memory.
func TestLongNamesAreNotRemembered(t *testing.T) {
	g := &Guard{accounts: "accounts", now: time.Now, attempts: newAttempts()}
	for i := range 300 {
		name := strings.Repeat(string(rune('a'+i%26)), 3<<20)
		if _, _, err := g.Login(t.Context(), "192.0.2.1:1", name, "p"); err == nil {
			t.Fatal("somebody got in")
		}
	}
	if n := g.attempts.made.Len(); n != 1 {
		t.Errorf("%d names and addresses are remembered", n)
	}
}

// Whatever cookies come, the agent's own go no further, and what it has not made proves nothing.
func FuzzCookies(f *testing.F) {
	g := &Guard{secret: []byte("s")}
	f.Add("a=1; " + Cookie + "=x; b=2")
	f.Add(KnownCookie + "=0123456789abcdef." + g.sealed("0123456789abcdef", "ada"))
	f.Add("__Host-skerry")
	f.Add("skerry-local-8700=x; skerry-local-=y; c=3")
	f.Fuzz(func(t *testing.T, line string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Cookie"] = []string{line}
		_, known, _ := takeCookies(r)
		if rest := r.Cookies(); slices.ContainsFunc(rest, func(c *http.Cookie) bool { return c.Name == Cookie || c.Name == KnownCookie || isLocal(c.Name) }) {
			t.Fatalf("%q leaves %v", line, rest)
		}
		if id, ok := g.knows(known, "ada"); ok && known != id+"."+g.sealed(id, "ada") {
			t.Fatalf("%q is known", known)
		}
	})
}

// Whatever is shown as a token, none of it is taken for one that was not made.
func FuzzTokens(f *testing.F) {
	g := &Guard{store: noKeys{}, now: time.Now}
	f.Add("Bearer skt_x")
	f.Add("bearer skt_")
	f.Fuzz(func(t *testing.T, value string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Authorization"] = []string{value}
		if p, ok, _ := g.Token(r); ok || p.Role != Anyone {
			t.Fatalf("%q lets in %v", value, p)
		}
		if strings.HasPrefix(value, "Bearer "+tokenPrefix) == (r.Header.Get("Authorization") != "") && value != "" {
			t.Fatalf("%q leaves %q", value, r.Header.Get("Authorization"))
		}
	})
}

// noKeys is a store without any.
type noKeys struct{ Store }

func (noKeys) Record(context.Context, string, string) ([]byte, error) { return nil, engine.ErrNotFound }
