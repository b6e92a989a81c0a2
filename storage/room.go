package storage

import (
	"database/sql/driver"

	"github.com/skerry/skerry/engine"
)

// rowRoom is where the values of one row are put together: many rows are written a second, of small values each. What is in it is valid until the
// next row is begun; SQLite copies what it is given. The zero value is ready to use.
type rowRoom struct {
	args   []driver.Value
	bytes  []byte
	short  []byte // a place or a key, valid until the next one
	fields fields
}

// mostRoom is how much of the room stays from row to row: some have large bodies, most have not.
const mostRoom = 64 << 10

// begin begins a row.
func (r *rowRoom) begin() {
	if cap(r.bytes) > mostRoom {
		r.bytes = nil
	}
	if r.args == nil {
		r.args = make([]driver.Value, 0, 32) // as many as a row has values
	}
	clear(r.args)
	r.args, r.bytes = r.args[:0], r.bytes[:0]
}

// since returns what was put there since there were so many bytes.
func (r *rowRoom) since(before int) []byte { return r.bytes[before:len(r.bytes):len(r.bytes)] }

// seal encrypts what stands in a row's column, as Vault.seal does.
func (r *rowRoom) seal(v *Vault, b []byte, column, row string) []byte {
	if b == nil {
		return nil
	}
	r.short = appendPlace(r.short[:0], column, row)
	before := len(r.bytes)
	r.bytes = v.appendSealed(r.bytes, r.short, b)
	return r.since(before)
}

// digest encodes a fingerprint.
func (r *rowRoom) digest(f engine.Fingerprint) []byte {
	before := len(r.bytes)
	r.bytes = appendDigest(r.bytes, f)
	return r.since(before)
}
