package acceptance

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

const (
	// largeBody is what a body has that no agent could hold without being noticed: more than it may take for everything.
	largeBody = 384 << 20
	// mostMemory is what an agent may take.
	mostMemory = 300_000_000
)

// replicateALargeBody gives an image at two sites a large file, and reads it from the third.
func replicateALargeBody(t *testing.T, e *env.Env) {
	paris, nantes, toulouse := e.Site("paris"), e.Site("nantes"), e.Site("toulouse")
	image := made(t, paris, lab.Images, both, `{"name":"with a large file"}`)
	body := func() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{7}), largeBody) }
	stream(t, paris, "PUT", image, body(), io.Discard)
	e.Eventually(t, patience, "nantes has the file", func() error {
		a := nantes.Application(t, lab.Images, "GET /images", "").Must(t, 200)
		if !strings.Contains(a.Body, fmt.Sprintf(`"size":%d,`, largeBody)) {
			return fmt.Errorf("it has %s", a.Body)
		}
		return nil
	})
	want := sha256.New()
	if _, err := io.Copy(want, body()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*env.Site{nantes, toulouse} { // toulouse is given it by another
		got := sha256.New()
		stream(t, s, "GET", image, nil, got)
		if string(got.Sum(nil)) != string(want.Sum(nil)) {
			t.Errorf("%s shows another file", s.Name())
		}
	}
	for _, s := range e.Sites() {
		if n := mostTaken(t, s); n > mostMemory {
			t.Errorf("the agent of %s has taken %d bytes of memory", s.Name(), n)
		}
	}
}

// stream sends or reads the file of an image that paris and nantes have.
func stream(t *testing.T, s *env.Site, method, image string, body io.Reader, to io.Writer) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:9701/images/"+image+"/file", body)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		r.ContentLength = largeBody
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Scope", both)
	resp, err := s.HTTP().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(to, resp.Body); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s at %s: %s, %v", method, s.Name(), resp.Status, err)
	}
}

// mostTaken is the most memory that a site's agent has had since it was started, in bytes.
func mostTaken(t *testing.T, s *env.Site) (n int64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Agent().PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(b), "VmHWM:")
	if _, err := fmt.Sscan(line, &n); err != nil {
		t.Fatal(err)
	}
	return n << 10
}
