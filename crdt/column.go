package crdt

import "errors"

// The columns of a change's operations that ours have ("Operation columns" of the format): the number of a column joins its
// id, whether it is compressed, and its type.
const (
	columnObjectActor   = 0x01
	columnObjectCounter = 0x02
	columnKey           = 0x15
	columnInsert        = 0x34
	columnAction        = 0x42
	columnValueMeta     = 0x56
	columnValue         = 0x57
	columnPredGroup     = 0x70
)

// What stands in them.
const (
	actionMake = 0
	actionPut  = 1
	valueUint  = 3
	valueBytes = 7
)

// appendRuns writes n values run-length encoded: two and more equal ones as their number and the value, others as the
// negative of their number and the values.
func appendRuns(b []byte, n int, value func(int) uint64) []byte {
	run := func(i int) int {
		k := i + 1
		for k < n && value(k) == value(i) {
			k++
		}
		return k - i
	}
	for i := 0; i < n; {
		if k := run(i); k > 1 {
			b = appendUint(appendInt(b, int64(k)), value(i))
			i += k
			continue
		}
		end := i + 1
		for end < n && run(end) == 1 {
			end++
		}
		b = appendInt(b, int64(i-end))
		for ; i < end; i++ {
			b = appendUint(b, value(i))
		}
	}
	return b
}

// appendSame writes n times the same value likewise.
func appendSame(b []byte, n int, value uint64) []byte {
	if n == 1 {
		return appendUint(appendInt(b, -1), value)
	}
	return appendUint(appendInt(b, int64(n)), value)
}

// runs reads numbers that were written so, one after the other. Ours have no nulls, which the format writes as runs of
// length zero.
type runs struct {
	reader
	left    int64 // of the run: positive for one value again and again, negative for values that follow
	current uint64
}

// next returns the next value; zero after an error, or when there is none.
func (r *runs) next() uint64 {
	if r.left == 0 {
		switch r.left = r.int(); {
		case r.err != nil:
			return 0
		case r.left == 0:
			r.fail(errors.New("null in a column"))
			return 0
		case r.left > 0:
			r.current = r.uint()
		}
	}
	if r.left > 0 {
		r.left--
		return r.current
	}
	r.left++
	return r.uint()
}
