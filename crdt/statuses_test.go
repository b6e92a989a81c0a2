package crdt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// treeHash and auditPath are as RFC 6962, section 2.1, defines them.
func treeHash(leaves [][]byte) hash {
	if len(leaves) == 1 {
		return leafHash(leaves[0])
	}
	k := split(len(leaves))
	left, right := treeHash(leaves[:k]), treeHash(leaves[k:])
	return nodeHash(&left, &right)
}

func auditPath(m int, leaves [][]byte) []byte {
	if len(leaves) == 1 {
		return nil
	}
	k := split(len(leaves))
	if m < k {
		right := treeHash(leaves[k:])
		return append(auditPath(m, leaves[:k]), right[:]...)
	}
	left := treeHash(leaves[:k])
	return append(auditPath(m-k, leaves[k:]), left[:]...)
}

// split is the largest power of two less than n.
func split(n int) int {
	k := 1
	for 2*k < n {
		k *= 2
	}
	return k
}

func numbered(n int) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		list[i] = fmt.Appendf(nil, "status %d", i)
	}
	return list
}

// TestMerkleTree compares trees with the definitions, and knows the vectors of Certificate Transparency's own tests.
func TestMerkleTree(t *testing.T) {
	for n := 1; n <= 70; n++ {
		leaves := numbered(n)
		tr := newTree(leaves)
		if tr.root() != treeHash(leaves) {
			t.Errorf("the root over %d leaves is another one", n)
		}
		for i := range n {
			path := tr.path(i)
			if !bytes.Equal(path, auditPath(i, leaves)) {
				t.Errorf("the path of leaf %d of %d is another one", i, n)
			}
			if root, ok := climb(leaves[i], uint64(i), uint64(n), path); !ok || root != tr.root() {
				t.Errorf("the path of leaf %d of %d leads elsewhere", i, n)
			}
		}
	}
	vectors := [][]byte{{}, {0x00}, {0x10}, {0x20, 0x21}, {0x30, 0x31}, {0x40, 0x41, 0x42, 0x43},
		{0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57}, {0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f}}
	for n, want := range map[int]string{
		1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	} {
		if got := hexes(newTree(vectors[:n]).root())[0]; got != want {
			t.Errorf("the root over %d leaves is %s, want %s", n, got, want)
		}
	}
}

// selfSigned are n statuses of a site.
func selfSigned(by *Documents, n int) []engine.SignedStatus {
	b := by.SignStatuses(numbered(n))
	return newTree(b.Statuses).each(b)
}

// TestBatch has a site sign, another open the batch and pass on any of it, and a third verify what it gets.
func TestBatch(t *testing.T) {
	paris, nantes := newSite(t, "paris"), newSite(t, "nantes")
	rapid.Check(t, func(rt *rapid.T) {
		statuses := numbered(rapid.IntRange(1, 40).Draw(rt, "statuses"))
		b := paris.SignStatuses(statuses)
		all, err := nantes.OpenBatch(b)
		if err != nil || len(all) != len(statuses) {
			rt.Fatalf("opened %d of %d: %v", len(all), len(statuses), err)
		}
		fresh := newSite(t, "brest")
		for i, s := range all {
			if !bytes.Equal(s.Status, statuses[i]) {
				rt.Fatalf("status %d is %q", i, s.Status)
			}
			if err := fresh.VerifyStatus(s); err != nil {
				rt.Fatalf("status %d: %v", i, err)
			}
		}
	})
}

