package crdt

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// hashOf checks the frame of a chunk and returns its hash.
func hashOf(chunk []byte) (hash, error) {
	switch {
	case len(chunk) > engine.MaxChange:
		return hash{}, fmt.Errorf("a change of %d bytes", len(chunk))
	case len(chunk) <= hashedFrom || !bytes.Equal(chunk[:len(magic)], magic[:]):
		return hash{}, errors.New("no chunk")
	case chunk[hashedFrom] != chunkChange:
		return hash{}, fmt.Errorf("a chunk of type %d", chunk[hashedFrom])
	}
	h := sha256.Sum256(chunk[hashedFrom:])
	if !bytes.Equal(chunk[len(magic):hashedFrom], h[:hashedFrom-len(magic)]) {
		return hash{}, errors.New("wrong checksum")
	}
	return h, nil
}

// read takes out of a chunk what does not follow from its line and its document: it sets the rest of p and returns the
// entries, whose values alias the chunk. It looks no further: that everything else is as it has to be shows when p has
// wrote it.
func (p *place) read(chunk []byte) ([]engine.Entry, error) {
	r := &reader{b: chunk[hashedFrom+1:]}
	if n := r.uint(); r.err == nil && n != uint64(len(r.b)) {
		return nil, errors.New("the length is not that of the chunk")
	}
	if n := r.uint(); r.err == nil && n != 1 {
		return nil, fmt.Errorf("%d dependencies", n)
	}
	copy(p.previous[:], r.take(uint64(len(p.previous))))
	if a := r.take(r.uint()); r.err == nil && !bytes.Equal(a, p.actor[:]) {
		return nil, fmt.Errorf("actor %.40x is not that of line %s", a, p.line)
	}
	p.number, p.begins = r.uint(), r.uint()
	if at, message := r.int(), r.uint(); at != 0 || message != 0 {
		return nil, errors.New("a time or a message")
	}
	if n, a := r.uint(), r.take(r.uint()); r.err == nil && (n != 1 || !bytes.Equal(a, firstActor[:])) {
		return nil, errors.New("other actors than that of the first change")
	}
	columns, err := readColumns(r)
	if err != nil {
		return nil, err
	}
	return p.readEntries(columns)
}

// columns are those of a change that tell something.
type columns struct{ objects, inserts, metas, values []byte }

func readColumns(r *reader) (columns, error) {
	n := r.uint()
	if n > 8 {
		return columns{}, fmt.Errorf("%d columns", n)
	}
	var space [8][2]uint64
	for i := range n {
		space[i] = [2]uint64{r.uint(), r.uint()}
	}
	var c columns
	for _, column := range space[:n] {
		switch spec, data := column[0], r.take(column[1]); spec {
		case columnObjectCounter:
			c.objects = data
		case columnInsert:
			c.inserts = data
		case columnValueMeta:
			c.metas = data
		case columnValue:
			c.values = data
		case columnObjectActor, columnKey, columnAction, columnPredGroup:
		default:
			return columns{}, fmt.Errorf("unknown column %#x", spec)
		}
	}
	if r.err == nil && len(r.b) > 0 {
		return columns{}, fmt.Errorf("%d bytes too many", len(r.b))
	}
	return c, r.err
}

func (p *place) readEntries(c columns) ([]engine.Entry, error) {
	inserts := &reader{b: c.inserts}
	n := inserts.uint()
	if inserts.err != nil || n == 0 || n > engine.MaxEntries {
		return nil, fmt.Errorf("%d entries", n)
	}
	objects, metas, values := runs{reader: reader{b: c.objects}}, runs{reader: reader{b: c.metas}}, reader{b: c.values}
	entries := make([]engine.Entry, n)
	for i := range entries {
		object, meta := objects.next(), metas.next()
		switch size := meta >> 4; {
		case objects.err != nil:
			return nil, fmt.Errorf("objects: %w", objects.err)
		case metas.err != nil:
			return nil, fmt.Errorf("values: %w", metas.err)
		case object == 0 || object > uint64(len(p.maps)):
			return nil, fmt.Errorf("no map %d", object)
		case meta&0xf != valueBytes:
			return nil, errors.New("a value that is not bytes")
		case size > engine.MaxEntry:
			return nil, fmt.Errorf("a value of %d bytes", size)
		default:
			entries[i] = engine.Entry{Map: p.maps[object-1], Value: values.take(size)}
		}
	}
	return entries, values.err
}
