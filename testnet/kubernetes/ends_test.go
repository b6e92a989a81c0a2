//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestWhatEndsIsToldAtOnce: a pod that was evicted through the agent is missing there, and is not called the same; it is not made again by
// itself. A job that has ended and is gone by its time to live is deleted at both sites.
func TestWhatEndsIsToldAtOnce(t *testing.T) {
	t.Parallel()
	e, all := workingWith(t, looking, "site1", "site2")
	one, two := all[0], all[1]
	if out, err := one.try(both, `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"evicted"},"spec":{"containers":[{"name":"c","image":"registry.example/c"}]}},
{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"brief"},"spec":{"ttlSecondsAfterFinished":1,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"registry.example/c"}]}}}}]}`,
		"create", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	for _, s := range all {
		has(e, s, "a pod that runs", is("Running", "status", "phase"), "pod", "evicted")
	}
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" has no job", func() error {
			if s.object("job", "brief") != nil {
				return errors.New("it is there")
			}
			return nil
		})
	}
	one.skerry("resources", "check", "default/brief")
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" lists no job", func() error {
			list, err := s.Client().Resources(t.Context())
			for _, r := range list {
				if r.ID == "default/brief" {
					err = errors.Join(err, fmt.Errorf("it is %s: %s", r.State, r.Reason))
				}
			}
			return err
		})
	}
	converged(t, e, all)
	if out, err := one.try("", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"evicted"}}`, "create", "--raw", "/api/v1/namespaces/default/pods/evicted/eviction", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" says that the pod is missing at site1", func() error {
			list, err := s.Client().Resources(t.Context())
			for _, r := range list {
				if r.ID == "default/evicted" && r.State != "converged" && strings.Contains(r.Reason, "site1") {
					return nil
				}
				err = errors.Join(err, fmt.Errorf("%s is %s: %s", r.ID, r.State, r.Reason))
			}
			return err
		})
	}
	if one.object("pod", "evicted") != nil || two.object("pod", "evicted") == nil {
		t.Error("it was made again, or was deleted at both")
	}
}
