package versions

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/skerry/skerry/testnet/conform"
	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// program is this tree's, older the previous release's.
var program, older string

func TestMain(m *testing.M) {
	env.Main(m, &program, func(ctx context.Context) (err error) {
		older, err = BuildPrevious(ctx)
		return err
	})
}

// patience bounds what would never come; a loaded machine may be slow.
const patience = 3 * time.Minute

// TestTwoVersionsThroughACut has two instances of lab changed at both sides of a cut with each pair of operations, one behind an agent of the previous
// release and the other behind one of this tree. Direct clients are shown the same at the end.
func TestTwoVersionsThroughACut(t *testing.T) {
	report, err := conform.Lab.Conformance(context.WithoutCancel(t.Context()), older, t.TempDir(), func(c *conform.Conformance) {
		c.Other, c.Patience, c.Tell = program, patience, t.Logf
		c.Only([]string{"networks/network", "servers/key"})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"networks/network": 97, "servers/key": 113}
	for _, k := range report.Kinds {
		if k.Counts[conform.Same] != len(k.Cases) || len(k.Cases) != want[k.Kind] || len(k.Deleted.Left) > 0 {
			t.Errorf("%s: of %d pairs it says %v, of deleted ones %+v", k.Kind, len(k.Cases), k.Counts, k.Deleted)
		}
		for _, c := range k.Cases {
			if c.Verdict != conform.Same {
				t.Errorf("%s × %s: %s: %s", c.First, c.Second, c.Verdict, c.Why)
			}
		}
		delete(want, k.Kind)
	}
	if len(want) > 0 {
		t.Errorf("it has left out %v", want)
	}
}

// rig is a mesh that this tree's agent has founded, with one of the previous release.
type rig struct {
	*env.Env
	t             *testing.T
	paris, nantes *env.Site
	at            string // the path of paris's agent, which is the older one
	image, group  string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	at := filepath.Join(t.TempDir(), "skerry")
	copyFile(t, older, at)
	e := env.New(t, env.Setup{Program: program, Programs: map[string]string{"paris": at}, Sites: []string{"nantes", "paris"}, Application: env.Lab(program)})
	r := &rig{Env: e, t: t, paris: e.Site("paris"), nantes: e.Site("nantes"), at: at}
	r.image = r.paris.Do(t, lab.Images, "POST /images", `{"name":"debian"}`, "Scope", "{images: sync(paris & nantes)}").Must(t, 201).Text("id")
	r.group = r.nantes.Do(t, lab.Servers, "POST /servers", `{"name":"group","count":5,"image":"`+r.image+`"}`, "Scope", "{servers: paris % nantes}").Must(t, 201).Text("id")
	r.nantes.Do(t, lab.Servers, "PUT /keys/ops", `{"public":"a"}`, "Scope", "{servers: sync(paris & nantes)}").Must(t, 201)
	return r
}

// copyFile puts a program into the place of another one as a package does: beside it, and moved there whole.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to+".new", b, 0o755)
	}
	if err == nil {
		err = os.Rename(to+".new", to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// local is what a site's application calls a resource.
func local(t *testing.T, s *env.Site, id string) string {
	t.Helper()
	resources, err := s.Client().Resources(t.Context())
	for _, x := range resources {
		if x.ID == id && x.Sites[s.Name()].LocalID != "" {
			return x.Sites[s.Name()].LocalID
		}
	}
	t.Fatalf("%s does not have %s: %v", s.Name(), id, err)
	return ""
}

// through changes what both share at both sides of a cut, and has both applications show all of it afterwards; mark is new each time.
func (r *rig) through(mark string) {
	r.t.Helper()
	const merge = "application/merge-patch+json"
	file := strings.Repeat(mark, 40_000) // more than an operation carries
	r.nantes.Cut(r.t)
	r.paris.Do(r.t, lab.Images, "PATCH /images/"+r.image, `{"description":"`+mark+` of paris"}`, "Content-Type", merge).Must(r.t, 200)
	r.nantes.Do(r.t, lab.Images, "PATCH /images/"+r.image, `{"tags":["`+mark+`"]}`, "Content-Type", merge).Must(r.t, 200)
	r.paris.Do(r.t, lab.Images, "PUT /images/"+r.image+"/file", file, "Content-Type", "application/octet-stream").Must(r.t, 200)
	r.nantes.Do(r.t, lab.Servers, "PUT /keys/ops", `{"public":"`+mark+` of nantes"}`).Must(r.t, 200)
	r.paris.Do(r.t, lab.Servers, "PUT /keys/"+mark, `{"public":"`+mark+`"}`, "Scope", "{servers: paris & nantes}").Must(r.t, 201)
	r.nantes.Heal(r.t)
	for _, s := range []*env.Site{r.paris, r.nantes} {
		image := local(r.t, s, r.image)
		for request, want := range map[string][]string{
			"images GET /images/" + image:           {mark + " of paris", `"tags":["` + mark + `"]`},
			"images GET /images/" + image + "/file": {file},
			"servers GET /keys/ops":                 {mark + " of nantes"},
			"servers GET /keys/" + mark:             {mark},
		} {
			service, request, _ := strings.Cut(request, " ")
			r.Eventually(r.t, patience, s.Name()+" shows what was done at both sides: "+request, func() error {
				a := s.Application(r.t, service, request, "")
				for _, w := range want {
					if a.Status != 200 || !strings.Contains(a.Body, w) {
						return fmt.Errorf("%d %.300s", a.Status, a.Body)
					}
				}
				return nil
			})
		}
		r.Eventually(r.t, patience, s.Name()+" reads the group as one", func() error {
			if a := s.Do(r.t, lab.Servers, "GET /servers/"+r.group, ""); a.Status != 200 || !strings.Contains(a.Body, `"count":5`) || a.Header.Get("Skerry-Missing") != "" {
				return fmt.Errorf("%d %s %v", a.Status, a.Body, a.Header)
			}
			return nil
		})
		r.Eventually(r.t, patience, s.Name()+" calls all of it converged", func() error {
			resources, err := s.Client().Resources(r.t.Context())
			for _, x := range resources {
				if x.State != "converged" {
					err = errors.Join(err, fmt.Errorf("%s %s: %s", x.ID, x.State, x.Reason))
				}
			}
			return err
		})
	}
}

// successors are the processes that run paris's agent, without the one that env has started.
func (r *rig) successors() (pids []int) {
	r.t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, path := range lines {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			r.t.Fatal(err)
		}
		if args := strings.Split(string(b), "\x00"); slices.Contains(args, r.paris.Config().File()) && pid != r.paris.Agent().PID() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestUpgradeAndBack has an agent of the previous release taken over by one of this tree while clients ask, and then go back. The mesh goes through a
// cut each time.
func TestUpgradeAndBack(t *testing.T) {
	r := newRig(t)
	t.Cleanup(func() {
		for _, pid := range r.successors() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	})
	r.through("before")

	// apt install puts the new program in the old one's place and has it take over.
	copyFile(t, program, r.at)
	if err := syscall.Kill(r.paris.Agent().PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	asked := 0
	r.Eventually(t, patience, "the new version takes over at paris", func() error {
		a, err := r.paris.Request(t.Context(), lab.Images, "GET /images/"+r.image, "")
		if asked++; err != nil || a.Status != 200 {
			t.Fatalf("meanwhile a client is answered %d %s %v", a.Status, a.Body, err)
		}
		select {
		case <-r.paris.Agent().Done():
			return nil
		default:
			return errors.New("the old process is there")
		}
	})
	after := r.successors()
	if len(after) != 1 {
		t.Fatalf("%v are the processes after it; %v", after, r.paris.Agent().Ended())
	}
	if to, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", after[0])); err != nil || to != r.at {
		t.Fatalf("%s has taken over, %v", to, err)
	}
	t.Logf("%d requests were answered meanwhile", asked)
	r.through("taken-over")

	if err := syscall.Kill(after[0], syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.Eventually(t, patience, "the new version ends", func() error {
		if left := r.successors(); len(left) > 0 {
			return fmt.Errorf("%v are there", left)
		}
		return nil
	})
	r.paris.Use(older)
	r.paris.Start(t)
	r.through("back")
}

// TestNewerStoreIsRefused: an agent that is older than its data says so, and changes nothing there.
func TestNewerStoreIsRefused(t *testing.T) {
	for name, agent := range map[string]string{"the previous release": older, "this tree": program} {
		t.Run(name, func(t *testing.T) {
			e := env.New(t, env.Setup{Program: agent, Sites: []string{"paris"}, Application: env.Lab(program)})
			paris := e.Site("paris")
			paris.Do(t, lab.Images, "POST /images", `{"name":"debian"}`, "Scope", "{images: paris}").Must(t, 201)
			paris.Stop(t)
			database := filepath.Join(paris.Config().Data(), "skerry.db")
			db, err := sql.Open("sqlite3", database)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(`PRAGMA user_version = 99`); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			before := contents(t, paris.Config().Data())
			argv := paris.Host().Command(agent, "agent", "--config", paris.Config().File())
			out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "it has version 99, made by a newer release") {
				t.Errorf("it ends with %v and says\n%s", err, out)
			}
			for name, b := range contents(t, paris.Config().Data()) {
				if !bytes.Equal(b, before[name]) {
					t.Errorf("%s is not as it was", name)
				}
				delete(before, name)
			}
			for name := range before {
				t.Errorf("%s is gone", name)
			}
		})
	}
}

// contents are the files of a folder, but for the lock, which says who had it last, and SQLite's index of its log.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" || strings.HasSuffix(path, "-shm") {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAnOlderAgentHoldsADivisionBack: it goes on showing what it showed, says that it is held up, and catches up once it is of this tree.
func TestAnOlderAgentHoldsADivisionBack(t *testing.T) {
	r := newRig(t)
	shows := func(s *env.Site, count string) {
		t.Helper()
		r.Eventually(t, patience, s.Name()+" shows "+count, func() error {
			if a := s.Application(t, lab.Servers, "GET /servers/"+local(t, s, r.group), ""); !strings.Contains(a.Body, `"count":`+count) {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
	}
	shows(r.paris, "3")
	shows(r.nantes, "2")
	if err := r.nantes.Client().Call(t.Context(), "PATCH", "/api/v1/resources/"+r.group, map[string]string{"scope": "nantes & paris"}, nil); err != nil {
		t.Fatal(err)
	}
	shows(r.nantes, "5")
	r.Eventually(t, patience, "paris says that something is held back", func() error {
		resources, err := r.paris.Client().Resources(t.Context())
		for _, x := range resources {
			if x.ID == r.group && !strings.Contains(x.Reason, "held back") {
				err = fmt.Errorf("%s: %s", x.State, x.Reason)
			}
		}
		return err
	})
	shows(r.paris, "3")
	r.paris.Stop(t)
	r.paris.Use(program)
	r.paris.Start(t)
	shows(r.paris, "5")
}
