package powerloss

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/mesh"
	"github.com/skerry/skerry/engine/view"
	"github.com/skerry/skerry/p2p"
	"github.com/skerry/skerry/storage"
	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

var (
	writes = flag.Int("powerloss.writes", 150, "how many requests clients have acknowledged before the trace is read")
	every  = flag.Int("powerloss.every", 40, "how many system calls there are from one image to the next")
	seed   = flag.Uint64("powerloss.seed", 0, "what survives of what was not synced; 0: by the clock")
)

// memory is a file system in which a sync costs nothing.
const memory = "/dev/shm"

// TestPowerLoss records what an agent asks of its disk while clients write, and opens its data directory as it may be after a
// power failure at hundreds of instants: every operation that was acknowledged before is there, and the database is whole.
func TestPowerLoss(t *testing.T) {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("to repeat what survives: -powerloss.seed %d", s)
	chance := mathrand.New(mathrand.NewPCG(s, 0))
	dir, trace := record(t)
	file, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := NewDisk(dir)
	d.Left = []string{"reserve", "lock", "skerry.db-shm"} // nobody reads them again
	var c checker
	var calls, acked int
	take := func(chance *mathrand.Rand) error {
		image, err := os.MkdirTemp(memory, "skerry-powerloss-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(image)
		if err := d.Image(image, chance); err != nil {
			return err
		}
		return c.check(image)
	}
	err = d.Play(file, func(data string) error {
		id := acknowledged(data)
		if id == "" {
			return nil
		}
		c.acked = append(c.acked, engine.OperationID(id))
		if acked++; acked%7 != 0 {
			return nil
		}
		return take(nil) // at the very instant of the acknowledgement, with nothing but what was synced
	}, func() error {
		if calls++; calls%*every != 0 {
			return nil
		}
		return take(chance)
	})
	if err != nil {
		t.Fatalf("after %d system calls and %d acknowledgements: %v", calls, acked, err)
	}
	if acked < *writes {
		t.Fatalf("the trace has %d acknowledgements of %d", acked, *writes)
	}
	t.Logf("%d system calls, %d acknowledgements, %d images (%d of a site that had begun), 0 losses", calls, acked, c.images, c.begun)
}

var operation = regexp.MustCompile(`(?m)^Skerry-Operation: (\S+)\r$`)

// acknowledged returns the operation that an answer to a client acknowledges, empty for anything else.
func acknowledged(data string) string {
	if !strings.HasPrefix(data, "HTTP/1.1 2") {
		return ""
	}
	if m := operation.FindStringSubmatch(data); m != nil {
		return m[1]
	}
	return ""
}

// record lets clients write at a site whose agent is traced, and returns its data directory and the trace.
func record(t *testing.T) (dir, trace string) {
	t.Helper()
	bin := t.TempDir()
	program, err := env.Build(t.Context(), bin)
	if err != nil {
		t.Fatal(err)
	}
	// Agents run under strace; what else the program does is started as it is.
	traced := filepath.Join(bin, "traced")
	script := "#!/bin/sh\nif [ \"$1\" = agent ]; then exec " + strings.Join(Command(`"$3.trace"`, program), " ") + " \"$@\"; fi\nexec " + program + " \"$@\"\n"
	if err := os.WriteFile(traced, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	e := env.New(t, env.Setup{Program: traced, Sites: []string{"paris", "nantes"}, Application: env.Lab(program)})
	paris, nantes := e.Site("paris"), e.Site("nantes")
	write(t, paris, nantes)
	paris.Stop(t)
	trace = paris.Config().File() + ".trace"
	e.Eventually(t, 2*time.Minute, "strace has written everything", func() error {
		b, err := os.ReadFile(trace)
		if err == nil && !strings.HasSuffix(string(b), "+++ exited with 0 +++\n") {
			err = errors.New("the trace has no end")
		}
		return err
	})
	return paris.Config().Data(), trace
}

// write asks for so many things, from several clients at once, at paris and a few at nantes, whose operations paris takes in.
func write(t *testing.T, paris, nantes *env.Site) {
	t.Helper()
	const scope = "{images: paris & nantes}"
	var clients sync.WaitGroup
	ask := func(s *env.Site, request, body string) env.Answer {
		a, err := s.Request(t.Context(), lab.Images, request, body, "Scope", scope)
		if err != nil || a.Status > 299 {
			t.Errorf("%s: %v %d %s", request, err, a.Status, a.Body)
		}
		return a
	}
	const workers = 5
	for w := range workers {
		clients.Go(func() {
			for i := range *writes / workers / 3 {
				a := ask(paris, "POST /images", fmt.Sprintf(`{"name":"%d-%d"}`, w, i))
				ask(paris, "PATCH /images/"+a.Text("id"), `{"size":1}`)
				if i%5 == 0 {
					ask(nantes, "POST /images", fmt.Sprintf(`{"name":"nantes-%d-%d"}`, w, i))
				}
				if i%2 == 0 {
					ask(paris, "DELETE /images/"+a.Text("id"), "")
				} else {
					ask(paris, "PUT /images/"+a.Text("id"), fmt.Sprintf(`{"name":"%d-%d","size":2}`, w, i))
				}
			}
		})
	}
	clients.Wait()
}

// checker opens images.
type checker struct {
	acked         []engine.OperationID
	self          engine.SiteID // who the site is, from the first image that tells
	images, begun int
}

// check opens a data directory: everything acknowledged is in it.
func (c *checker) check(dir string) error {
	c.images++
	ctx := context.Background()
	store, err := storage.Open(dir, storage.Options{})
	if err != nil {
		return fmt.Errorf("the store does not open: %w", err)
	}
	defer store.Close()
	records, err := store.Mesh(ctx)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		if len(c.acked) > 0 {
			return fmt.Errorf("the site belongs to no mesh, after %d acknowledgements", len(c.acked))
		}
		return nil
	}
	c.begun++
	if err := whole(filepath.Join(dir, "skerry.db")); err != nil {
		return err
	}
	// Who has a mesh has a key, and keeps it.
	if _, err := os.Stat(filepath.Join(dir, "identity.key")); err != nil {
		return fmt.Errorf("the identity is gone: %w", err)
	}
	key, err := p2p.Identity(dir)
	if err != nil {
		return err
	}
	self, err := p2p.SiteIDOf(key)
	if err != nil {
		return err
	}
	if c.self != "" && self != c.self {
		return fmt.Errorf("the site was %s and is %s", c.self, self)
	}
	c.self = self
	if _, err := os.Stat(filepath.Join(dir, "vault.key")); err != nil {
		return fmt.Errorf("the key of what is kept is gone: %w", err)
	}
	documents, err := crdt.New(key)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := documents.Verify(r.Author, mesh.Message(r.Record), r.Signature); err != nil {
			return fmt.Errorf("a record of the mesh: %w", err)
		}
	}
	open, err := inFlight(ctx, store)
	if err != nil {
		return err
	}
	for _, id := range c.acked {
		row, err := store.Operation(ctx, id)
		if errors.Is(err, engine.ErrNotFound) && open[id] {
			continue // whole, and sent again by itself at the next start
		}
		if err != nil {
			return fmt.Errorf("operation %s was acknowledged and is lost: %w", id, err)
		}
		if row.Sites[self].State != engine.StateApplied {
			return fmt.Errorf("operation %s was acknowledged and is %s", id, row.Sites[self].State)
		}
	}
	return c.inDocuments(ctx, store, documents)
}

