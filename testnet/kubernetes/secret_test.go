//go:build kubernetes

package kubernetes

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecrets: what a secret holds is in no file of an agent, in clear or in base64, while it is made, changed and read, and afterwards. The
// test finds it in what etcd has, so that it knows how to look.
func TestSecrets(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	one, two := all[0], all[1]
	const password, other = "correct-horse-battery-staple", "another-horse-another-staple"
	nowhere := func(when string) {
		t.Helper()
		for _, s := range all {
			for _, file := range append(filesWith(t, s.Config().Data(), password, other), filesWith(t, s.Config().Log(), password, other)...) {
				t.Errorf("%s it lies in %s of %s", when, file, s.Name())
			}
		}
	}
	shows := func(want string) {
		t.Helper()
		e.Eventually(t, within, "both sites have "+want, func() error {
			for _, s := range all {
				out, err := s.direct("get", "secret", "s", "-o", "jsonpath={.data.password}")
				if b, _ := base64.StdEncoding.DecodeString(out); err != nil || string(b) != want {
					return errors.Join(errors.New(s.Name()+" has "+out), err)
				}
			}
			return nil
		})
	}
	one.kube(both, "create", "secret", "generic", "s", "--from-literal=password="+password, "--from-literal=long="+strings.Repeat(password, 4000))
	shows(password)
	nowhere("when it is made")
	two.kube("", "patch", "secret", "s", "--type", "merge", "-p", `{"stringData":{"password":"`+other+`"}}`)
	shows(other)
	nowhere("when it is changed")
	if files := filesWith(t, filepath.Join(one.Config().Dir, "etcd"), password); files == nil {
		t.Error("etcd hides it from the test")
	}
	for _, s := range all {
		s.Stop(t)
	}
	nowhere("when the agents have stopped")
}

// filesWith lists the files below a path that have one of the texts, as it is or in base64 at any alignment, or all of it twice so.
func filesWith(t *testing.T, path string, texts ...string) (files []string) {
	t.Helper()
	var forms [][]byte
	encoded := func(text string) {
		for skip := range 3 {
			forms = append(forms, []byte(base64.StdEncoding.EncodeToString([]byte(text[skip:skip+(len(text)-skip)/3*3]))))
		}
	}
	for _, text := range texts {
		forms = append(forms, []byte(text))
		encoded(text)
		for _, once := range forms[len(forms)-3:] {
			encoded(string(once))
		}
	}
	err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && entry.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // it is needed no more
			return nil
		}
		for _, form := range forms {
			if bytes.Contains(b, form) {
				files = append(files, filepath.Base(path))
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