func TestForgedStatuses(t *testing.T) {
	paris, nantes := newSite(t, "paris"), newSite(t, "nantes")
	big := make([]byte, engine.MaxStatus+1)
	for name, spoil := range map[string]func(*engine.SignedStatus){
		"other bytes":         func(s *engine.SignedStatus) { s.Status = []byte("status 9") },
		"no bytes":            func(s *engine.SignedStatus) { s.Status = nil },
		"too many bytes":      func(s *engine.SignedStatus) { s.Status = big },
		"another site":        func(s *engine.SignedStatus) { s.Site = nantes.Self() },
		"no site":             func(s *engine.SignedStatus) { s.Site = "paris" },
		"another place":       func(s *engine.SignedStatus) { s.Index = 3 },
		"a place outside":     func(s *engine.SignedStatus) { s.Index = 5 },
		"far outside":         func(s *engine.SignedStatus) { s.Index = 1<<64 - 1 },
		"a batch of none":     func(s *engine.SignedStatus) { s.Size = 0 },
		"a smaller batch":     func(s *engine.SignedStatus) { s.Size = 4 },
		"an enormous batch":   func(s *engine.SignedStatus) { s.Size = 1<<64 - 1 },
		"a larger batch":      func(s *engine.SignedStatus) { s.Size = engine.MaxBatch + 1; s.Path = make([]byte, 13*32) },
		"a shorter path":      func(s *engine.SignedStatus) { s.Path = s.Path[32:] },
		"half a hash more":    func(s *engine.SignedStatus) { s.Path = append(slices.Clone(s.Path), make([]byte, 16)...) },
		"a longer path":       func(s *engine.SignedStatus) { s.Path = append(slices.Clone(s.Path), make([]byte, 32)...) },
		"another path":        func(s *engine.SignedStatus) { s.Path = make([]byte, len(s.Path)) },
		"no signature":        func(s *engine.SignedStatus) { s.Signature = nil },
		"another signature":   func(s *engine.SignedStatus) { s.Signature = make([]byte, 64) },
		"a node for a status": func(s *engine.SignedStatus) { s.Index, s.Size, s.Status, s.Path = 1, 3, s.Path[:64], s.Path[64:] },
	} {
		s := selfSigned(paris, 5)[2]
		must(t, nantes.VerifyStatus(s)) // so that its root is known
		spoil(&s)
		if err := nantes.VerifyStatus(s); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, spoil := range map[string]func(*engine.StatusBatch){
		"none":              func(b *engine.StatusBatch) { b.Statuses = nil },
		"one less":          func(b *engine.StatusBatch) { b.Statuses = b.Statuses[1:] },
		"one more":          func(b *engine.StatusBatch) { b.Statuses = append(b.Statuses, []byte("x")) },
		"another order":     func(b *engine.StatusBatch) { slices.Reverse(b.Statuses) },
		"an empty one":      func(b *engine.StatusBatch) { b.Statuses[2] = nil },
		"a large one":       func(b *engine.StatusBatch) { b.Statuses[2] = big },
		"too many":          func(b *engine.StatusBatch) { b.Statuses = numbered(engine.MaxBatch + 1) },
		"another site":      func(b *engine.StatusBatch) { b.Site = nantes.Self() },
		"a cut signature":   func(b *engine.StatusBatch) { b.Signature = b.Signature[:63] },
		"another signature": func(b *engine.StatusBatch) { b.Signature = paris.Sign([]byte("x")) },
	} {
		b := paris.SignStatuses(numbered(5))
		spoil(&b)
		if _, err := nantes.OpenBatch(b); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("a batch with %s: %v", name, err)
		}
	}
}

// TestSignedBatchThatIsTooLarge: what its author has signed has bounds all the same.
func TestSignedBatchThatIsTooLarge(t *testing.T) {
	paris, nantes := newSite(t, "paris"), newSite(t, "nantes")
	b := engine.StatusBatch{Site: paris.Self(), Statuses: numbered(engine.MaxBatch + 1)}
	b.Signature = paris.Sign(signed(statusesDomain, newTree(b.Statuses).root()))
	if err := nantes.VerifyStatus(newTree(b.Statuses).each(b)[7]); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("one of too many: %v", err)
	}
}

// TestSignStatusesHasBounds, which its caller must keep.
func TestSignStatusesHasBounds(t *testing.T) {
	paris := newSite(t, "paris")
	for name, statuses := range map[string][][]byte{"none": nil, "too many": numbered(engine.MaxBatch + 1), "an empty one": {nil}} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "sign statuses") {
					t.Errorf("%s: %v", name, p)
				}
			}()
			paris.SignStatuses(statuses)
		}()
	}
	if all, err := paris.OpenBatch(paris.SignStatuses(numbered(engine.MaxBatch))); err != nil || len(all) != engine.MaxBatch {
		t.Errorf("the largest batch has %d statuses: %v", len(all), err)
	}
}

