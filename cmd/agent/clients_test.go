package agent

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestKeysOfOthersTellNothing: an Idempotency-Key is its caller's own, whatever the caller shows to the application.
func TestKeysOfOthersTellNothing(t *testing.T) {
	agents, applications := sitesOf(t, "paris", "nantes")
	paris := agents[0]
	within(t, "the sites meet", func() bool { return paris.network.Status()[agents[1].core.Mesh.Self()].Reachable })
	ask := func(shows string) string {
		resp := paris.request(t, "POST", "/things", `{"name":"a"}`, "Scope: {shelf: paris & nantes}", "Idempotency-Key: guessed", shows)
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %d %s", shows, resp.StatusCode, b)
		}
		return string(b)
	}
	for n, pair := range [][2]string{{"X-Auth-Token: ann", "X-Auth-Token: bob"}, {"Cookie: session=ann", "Cookie: session=bob"}, {"Authorization: Bearer ann", "Authorization: Bearer bob"}} {
		ann, bob := ask(pair[0]), ask(pair[1])
		if ann == bob {
			t.Errorf("%s gets the answer of %s: %s", pair[1], pair[0], bob)
		}
		if again := ask(pair[0]); again != ann {
			t.Errorf("%s gets %s the second time, and %s first", pair[0], again, ann)
		}
		if made := applications[0].count(); made != 2*(n+1) {
			t.Errorf("after %s the application has made %d things", pair[1], made)
		}
	}
}

func (s *shelf) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// TestWhoShowsNothingFillsNoDisk: for a site that cannot be reached, only so much is kept of what comes without credentials.
func TestWhoShowsNothingFillsNoDisk(t *testing.T) {
	paris, _ := startIn(t, t.TempDir(), "paris", &shelf{things: map[string]map[string]any{}}, "", "limits: {kept: {anonymous: {number: 10, bytes: 1MiB}}}")
	invitation, secret, err := paris.core.Mesh.Invite(t.Context(), time.Hour, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	nantes, stop := startIn(t, t.TempDir(), "nantes", &shelf{things: map[string]map[string]any{}}, fmt.Sprintf(", join: %q", paris.token(invitation, secret)), "")
	self := nantes.core.Mesh.Self()
	within(t, "the sites meet", func() bool { return paris.network.Status()[self].Reachable })
	stop()
	within(t, "nantes is away", func() bool { return !paris.network.Status()[self].Reachable })
	body := `{"name":"` + strings.Repeat("x", 400<<10) + `"}`
	send := func(headers ...string) int {
		return paris.request(t, "POST", "/things", body, append(headers, "Scope: {shelf: nantes}")...).StatusCode
	}
	if a, b, c := send(), send(), send(); a != http.StatusAccepted || b != http.StatusAccepted || c < 400 {
		t.Errorf("three bodies of 400 KiB are answered with %d, %d and %d", a, b, c)
	}
	if with := send("Authorization: Bearer ann"); with != http.StatusAccepted {
		t.Errorf("who shows something gets %d", with)
	}
}
