package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// A request is signed without an agent, by the key that it is for and no other; what it says is told from what is signed.
func TestSignOffLine(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	skerry := func(want int, args ...string) (out, errs string) {
		t.Helper()
		var o, e bytes.Buffer
		got := run(args, surroundings{in: strings.NewReader(""), out: &o, errs: &e, getenv: func(string) string { return "" }, environ: os.Environ, now: time.Now})
		if got != want {
			t.Fatalf("%v ends with %d: %s", args, got, e.String())
		}
		return strings.TrimSpace(o.String()), e.String()
	}
	id, _ := skerry(0, "authority", "new", at("key"))
	skerry(0, "authority", "new", at("other"))
	s := mesh.New(engine.SiteID(id))
	founded := s.By(s.Self()).Found("the mesh", time.Now())
	if _, err := s.Take(engine.SignedRecord{Author: s.Self(), Record: engine.Encode(founded)}); err != nil {
		t.Fatal(err)
	}
	records, err := s.By(s.Self()).Order(engine.Order{Certify: "lyon", Name: "lugdunum"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("request"), []byte(s.By(s.Self()).Request(records).Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	answer, told := skerry(0, "authority", "sign", at("request"), "--key", at("key"))
	signed, err := mesh.ReadAnswer(answer)
	if err != nil || len(signed) != 1 || string(signed[0].Author) != id || len(signed[0].Signature) != 64 {
		t.Errorf("the answer is %+v: %v", signed, err)
	}
	if !strings.Contains(told, "In the mesh the mesh it says:\n  the site with the key lyon belongs to the mesh and is called lugdunum, without an end") {
		t.Errorf("it tells %q", told)
	}
	if _, told := skerry(1, "authority", "sign", at("request"), "--key", at("other")); !strings.Contains(told, "the request is for "+id) {
		t.Errorf("another key signs: %q", told)
	}
}
