package mesh

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// password is what the requests of this file hold.
const password = "correct-horse-battery-staple"

// inClear lists the files of a site that have the password, as it is or in base64 at any alignment.
func inClear(t *testing.T, s *Site) (files []string) {
	t.Helper()
	forms := [][]byte{[]byte(password)}
	for skip := range 3 {
		forms = append(forms, []byte(base64.StdEncoding.EncodeToString([]byte(password[skip:skip+(len(password)-skip)/3*3]))))
	}
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) { // a snapshot of SQLite's, or a body that is needed no more
			return nil
		}
		for _, form := range forms {
			if bytes.Contains(b, form) {
				files = append(files, string(s.Name)+"/"+e.Name())
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

// TestContentIsFoundNowhere: what requests hold, and their answers, and what the sites make of them is in no file of any site in clear: in
// small bodies and in large ones, in what one of two lost, in what is kept for a site that is away, and when all is over.
func TestContentIsFoundNowhere(t *testing.T) {
	m := open(t, Image, 3)
	a, b, c := m.Sites[0], m.Sites[1], m.Sites[2]
	nowhere := func(when string) {
		t.Helper()
		for _, s := range m.Sites {
			if files := inClear(t, s); files != nil {
				t.Errorf("%s the password lies in %v", when, files)
			}
		}
	}
	create := request(Image, "POST", "", `{"name":"n","password":"`+password+`","data":"`+base64.StdEncoding.EncodeToString([]byte(password))+`"}`, a, b)
	create.Key, create.Caller = "once", "me"
	id := must(t, 201)(a.Submit(t.Context(), create)).Resource
	settleAll(t, m)
	must(t, 204)(a.Submit(t.Context(), putFile(id, strings.Repeat(password, engine.MaxInlineBody/10), a, b)))
	nowhere("while it is used")
	m.Cut(b, true)
	for _, s := range []*Site{a, b} {
		must(t, 200)(submit(t.Context(), s, Image, "PATCH", string(id), `{"password":"`+password+` of `+string(s.Name)+`"}`))
	}
	must(t, 202)(submit(t.Context(), c, Image, "POST", "", `{"name":"later","password":"`+password+`"}`, b))
	nowhere("during a cut")
	m.Cut(b, false)
	settleAll(t, m)
	if err := a.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 300 { // over an epoch, so that there are snapshots and a checkpoint
		must(t, 200)(submit(t.Context(), a, Image, "PATCH", string(id), fmt.Sprintf(`{"f%d":%d}`, i%10, i)))
	}
	settleAll(t, m)
	nowhere("after the cut and an epoch")
	must(t, 204)(submit(t.Context(), b, Image, "DELETE", string(id), ""))
	settleAll(t, m)
	nowhere("when it is deleted")
	if !strings.Contains(string(must(t, 201)(a.Submit(t.Context(), create)).Body), password) {
		t.Error("the first answer has lost it")
	}
}
