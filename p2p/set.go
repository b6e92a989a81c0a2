package p2p

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/skerry/skerry/engine"
)

// set is what this site shares with one member: documents by rising identifier, each with the digest of its heads.
// It answers for the fingerprint of any range in the time of two binary searches. It is not changed after newSet.
//
// The fingerprint of a range is the digest of the sum, modulo 2^256, of its items' digests, and of their count
// (A. Meyer, "Range-Based Set Reconciliation", 2023). A range is a prefix of the identifier in nibbles:
// identifiers are digests, so sixteen subranges are of much the same size.
type set struct {
	items []item
	sums  []sum // sums[i] is the sum of items[:i]
}

type item struct{ id, heads [32]byte }

// sum is an unsigned integer of 256 bits, least significant word first.
type sum [4]uint64

func (a sum) plus(b sum) sum {
	var c uint64
	for i := range a {
		a[i], c = bits.Add64(a[i], b[i], c)
	}
	return a
}

func (a sum) minus(b sum) sum {
	var c uint64
	for i := range a {
		a[i], c = bits.Sub64(a[i], b[i], c)
	}
	return a
}

const fingerprintLen = 16

type fingerprint [fingerprintLen]byte

// prefix is a range of identifiers: those that begin with its nibbles, each a byte of 0 to 15.
type prefix string

const maxPrefix = 64

func (p prefix) valid() bool {
	if len(p) > maxPrefix {
		return false
	}
	for i := range len(p) {
		if p[i] > 15 {
			return false
		}
	}
	return true
}

func (p prefix) child(i int) prefix { return p + prefix(byte(i)) }

// bounds returns the first and the last identifier of the range.
func (p prefix) bounds() (first, last [32]byte) {
	for i := range maxPrefix {
		low, high := byte(0), byte(15)
		if i < len(p) {
			low, high = p[i], p[i]
		}
		shift := 4 * uint(1-i%2)
		first[i/2] |= low << shift
		last[i/2] |= high << shift
	}
	return first, last
}

func newSet(items []item) *set {
	slices.SortFunc(items, func(a, b item) int { return bytes.Compare(a.id[:], b.id[:]) })
	items = slices.CompactFunc(items, func(a, b item) bool { return a.id == b.id })
	s := &set{items: items, sums: make([]sum, len(items)+1)}
	var b [64]byte
	for i, it := range items {
		copy(b[:32], it.id[:])
		copy(b[32:], it.heads[:])
		d := sha256.Sum256(b[:])
		var v sum
		for w := range v {
			v[w] = binary.LittleEndian.Uint64(d[8*w:])
		}
		s.sums[i+1] = s.sums[i].plus(v)
	}
	return s
}

// loadSet reads what this site shares with a member.
func loadSet(ctx context.Context, r engine.Replicas, with engine.SiteID) (*set, error) {
	const digits = "0123456789abcdef"
	var items []item
	// In sixteen pieces, so that the summaries and their texts are not all in memory at once.
	for i := range digits {
		from, to := engine.DocumentID(digits[i:i+1]), engine.DocumentID("")
		if i+1 < len(digits) {
			to = engine.DocumentID(digits[i+1 : i+2])
		}
		summaries, err := r.Summaries(ctx, with, from, to)
		if err != nil {
			return nil, fmt.Errorf("list the documents shared with %s: %w", with, err)
		}
		items = slices.Grow(items, len(summaries))
		for _, s := range summaries {
			key, ok := documentKey(s.Document)
			if !ok {
				return nil, fmt.Errorf("list the documents shared with %s: %q is not 64 hex digits", with, s.Document)
			}
			items = append(items, item{id: key, heads: s.Heads})
		}
	}
	return newSet(items), nil
}

// within returns the items of a range, as indices from ≤ i < to.
func (s *set) within(p prefix) (from, to int) {
	first, last := p.bounds()
	from = sort.Search(len(s.items), func(i int) bool { return bytes.Compare(s.items[i].id[:], first[:]) >= 0 })
	to = sort.Search(len(s.items), func(i int) bool { return bytes.Compare(s.items[i].id[:], last[:]) > 0 })
	return from, to
}

func (s *set) fingerprint(p prefix) fingerprint {
	from, to := s.within(p)
	v := s.sums[to].minus(s.sums[from])
	var b [40]byte
	for w := range v {
		binary.LittleEndian.PutUint64(b[8*w:], v[w])
	}
	binary.LittleEndian.PutUint64(b[32:], uint64(to-from))
	d := sha256.Sum256(b[:])
	return fingerprint(d[:fingerprintLen])
}

// differences compares the items of a range with those of the other side, both by rising identifier: here are those
// that this site lacks or has otherwise, there those that the other side lacks or has otherwise.
func (s *set) differences(p prefix, theirs []item) (here, there [][32]byte) {
	from, to := s.within(p)
	ours := s.items[from:to]
	for len(ours) > 0 || len(theirs) > 0 {
		var order int
		switch {
		case len(ours) == 0:
			order = 1
		case len(theirs) == 0:
			order = -1
		default:
			order = cmp.Compare(bytes.Compare(ours[0].id[:], theirs[0].id[:]), 0)
		}
		switch {
		case order < 0:
			there = append(there, ours[0].id)
			ours = ours[1:]
		case order > 0:
			here = append(here, theirs[0].id)
			theirs = theirs[1:]
		default:
			if ours[0].heads != theirs[0].heads {
				here = append(here, theirs[0].id)
				there = append(there, ours[0].id)
			}
			ours, theirs = ours[1:], theirs[1:]
		}
	}
	return here, there
}
