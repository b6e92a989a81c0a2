//go:build kubernetes

package kubernetes

import (
	"testing"
)

// TestDefinedLater: custom resources that are defined while the agents run are kinds like any other, and so is their definition.
func TestDefinedLater(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	site1, site2 := all[0], all[1]
	if out, err := site1.try(both, widgets, "create", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	for _, s := range all {
		e.Eventually(t, within, "the API of "+s.Name()+" has widgets", func() error {
			_, err := s.direct("get", "widgets")
			return err
		})
	}
	// As soon as the cluster tells what widgets look like, its agent knows them.
	e.Eventually(t, within, "the widget is created at both", func() error {
		_, err := site1.try(both, `{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1,"parts":[{"name":"a","n":1}]}}`, "create", "-f", "-")
		return err
	})
	for _, s := range all {
		has(e, s, "the widget", is(1.0, "spec", "size"), "widget", "w")
	}
	site2.kube("", "patch", "widget", "w", "--type=merge", "-p", `{"spec":{"size":2}}`)
	for _, s := range all {
		has(e, s, "the widget, larger", is(2.0, "spec", "size"), "widget", "w")
	}
	converged(t, e, all)
	if table := site2.kube(both, "get", "widgets", "-A"); row(table, "default", "w") == nil {
		t.Errorf("the widgets of both sites are %s", table)
	}
	// Also after a start.
	site2.Stop(t)
	site2.Start(t)
	site1.kube("", "patch", "widget", "w", "--type=merge", "-p", `{"spec":{"size":3}}`)
	for _, s := range all {
		has(e, s, "the widget, larger still", is(3.0, "spec", "size"), "widget", "w")
	}
}
