package versions

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// newer are the places of this tree where a later one has more: an operation, a status, what a site calls its object, what a site says of itself, and
// the parcels of a letter get a field. It has what the process is that wrote it, and who reads it writes that into its log, but for parcels, which go no
// further.
var newer = []struct{ file, old, now string }{
	{"engine/operation.go", "type Operation struct {\n", "type Operation struct {\n\tNewer string `cbor:\"99,keyasint,omitempty\"`\n"},
	{"engine/status.go", "type Status struct {\n", "type Status struct {\n\tNewer string `cbor:\"99,keyasint,omitempty\"`\n"},
	{"engine/document.go", "type Replica struct {\n", "type Replica struct {\n\tNewer string `cbor:\"99,keyasint,omitempty\"`\n"},
	{"engine/letter.go", "type Parcel struct {\n", "type Parcel struct {\n\tNewer string `cbor:\"99,keyasint,omitempty\"`\n"},
	{"engine/mesh.go", "type SiteRecord struct {\n", "type SiteRecord struct {\n\tNewer string `cbor:\"99,keyasint,omitempty\" json:\"newer,omitempty\"`\n"},
	{"engine/cbor.go", "import (\n", "import (\n\t\"os\"\n"},
	{"engine/cbor.go", "func Encode(v any) []byte {\n", `func Encode(v any) []byte {
	writer := fmt.Sprint(os.Getpid())
	switch x := v.(type) {
	case *Operation:
		c := *x
		c.Newer = writer
		v = &c
	case *Status:
		c := *x
		c.Newer = writer
		v = &c
	case *Replica:
		c := *x
		c.Newer = writer
		v = &c
	case *Parcel:
		c := *x
		c.Newer = writer
		v = &c
	case SiteRecord:
		x.Newer = writer
		v = x
	case *SiteRecord:
		c := *x
		c.Newer = writer
		v = &c
	}
`},
	{"engine/cbor.go", "		return fmt.Errorf(\"%w: %w\", ErrRefused, err)\n\t}\n", `		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	switch x := v.(type) {
	case *Operation:
		fmt.Fprintf(os.Stderr, "newer field of an operation, written by %q\n", x.Newer)
	case *Status:
		fmt.Fprintf(os.Stderr, "newer field of a status, written by %q\n", x.Newer)
	case *Replica:
		fmt.Fprintf(os.Stderr, "newer field of a replica, written by %q\n", x.Newer)
	case *SiteRecord:
		fmt.Fprintf(os.Stderr, "newer field of a record, written by %q\n", x.Newer)
	}
`},
}

// buildNewer builds a later version of this tree, which stays as it is.
func buildNewer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	texts, replace := map[string]string{}, map[string]string{}
	for _, e := range newer {
		path, err := filepath.Abs(filepath.Join(root, e.file))
		if err != nil {
			t.Fatal(err)
		}
		if texts[path] == "" {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[path] = string(b)
		}
		if strings.Count(texts[path], e.old) != 1 {
			t.Fatalf("%s does not have once\n%s", e.file, e.old)
		}
		texts[path] = strings.Replace(texts[path], e.old, e.now, 1)
	}
	for path, text := range texts {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "skerry")
	if err := env.Program(t.Context(), at, "github.com/skerry/skerry/cmd/skerry", "-overlay", overlay); err != nil {
		t.Fatal("a later version:", err)
	}
	return at
}

// TestNewerFieldsAreKept: what only later versions know goes through an agent of the previous release, and through its disk, from one that writes it to
// one that reads it and was not there. What the older one makes itself is understood by both.
func TestNewerFieldsAreKept(t *testing.T) {
	later := buildNewer(t)
	e := env.New(t, env.Setup{Program: later, Programs: map[string]string{"paris": older}, Sites: []string{"paris", "nantes", "lyon"}, Application: env.Lab(program)})
	paris, nantes, lyon := e.Site("paris"), e.Site("nantes"), e.Site("lyon")
	id := paris.Do(t, lab.Images, "POST /images", `{"name":"debian"}`, "Scope", "{images: sync(*)}").Must(t, 201).Text("id")
	shows := func(s *env.Site, what string) {
		t.Helper()
		e.Eventually(t, patience, s.Name()+" shows "+what, func() error {
			if a := s.Application(t, lab.Images, "GET /images", ""); !strings.Contains(a.Body, what) {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
	}

	lyon.Stop(t)
	nantes.Stop(t)
	nantes.Start(t) // what it says of itself is new
	writer := nantes.Agent().PID()
	e.Eventually(t, patience, "nantes and paris meet", func() error {
		seen, err := nantes.Client().Sites(t.Context())
		for _, x := range seen {
			if x.Name == "paris" && x.Reachable {
				return err
			}
		}
		return fmt.Errorf("%+v, %w", seen, err)
	})
	nantes.Do(t, lab.Images, "PATCH /images/"+id, `{"description":"checked"}`, "Content-Type", "application/merge-patch+json").Must(t, 200)
	shows(paris, "checked")
	made := paris.Do(t, lab.Images, "POST /images", `{"name":"fedora"}`, "Scope", "{images: *}").Must(t, 201).Text("id")
	shows(nantes, "fedora")
	for _, id := range []string{id, made} {
		e.Eventually(t, patience, "paris knows that nantes has it", func() error {
			operations, err := paris.Client().Operations(t.Context(), id)
			if len(operations) == 0 && err == nil {
				err = fmt.Errorf("it knows of no operation")
			}
			for _, o := range operations {
				if o.Sites["nantes"].State != "applied" {
					err = fmt.Errorf("%+v", o)
				}
			}
			return err
		})
	}
	nantes.Stop(t)
	paris.Kill(t)
	paris.Start(t)
	lyon.Start(t)
	shows(lyon, "checked")
	shows(lyon, "fedora")
	for _, what := range []string{"an operation", "a status", "a replica", "a record"} {
		line := fmt.Sprintf("newer field of %s, written by \"%d\"\n", what, writer)
		e.Eventually(t, patience, "lyon reads "+strings.TrimSpace(line), func() error {
			b, err := os.ReadFile(lyon.Config().Log())
			if err == nil && !strings.Contains(string(b), line) {
				err = fmt.Errorf("it has not")
			}
			return err
		})
	}
}