// TestRemembersRoots: a root is verified once as long as it is among the last ones, and what is remembered stays bounded.
func TestRemembersRoots(t *testing.T) {
	var r roots
	key := func(i int) signedBy { return signedBy{site: engine.SiteID(fmt.Sprint(i))} }
	for i := range 5 * maxRoots {
		r.add(key(i))
		if !r.has(key(i)) || !r.has(key(max(0, i-maxRoots+1))) {
			t.Fatalf("after %d, one of the last %d is forgotten", i, maxRoots)
		}
		if n := len(r.young) + len(r.old); n > 2*maxRoots {
			t.Fatalf("after %d, %d are remembered", i, n)
		}
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	paris, nantes := newSite(t, "paris"), newSite(t, "nantes")
	d := newDocument(t, paris, replicated(paris, nantes), 0)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			c, err := paris.Write(d.about, d.id, 0, lineOf(paris), paris.First(d.about, d.id, 0), []engine.Entry{{Map: engine.MapOperations, Value: []byte{byte(i)}}})
			if err == nil {
				paris.SignChanges([]*engine.Change{c})
				_, err = nantes.Read(d.about, d.id, 0, c.SignedChange, false)
			}
			if err == nil {
				_, err = nantes.OpenBatch(paris.SignStatuses(numbered(i + 1)))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestSignAndVerify(t *testing.T) {
	paris, nantes := newSite(t, "paris"), newSite(t, "nantes")
	signature := paris.Sign([]byte("message"))
	id, err := peer.Decode(string(paris.Self()))
	must(t, err)
	_, strange, err := crypto.GenerateSecp256k1Key(&noise{seed: "strange"})
	must(t, err)
	strangeID, err := peer.IDFromPublicKey(strange)
	must(t, err)
	must(t, nantes.Verify(paris.Self(), []byte("message"), signature))
	for name, err := range map[string]error{
		"another message":  nantes.Verify(paris.Self(), []byte("massage"), signature),
		"another site":     nantes.Verify(nantes.Self(), []byte("message"), signature),
		"no site":          nantes.Verify("paris", []byte("message"), signature),
		"a cut signature":  nantes.Verify(paris.Self(), []byte("message"), signature[:63]),
		"another encoding": nantes.Verify(engine.SiteID(peer.ToCid(id).String()), []byte("message"), signature),
		"another curve":    nantes.Verify(engine.SiteID(strangeID.String()), []byte("message"), signature),
	} {
		if !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzStatus decodes single statuses from any bytes. Only what paris has signed passes.
func FuzzStatus(f *testing.F) {
	paris, nantes := newSite(f, "paris"), newSite(f, "nantes")
	signed := map[string]bool{}
	for _, n := range []int{1, 2, 5, 8} {
		for _, s := range selfSigned(paris, n) {
			signed[string(s.Status)] = true
			f.Add(engine.Encode(s))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s engine.SignedStatus
		if engine.Decode(b, &s) != nil || nantes.VerifyStatus(s) != nil {
			return
		}
		if s.Site != paris.Self() || !signed[string(s.Status)] {
			t.Fatalf("%+v passes", s)
		}
	})
}

// FuzzBatch decodes batches likewise.
func FuzzBatch(f *testing.F) {
	paris, nantes := newSite(f, "paris"), newSite(f, "nantes")
	for _, n := range []int{1, 2, 5, 8} {
		f.Add(engine.Encode(paris.SignStatuses(numbered(n))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var batch engine.StatusBatch
		if engine.Decode(b, &batch) != nil {
			return
		}
		all, err := nantes.OpenBatch(batch)
		if err != nil {
			return
		}
		if n := len(all); batch.Site != paris.Self() || !slices.EqualFunc(batch.Statuses, numbered(n), bytes.Equal) {
			t.Fatalf("%+v passes", batch)
		}
	})
}
