package crdt

import (
	"errors"
	"fmt"
)

// The columns of a change's operations that our changes have (https://automerge.org/automerge-binary-format-spec,
// "Operation columns"): the number of a column joins its id, whether it is compressed and its type.
const (
	columnObjectActor   = 0x01
	columnObjectCounter = 0x02
	columnKey           = 0x15
	columnInsert        = 0x34
	columnAction        = 0x42
	columnValueMeta     = 0x56
	columnValue         = 0x57
	columnPredGroup     = 0x70
	columnPredActor     = 0x71
	columnPredCounter   = 0x73
)

// column is one encoded column of a change.
type column struct {
	spec uint64
	data []byte
}

// appendRuns writes values run-length encoded: two and more equal ones as their number and the value, others as
// the negative of their number and the values.
func appendRuns[T comparable](b []byte, values []T, one func([]byte, T) []byte) []byte {
	run := func(i int) int {
		n := 1
		for i+n < len(values) && values[i+n] == values[i] {
			n++
		}
		return n
	}
	for i := 0; i < len(values); {
		if n := run(i); n > 1 {
			b = one(appendInt(b, int64(n)), values[i])
			i += n
			continue
		}
		end := i + 1
		for end < len(values) && run(end) == 1 {
			end++
		}
		b = appendInt(b, int64(i-end))
		for ; i < end; i++ {
			b = one(b, values[i])
		}
	}
	return b
}

// appendDeltas writes the differences between neighbours, run-length encoded, beginning at zero.
func appendDeltas(b []byte, values []uint64) []byte {
	deltas := make([]int64, len(values))
	last := uint64(0)
	for i, v := range values {
		deltas[i], last = int64(v-last), v
	}
	return appendRuns(b, deltas, appendInt)
}

func appendString(b []byte, s string) []byte {
	return append(appendUint(b, uint64(len(s))), s...)
}

// readRuns reads at most limit values. Our changes have no nulls, which the format writes as a run of length
// zero.
func readRuns[T any](col []byte, limit int, one func(*reader) T) ([]T, error) {
	r := &reader{b: col}
	var out []T
	for len(r.b) > 0 {
		n := r.int()
		switch left := int64(limit - len(out)); {
		case r.err != nil:
		case n == 0:
			return nil, errors.New("null in a column")
		case n > left || n < -left:
			return nil, fmt.Errorf("a column of more than %d values", limit)
		case n > 0:
			v := one(r)
			for range n {
				out = append(out, v)
			}
		default:
			for range -n {
				out = append(out, one(r))
			}
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	return out, nil
}

func readUints(col []byte, limit int) ([]uint64, error) {
	return readRuns(col, limit, (*reader).uint)
}

func readStrings(col []byte, limit int) ([]string, error) {
	return readRuns(col, limit, func(r *reader) string { return string(r.take(r.uint())) })
}

func readDeltas(col []byte, limit int) ([]uint64, error) {
	deltas, err := readRuns(col, limit, (*reader).int)
	if err != nil {
		return nil, err
	}
	out := make([]uint64, len(deltas))
	last := uint64(0)
	for i, d := range deltas {
		last += uint64(d)
		out[i] = last
	}
	return out, nil
}