// inFlight are the operations that are on disk as requests in flight, and of which a client may have been told before it is certain what came of
// them.
func inFlight(ctx context.Context, store *storage.Store) (map[engine.OperationID]bool, error) {
	pending, err := store.Pending(ctx)
	if err != nil {
		return nil, err
	}
	open := map[engine.OperationID]bool{}
	for _, id := range pending {
		record, err := store.Record(ctx, id)
		if err != nil {
			return nil, err
		}
		var kept view.Kept
		if err := engine.Decode(record.Mine, &kept); err != nil {
			return nil, err
		}
		if len(kept.Doing) == 0 {
			continue
		}
		var doing map[int]cbor.RawMessage
		if err := engine.Decode(kept.Doing, &doing); err != nil {
			return nil, err
		}
		var own flight.Flight
		if len(doing[1]) > 0 {
			if err := engine.Decode(doing[1], &own); err != nil {
				return nil, err
			}
		}
		open[own.Operation.ID] = own.Early
	}
	return open, nil
}

// inDocuments looks for the last operations that were acknowledged in their documents: indexes are not what travels.
func (c *checker) inDocuments(ctx context.Context, store *storage.Store, documents *crdt.Documents) error {
	for _, id := range c.acked[max(0, len(c.acked)-5):] {
		row, err := store.Operation(ctx, id)
		if errors.Is(err, engine.ErrNotFound) {
			continue // it is in flight
		}
		if err != nil {
			return err
		}
		found, err := inDocument(ctx, store, documents, row)
		if err != nil {
			return fmt.Errorf("the document of operation %s: %w", id, err)
		}
		if !found {
			return fmt.Errorf("operation %s was acknowledged and is not in its document", id)
		}
	}
	return nil
}

// inDocument reports whether an operation is in its document, all of whose changes are as their authors have signed them.
func inDocument(ctx context.Context, store *storage.Store, documents *crdt.Documents, row engine.OperationRow) (found bool, err error) {
	record, err := store.Record(ctx, row.Document)
	if err != nil {
		return false, err
	}
	about, id, err := documents.Decode(record.About)
	if err != nil {
		return false, err
	}
	changes, _, err := store.Changes(ctx, id, nil, 0)
	if err != nil {
		return false, err
	}
	for _, stored := range changes {
		change, err := documents.Read(about, id, stored.Epoch, stored.SignedChange, false)
		if err != nil {
			return false, err
		}
		for _, e := range change.Entries {
			if e.Map != engine.MapOperations {
				continue
			}
			var o engine.Operation
			if err := engine.Decode(e.Value, &o); err != nil {
				return false, err
			}
			found = found || o.ID == row.ID
		}
	}
	return found, nil
}

// whole asks SQLite whether a database is.
func whole(path string) error {
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=rw")
	if err != nil {
		return err
	}
	defer db.Close()
	var says string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&says); err != nil {
		return err
	}
	if says != "ok" {
		return fmt.Errorf("the database is damaged: %s", says)
	}
	return nil
}
