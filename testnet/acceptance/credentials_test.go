package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// queueAt is what a site says of the queue of images at another.
func queueAt(t *testing.T, asked *env.Site, name string) (state, reason string, waiting int) {
	t.Helper()
	var sites []struct {
		Name   string
		Queues map[string]struct {
			State, Reason string
			Waiting       int
		}
	}
	if err := asked.Client().Call(t.Context(), "GET", "/api/v1/sites", nil, &sites); err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		if q := s.Queues[lab.Images]; s.Name == name {
			return q.State, q.Reason, q.Waiting
		}
	}
	return "", "", 0
}

// TestWrongCredentialsPauseAndRightOnesResume gives the agent of nantes a token that its application does not take.
func TestWrongCredentialsPauseAndRightOnesResume(t *testing.T) {
	token := func(s *env.Site) string { return filepath.Join(s.Config().Dir, "token") }
	application := env.Lab(program)
	command := application.Command
	application.Command = func(dir string) []string {
		accepted := filepath.Join(dir, "accepted")
		if err := os.WriteFile(accepted, []byte("right"), 0o600); err != nil {
			t.Error(err)
		}
		return append(command(dir), "--images-token-file", accepted)
	}
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes"}, Application: application, Prepare: func(s *env.Site) error {
		s.Config().Services[0].Token = token(s)
		return os.WriteFile(token(s), []byte(map[string]string{"paris": "right", "nantes": "wrong"}[s.Name()]), 0o600)
	}})
	paris, nantes := e.Site("paris"), e.Site("nantes")
	client := []string{"Scope", both, "Authorization", "Bearer right"}
	a := prompt(t, paris, "POST /images", `{"name":"debian"}`, client...).Must(t, 201)
	op := operationOf(t, paris, a.Text("id"))
	e.Eventually(t, patience, "both sites say that nantes is paused, and why", func() error {
		for _, s := range e.Sites() {
			if state, reason, _ := queueAt(t, s, "nantes"); state != "paused" || !strings.Contains(reason, "401") {
				return fmt.Errorf("%s says of nantes %q, %q", s.Name(), state, reason)
			}
			if state := operationAt(t, s, op, "nantes"); state != "paused" {
				return fmt.Errorf("%s says that the operation is %s there", s.Name(), state)
			}
		}
		return nil
	})
	if state, _, waiting := queueAt(t, nantes, "nantes"); state != "paused" || waiting > 1 {
		t.Errorf("nantes says %s, %d waiting", state, waiting)
	}
	// A client of nantes with credentials of its own is served meanwhile.
	prompt(t, nantes, "POST /images", `{"name":"local"}`, "Authorization", "Bearer right").Must(t, 201)
	if err := os.WriteFile(token(nantes), []byte("right"), 0o600); err != nil {
		t.Fatal(err)
	}
	var after struct{ Name string }
	if err := paris.Client().Call(t.Context(), "POST", "/api/v1/sites/nantes/resume", map[string]string{}, &after); err != nil || after.Name != "nantes" {
		t.Fatal(after, err)
	}
	e.Eventually(t, patience, "nantes has it, and neither site says paused", func() error {
		for _, s := range e.Sites() {
			if state := operationAt(t, s, op, "nantes"); state != "applied" {
				return fmt.Errorf("%s says that the operation is %s there", s.Name(), state)
			}
			if state, _, _ := queueAt(t, s, "nantes"); state == "paused" {
				return fmt.Errorf("%s says that nantes is paused", s.Name())
			}
		}
		return nil
	})
}
