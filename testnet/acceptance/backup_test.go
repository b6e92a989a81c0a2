package acceptance

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// TestRestoredFromABackup sets a site's data directory back to a copy, after the site has done what others know of, with its
// application set back as well and without. Nothing is lost and nothing runs twice.
func TestRestoredFromABackup(t *testing.T) {
	for _, application := range []bool{false, true} {
		t.Run(fmt.Sprintf("application too %v", application), func(t *testing.T) {
			e := labAt(t, "paris", "nantes")
			paris, nantes := e.Site("paris"), e.Site("nantes")
			changed := create(t, nantes, both, `{"name":"changed"}`)
			deleted := create(t, paris, both, `{"name":"deleted"}`)
			settled(t, e, changed, deleted)
			labData, backup := filepath.Join(nantes.Config().Dir, "lab"), t.TempDir()
			offline(t, nantes, func() error {
				return errors.Join(copied(nantes.Config().Data(), filepath.Join(backup, "data")), copied(labData, filepath.Join(backup, "lab")))
			})
			made := create(t, nantes, both, `{"name":"made"}`)
			theirs := create(t, paris, both, `{"name":"theirs"}`)
			prompt(t, nantes, "PATCH /images/"+changed, `{"size":7}`, merge...).Must(t, 200)
			prompt(t, nantes, "DELETE /images/"+deleted, "").Must(t, 204)
			settled(t, e, changed, made, theirs)

			offline(t, nantes, func() error {
				err := copied(filepath.Join(backup, "data"), nantes.Config().Data())
				if application {
					err = errors.Join(err, copied(filepath.Join(backup, "lab"), labData))
				}
				return err
			})
			e.Eventually(t, patience, "both applications hold the same", func() error {
				p, err := listed(t, paris)
				if err != nil {
					return err
				}
				n, err := listed(t, nantes)
				if err != nil {
					return err
				}
				if len(n) != 3 || n[changed]["size"] != 7.0 {
					return fmt.Errorf("nantes lists %v", n)
				}
				return same(p, n)
			})
			if got, want := held(t, nantes), []string{"changed", "made", "theirs"}; !slices.Equal(got, want) {
				t.Errorf("the application of nantes holds %v, want %v", got, want)
			}
			settled(t, e, changed, made, theirs)
			sites := paris.API(t, "GET /api/v1/sites", "").Must(t, 200).Body
			if !strings.Contains(sites, `"restored_at":"2`) {
				t.Errorf("paris does not say that nantes was restored: %s", sites)
			}
		})
	}
}

// settled waits until all sites say that the resources have converged.
func settled(t *testing.T, e *env.Env, ids ...string) {
	t.Helper()
	for _, id := range ids {
		for _, s := range e.Sites() {
			eventually(t, e, patience, id+" has converged as "+s.Name()+" says", func() bool {
				a := s.API(t, "GET /api/v1/resources/"+id, "")
				return a.Status == 200 && a.Text("state") == "converged"
			})
		}
	}
}

// copied puts a copy of a directory, modes included, in the place of another.
func copied(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}

// offline stops the site's agent and application, and starts them again after f.
func offline(t *testing.T, s *env.Site, f func() error) {
	t.Helper()
	s.Stop(t)
	if err := s.StopApplication(); err != nil {
		t.Fatal(err)
	}
	if err := f(); err != nil {
		t.Fatal(err)
	}
	if err := s.StartApplication(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
}

// TestACopiedDataDirectory runs two agents from copies of one data directory, on two hosts, beside a third site: both stop
// writing and say what to do.
func TestACopiedDataDirectory(t *testing.T) {
	e := labAt(t, "paris", "nantes", "toulouse")
	paris, nantes, toulouse := e.Site("paris"), e.Site("nantes"), e.Site("toulouse")
	id := create(t, paris, both, `{"name":"debian"}`)
	eventually(t, e, patience, "nantes has it", func() bool { return slices.Contains(held(t, nantes), "debian") })
	toulouse.Stop(t)
	nantes.Stop(t)
	if err := copied(nantes.Config().Data(), toulouse.Config().Data()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*env.Site{nantes, toulouse} {
		if err := s.Launch(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*env.Site{nantes, toulouse} {
		e.Eventually(t, patience, "the agent at "+s.Name()+" finds out", func() error {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Config().API+"/readyz", nil)
			if err != nil {
				return err
			}
			resp, err := s.HTTP().Do(r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			// Not that it is starting, or that others have yet to tell what it knew.
			if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(b), "another agent is running with this") {
				return fmt.Errorf("/readyz answers %d %s", resp.StatusCode, b)
			}
			return nil
		})
		problem(t, s.Do(t, lab.Images, "PATCH /images/"+id, `{"size":1}`, merge...), 503, "cloned")
	}
	eventually(t, e, patience, "paris says it", func() bool {
		return strings.Contains(paris.API(t, "GET /api/v1/sites", "").Must(t, 200).Body, `"cloned":true`)
	})
}
