//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestAdoption: what clusters had before agents came is left alone, until somebody makes a resource of it.
func TestAdoption(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	site1, site2 := all[0], all[1]
	made := func(s *site, name, value string) {
		t.Helper()
		if out, err := s.run("direct.yaml", configMap(name, "value", value), s.kubectl, "create", "-f", "-"); err != nil {
			t.Fatal(out, err)
		}
	}
	made(site1, "legacy", "old")
	for _, s := range all { // each has one of this name, which have nothing to do with each other
		made(s, "twin", s.Name())
	}
	uid := at(site1.object("configmap", "legacy"), "metadata", "uid")

	// Changes of it stay at its site.
	site1.kube("", "label", "configmap", "twin", "a=b")
	if v := at(site2.object("configmap", "twin"), "metadata", "labels"); v != nil {
		t.Errorf("the other site's object has %v", v)
	}
	if table := site1.kube(both, "get", "configmaps"); strings.Count(table, "twin") != 2 || !ends(row(table, "legacy"), "site1") {
		t.Errorf("both lists are %s", table)
	}
	if list, err := site1.Client().Resources(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the agent replicates %v, %v", list, err)
	}

	site1.skerry("resources", "adopt", "cluster/configmaps", "default/legacy", "--scope", both)
	has(e, site2, "what was adopted", is("old", "data", "value"), "configmap", "legacy")
	if now := at(site1.object("configmap", "legacy"), "metadata", "uid"); now != uid {
		t.Errorf("the object was made anew: %v, then %v", uid, now)
	}
	site2.kube("", "patch", "configmap", "legacy", "--type=merge", "-p", `{"data":{"value":"new"}}`)
	for _, s := range all {
		has(e, s, "the new value", is("new", "data", "value"), "configmap", "legacy")
	}
	converged(t, e, all)

	// An object that is in the way is not overwritten, and adopted if somebody says so.
	site1.skerry("resources", "adopt", "cluster/configmaps", "default/twin", "--scope", both)
	var id string
	e.Eventually(t, within, "site2 tells of the object that is in the way", func() error {
		out, err := site2.run("direct.yaml", "", program, "--api", "http://"+site2.Config().API, "conflicts", "-o", "json")
		if err != nil {
			return err
		}
		if id = firstID(out); id == "" {
			return errors.New("there is no conflict")
		}
		return nil
	})
	if v := at(site2.object("configmap", "twin"), "data", "value"); v != "site2" {
		t.Errorf("it was overwritten with %v", v)
	}
	site2.skerry("conflicts", "resolve", id, "adopt")
	has(e, site2, "what site1 has", func(o map[string]any) error {
		return errors.Join(is("site1", "data", "value")(o), is("b", "metadata", "labels", "a")(o))
	}, "configmap", "twin")
	converged(t, e, all)
}

// firstID reads the identifier of the first entry of a list in JSON.
func firstID(list string) string {
	_, rest, ok := strings.Cut(list, `"id":`)
	if !ok {
		return ""
	}
	var id string
	if _, err := fmt.Sscanf(strings.TrimSpace(rest), "%q", &id); err != nil {
		return ""
	}
	return id
}
