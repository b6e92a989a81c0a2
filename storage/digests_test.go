package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// inRange says which documents a range names, bit by bit.
func inRange(id engine.DocumentID, r engine.Range) bool {
	key, err := keyOf(id)
	if err != nil {
		return false
	}
	n := uint64(0)
	for i := range 5 * int(r.Depth) {
		n = n<<1 | uint64(key[i/8]>>(7-i%8)&1)
	}
	return n == uint64(r.First)
}

// TestRangesDivideAllDocuments: each document is in one range of each depth, at its bounds too.
func TestRangesDivideAllDocuments(t *testing.T) {
	s := open(t, t.TempDir())
	var b engine.Batch
	var ids []engine.DocumentID
	for _, begin := range []string{"00", "07f", "080", "0fff", "1000", "7fff", "8000", "f7ff", "f800", "ffc0", "ffff"} {
		for _, fill := range []string{"0", "f"} {
			id := engine.DocumentID(begin + strings.Repeat(fill, 64-len(begin)))
			ids = append(ids, id)
			b.Records = append(b.Records, engine.Record{Row: engine.ResourceRow{Document: id}, Peers: []engine.SiteID{"p"}})
		}
	}
	mustCommit(t, s, &b)
	slices.Sort(ids)
	for depth := range uint8(3) {
		var got []engine.DocumentID
		for first := range uint16(1 << (5 * depth)) {
			r := engine.Range{Depth: depth, First: first}
			all, err := s.Digests(t.Context(), "p", r)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range all {
				if !inRange(d.Document, r) {
					t.Errorf("%s is told in %+v", d.Document, r)
				}
				got = append(got, d.Document)
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("at depth %d there are %d documents, want %d, in their order", depth, len(got), len(ids))
		}
	}
	for _, r := range []engine.Range{{Depth: 3}, {Depth: 0, First: 1}, {Depth: 1, First: 32}, {Depth: 2, First: 1024}, {Depth: 255, First: 7}} {
		if _, err := s.Digests(t.Context(), "p", r); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%+v: %v, want ErrRefused", r, err)
		}
	}
}

// TestDigestsFollowThePlacement draws who shares what, and who has left with what.
func TestDigestsFollowThePlacement(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	rapid.Check(t, func(t *rapid.T) {
		records := map[engine.DocumentID]engine.Record{}
		draw := rapid.SliceOfNDistinct(rapid.SampledFrom([]engine.SiteID{"paris", "nantes", "lyon"}), 0, 3, rapid.ID)
		var b engine.Batch
		for n := range 6 {
			r := engine.Record{Row: engine.ResourceRow{Document: document(fmt.Sprint(n))}, Digest: engine.Fingerprint{rapid.Uint64().Draw(t, "digest")}}
			r.Peers = draw.Draw(t, "peers")
			for _, site := range draw.Draw(t, "apart") {
				if r.Apart == nil {
					r.Apart = map[engine.SiteID]engine.Fingerprint{}
				}
				r.Apart[site] = engine.Fingerprint{0, rapid.Uint64().Draw(t, "other")}
			}
			slices.Sort(r.Peers)
			records[r.Row.Document] = r
			b.Records = append(b.Records, r)
		}
		if err := s.Commit(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		for _, site := range []engine.SiteID{"paris", "nantes", "lyon", "nobody"} {
			var want []engine.Digest
			for _, id := range slices.Sorted(maps.Keys(records)) {
				r := records[id]
				if other, ok := r.Apart[site]; ok {
					want = append(want, engine.Digest{Document: id, Digest: other})
				} else if slices.Contains(r.Peers, site) {
					want = append(want, engine.Digest{Document: id, Digest: r.Digest})
				}
			}
			got, err := s.Digests(context.Background(), site, engine.Range{})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("with %s: %v, %v, want %v", site, got, err, want)
			}
		}
		told := 0
		if err := s.AllDigests(context.Background(), func(d engine.Digest, peers []engine.SiteID, apart map[engine.SiteID]engine.Fingerprint) {
			told++
			r := records[d.Document]
			if d.Digest != r.Digest || !slices.Equal(peers, r.Peers) || !maps.Equal(apart, r.Apart) {
				t.Fatalf("%s: %v, %v, %v, want %+v", d.Document, d.Digest, peers, apart, r)
			}
		}); err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if len(r.Peers) == 0 && len(r.Apart) == 0 {
				told++
			}
		}
		if told != len(records) {
			t.Fatalf("%d documents are told of, or shared with nobody", told)
		}
	})
}
