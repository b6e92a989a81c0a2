//go:build openstack

package openstack

import (
	"crypto/sha512"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

var large = flag.Int64("glance.file", 32<<20, "bytes of the large file, such as 1073741824")

// memory is the most that an agent may ever have taken, whatever the size of a file.
const memory = 300 << 20

// largeFile replicates an image whose file is not to be in any agent's memory. With -v it tells what that took.
func largeFile(t *testing.T, c cloud) {
	paris := c.Site("paris")
	id := c.made(t, paris, "large", "Scope", both)
	c.converged(t, id)
	before := map[*env.Site]int64{}
	for _, s := range c.Sites() {
		before[s] = peak(t, s)
	}
	sum := sha512.New()
	body := io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{1}), *large), sum)
	begin := time.Now()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1:9192/v2/images/"+id+"/file", body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = *large
	r.Header = http.Header{"Content-Type": {octets}, "X-Auth-Token": {c.tokens[paris]}}
	resp, err := paris.HTTP().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 204 {
		t.Fatalf("the file is answered with %s", resp.Status)
	}
	answered := time.Since(begin)
	want := hex.EncodeToString(sum.Sum(nil))
	for _, s := range c.Sites() {
		c.Eventually(t, max(patience, time.Duration(*large>>20)*time.Second), s.Name()+" has the file", func() error {
			if a := c.glance(t, s, "GET /v2/images/"+id, "").Must(t, 200); a.Text("os_hash_value") != want {
				return fmt.Errorf("it is %s", a.Text("status"))
			}
			return nil
		})
	}
	t.Logf("%d bytes: answered after %s, at both sites after %s", *large, answered.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	for _, s := range c.Sites() {
		after := peak(t, s)
		t.Logf("the agent of %s has taken %d MiB at most, %d MiB before", s.Name(), after>>20, before[s]>>20)
		if after > memory {
			t.Errorf("the agent of %s has taken %d MiB", s.Name(), after>>20)
		}
	}
	c.converged(t, id)
}

// peak is the most memory that an agent has had so far. Its process is the one that runs the program: ip has become it.
func peak(t *testing.T, s *env.Site) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Agent().PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	var kb int64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return kb << 10
}
