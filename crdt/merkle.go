package crdt

import "crypto/sha256"

// The Merkle trees of RFC 6962, section 2.1, with SHA-256. A tree of n leaves has on its left the largest power of two that is
// less than n. Built from below that is: neighbours are joined, and who has none goes up as it is.

// leafHash is the hash of a leaf, nodeHash that of a node over two others. Their first bytes keep them apart.
func leafHash(leaf []byte) hash {
	var space [1024]byte
	return sha256.Sum256(append(append(space[:0], 0), leaf...))
}

func nodeHash(left, right *hash) hash {
	var b [1 + 2*sha256.Size]byte
	b[0] = 1
	copy(b[1:], left[:])
	copy(b[1+sha256.Size:], right[:])
	return sha256.Sum256(b[:])
}

// tree holds the hashes of a Merkle tree, level by level from its leaves up to the root.
type tree [][]hash

// newTree returns the tree over at least one leaf.
func newTree(leaves [][]byte) tree {
	level := make([]hash, len(leaves))
	for i, leaf := range leaves {
		level[i] = leafHash(leaf)
	}
	t := tree{level}
	for len(level) > 1 {
		up := make([]hash, 0, (len(level)+1)/2)
		for i := 0; i+1 < len(level); i += 2 {
			up = append(up, nodeHash(&level[i], &level[i+1]))
		}
		if len(level)%2 == 1 {
			up = append(up, level[len(level)-1])
		}
		t, level = append(t, up), up
	}
	return t
}

func (t tree) root() hash { return t[len(t)-1][0] }

// path returns the audit path of a leaf (RFC 6962, section 2.1.1): the hashes beside its way up to the root, from below.
func (t tree) path(leaf int) []byte {
	path := make([]byte, 0, pathLen(uint64(leaf), uint64(len(t[0]))))
	for _, level := range t[:len(t)-1] {
		if beside := leaf ^ 1; beside < len(level) {
			path = append(path, level[beside][:]...)
		}
		leaf /= 2
	}
	return path
}

// pathLen is how many bytes the audit path of a leaf has in a tree of so many.
func pathLen(leaf, size uint64) int {
	n := 0
	for last := size - 1; last > 0; leaf, last = leaf/2, last/2 {
		if leaf^1 <= last {
			n += sha256.Size
		}
	}
	return n
}

// climb returns the root that a leaf's audit path leads to (RFC 9162, section 2.1.3.2); ok is false where the path has another
// length than it must have.
func climb(leaf []byte, index, size uint64, path []byte) (root hash, ok bool) {
	if index >= size || len(path) != pathLen(index, size) {
		return hash{}, false
	}
	root = leafHash(leaf)
	for last := size - 1; last > 0; index, last = index/2, last/2 {
		if index^1 > last {
			continue // no neighbour: it goes up as it is
		}
		beside := (*hash)(path)
		if path = path[len(beside):]; index%2 == 1 {
			root = nodeHash(beside, &root)
		} else {
			root = nodeHash(&root, beside)
		}
	}
	return root, true
}
