package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/skerry/skerry/testnet/conform"
	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/site"
)

// PocketBase is an application that nobody here wrote: https://pocketbase.io. Each site has an instance of its own, set
// up alike with one collection that everybody may use.

const (
	notes     = "/api/collections/notes/records"
	bothNotes = "{records: paris & nantes}"
)

func pocketBase(program string) env.Application {
	return env.Application{
		Catalog:  conform.PocketBaseCatalog,
		Services: map[string]int{"records": 9801},
		Health:   "/api/health",
		Command: func(dir string) []string {
			return []string{program, "serve", "--http", "127.0.0.1:9801", "--dir", filepath.Join(dir, "pocketbase")}
		},
		Ready: func(ctx context.Context, s *env.Site) error {
			return conform.AddNotes(ctx, program, filepath.Join(s.Config().Dir, "pocketbase"), &site.Client{Base: "http://127.0.0.1:9801", HTTP: s.HTTP()})
		},
	}
}

func TestPocketBaseThroughACut(t *testing.T) {
	built, err := conform.BuildPocketBase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes"}, Application: pocketBase(built)})
	paris, nantes := e.Site("paris"), e.Site("nantes")
	ask := func(s *env.Site, request, body string, header ...string) env.Answer {
		t.Helper()
		return s.Do(t, "records", request, body, header...)
	}
	// The application's own way of answering stays: 200 for a record that was made.
	first := ask(paris, "POST "+notes, `{"title":"first","stars":1}`, "Scope", bothNotes).Must(t, 200)
	old := ask(nantes, "POST "+notes, `{"title":"old"}`, "Scope", bothNotes).Must(t, 200)
	id := first.Text("id")
	if len(id) != 15 || first.Header.Get("Skerry-Resource") != id {
		t.Fatalf("the record was answered with %v %s", first.Header, first.Body)
	}
	e.Eventually(t, patience, "both sites have both records", func() error { return sameNotes(t, paris, nantes, 2) })
	if a := nantes.Application(t, "records", "GET "+notes+"/"+id, ""); a.Status != 200 {
		t.Errorf("PocketBase accepts identifiers, and nantes has the record under another one: %d", a.Status)
	}

	nantes.Cut(t)
	ask(paris, "PATCH "+notes+"/"+id, `{"text":"changed at paris"}`).Must(t, 200)
	ask(nantes, "PATCH "+notes+"/"+id, `{"stars":5}`).Must(t, 200)
	ask(paris, "POST "+notes, `{"title":"made at paris"}`, "Scope", bothNotes).Must(t, 200)
	ask(nantes, "POST "+notes, `{"title":"made at nantes"}`, "Scope", bothNotes).Must(t, 200)
	ask(paris, "DELETE "+notes+"/"+old.Text("id"), "").Must(t, 204)
	ask(nantes, "GET "+notes+"/"+old.Text("id"), "").Must(t, 200)
	paris.Kill(t)
	paris.Start(t)

	heal(t, e, nantes)
	e.Eventually(t, patience, "both sites show the same three records", func() error {
		if err := sameNotes(t, paris, nantes, 3); err != nil {
			return err
		}
		a := ask(nantes, "GET "+notes+"/"+id, "").Must(t, 200)
		if f := a.Fields(); f["text"] != "changed at paris" || f["stars"] != 5.0 || f["title"] != "first" {
			return fmt.Errorf("the record is %s", a.Body)
		}
		return nil
	})
}

// sameNotes says why two instances of PocketBase, asked past the agents, do not hold the same so many records.
func sameNotes(t *testing.T, x, y *env.Site, n int) error {
	t.Helper()
	var lists []map[string]map[string]any
	for _, s := range []*env.Site{x, y} {
		var list struct{ Items json.RawMessage }
		if err := json.Unmarshal([]byte(s.Application(t, "records", "GET "+notes, "").Must(t, 200).Body), &list); err != nil {
			t.Fatal(err)
		}
		all, err := images(string(list.Items))
		if err != nil {
			return err
		}
		lists = append(lists, all)
	}
	if len(lists[0]) != n {
		return fmt.Errorf("%s holds %d records, want %d", x.Name(), len(lists[0]), n)
	}
	if err := same(lists[0], lists[1]); err != nil {
		return errors.Join(fmt.Errorf("%s and %s differ", x.Name(), y.Name()), err)
	}
	return nil
}
