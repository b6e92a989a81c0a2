package mesh

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/storage"
	"github.com/skerry/skerry/testnet/world"
)

// password is what the requests of this file hold.
const password = "correct-horse-battery-staple"

// inClear lists the files below a directory that have the password, as it is or in base64 at any alignment.
func inClear(t *testing.T, dir string) (files []string) {
	t.Helper()
	forms := [][]byte{[]byte(password)}
	for skip := range 3 {
		forms = append(forms, []byte(base64.StdEncoding.EncodeToString([]byte(password[skip:skip+(len(password)-skip)/3*3]))))
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, form := range forms {
			if bytes.Contains(b, form) {
				files = append(files, path)
				break
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestContentIsFoundNowhere has two sites keep what they have in real stores: what requests hold, and their answers, and what the sites
// make of them is in no file of any site in clear: in what one of two lost, in what is kept for a site that is away, and when all is over.
func TestContentIsFoundNowhere(t *testing.T) {
	dir := t.TempDir()
	stores := map[int]*storage.Store{}
	w, err := world.New(world.Options{Sites: 3, Kinds: []*engine.Kind{natural}, Rng: rand.New(rand.NewPCG(1, 1)), Luck: rand.New(rand.NewPCG(1, 2)),
		Store: func(s *world.Site) (engine.Store, error) {
			store, err := storage.Open(filepath.Join(dir, string(s.Name)), storage.Options{Now: s.Clock})
			stores[s.N] = store
			return store, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		for _, s := range stores {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	settle := func() {
		for range 40 {
			w.DeliverAll()
			w.Reconcile()
			w.Pass(time.Second)
		}
	}
	var answers [][]byte
	ask := func(at *world.Site, method, body string, placement ...*world.Site) int {
		t.Helper()
		r := request(natural, method, "x", body)
		r.Key, r.Caller = fmt.Sprint("key ", len(answers)), "me"
		for _, s := range placement {
			r.Placement = append(r.Placement, s.ID)
		}
		var a engine.Answer
		var err error
		w.Do(at.Proc, func() { a, err = at.Proc.Front.Submit(w.Ctx, r) })
		for range 40 {
			for _, s := range w.Sites {
				s.WorkOff()
			}
			w.Pass(10 * time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a.Body)
		return a.Status
	}
	nowhere := func(when string) {
		t.Helper()
		if files := inClear(t, dir); files != nil {
			t.Errorf("%s the password lies in %v", when, files)
		}
	}
	a, b, c := w.Sites[0], w.Sites[1], w.Sites[2]
	if s := ask(a, "PUT", `{"password":"`+password+`","data":"`+base64.StdEncoding.EncodeToString([]byte(password))+`"}`, a, b); s != 201 || !strings.Contains(string(answers[0]), password) {
		t.Fatalf("answered %d %s", s, answers[0])
	}
	settle()
	nowhere("while it is used")
	cut := func(cut bool) {
		for _, other := range []*world.Site{a, c} {
			w.Link(b, other, cut)
			w.Link(other, b, cut)
		}
	}
	cut(true)
	for _, s := range []*world.Site{a, b} {
		ask(s, "PATCH", `{"password":"`+password+` of `+string(s.Name)+`"}`)
	}
	if s := ask(c, "PUT", `{"name":"later","password":"`+password+`"}`, b); s != 202 {
		t.Errorf("what nobody can take is answered %d", s)
	}
	nowhere("during a cut")
	cut(false)
	settle()
	for i := range 300 { // over an epoch, so that there is a checkpoint
		ask(a, "PATCH", fmt.Sprintf(`{"f%d":%d}`, i%10, i))
	}
	settle()
	nowhere("after the cut and an epoch")
	ask(b, "DELETE", "")
	settle()
	nowhere("when it is deleted")
	for _, p := range w.Problems {
		t.Error(p)
	}
}
