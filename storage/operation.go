package storage

import (
	"database/sql/driver"
	"encoding/binary"
	"hash/maphash"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// letterOf returns what operations.states has for a state, and what nothing looks for where it has no letter.
func letterOf(s engine.State) string {
	if letter, ok := stateLetters[s]; ok {
		return letter
	}
	return "?"
}

// putOperation writes an operation's row. One statement does it, but for one that is there and was not written lately.
func (w *writer) putOperation(r *engine.OperationRow) error {
	w.room.begin()
	sites := sitesOf(r.Sites)
	placement, err := w.placement(sites)
	if err != nil {
		return err
	}
	args := w.movesOf(r, sites)
	digest := w.contentDigest(r, placement)
	before, known := w.operations.get(r.ID)
	if known && before == digest {
		changed, _, err := w.run(moveOperation, append(args, string(r.ID))...)
		if err != nil || changed > 0 {
			return err
		}
		// It was forgotten meanwhile.
	}
	if args, err = w.contentOf(append(args, placement), r); err != nil {
		return err
	}
	written, _, err := w.run(addOperation, args...)
	if err == nil && written == 0 {
		written, _, err = w.run(changeOperation, args...)
	}
	if err == nil && written > 0 {
		w.operations.put(r.ID, digest)
	}
	return err
}

// movesOf returns the values of the columns that change as sites settle an operation, with room for the others.
func (w *writer) movesOf(r *engine.OperationRow, sites []engine.SiteID) []driver.Value {
	open := r.State != engine.StateApplied
	letters, errors := w.room.short[:0], ""
	for _, site := range sites {
		at := r.Sites[site]
		letters = append(letters, letterOf(at.State)...)
		open = open || at.State != engine.StateApplied
		if at.Error != "" {
			errors += strings.ToLower(at.Error) + "\n"
		}
	}
	settled := time.Time{}
	if r.Settled() {
		settled = w.now()
	}
	in := &w.room
	in.short = letters
	in.args = append(in.args, string(r.State), open, string(letters), nanos(settled), r.NeedsBlob, errors, encodeBySite(in, sites, r.Sites, (*fields).status))
	return in.args
}

// contentOf adds the values of the columns that stay as they are, and its identifier.
func (w *writer) contentOf(args []driver.Value, r *engine.OperationRow) ([]driver.Value, error) {
	subject := int64(0)
	if r.Document != "" {
		var err error
		if subject, err = w.resource(r.Document); err != nil {
			return nil, err
		}
	}
	kind, err := w.kind(r.Service, r.Kind)
	if err != nil {
		return nil, err
	}
	origin, err := w.site(r.Origin)
	if err != nil {
		return nil, err
	}
	blob := engine.BlobRef{}
	if r.Blob != nil {
		blob = *r.Blob
	}
	return append(args, subject, string(r.Resource), string(r.Type), kind, r.Method, r.Path, r.Scope, origin, r.User, nanos(r.IssuedAt),
		lines(r.Parents), string(blob.Hash), blob.Size, w.room.seal(w.vault, r.Change, "operations.change", string(r.ID)),
		w.room.seal(w.vault, r.Body, "operations.body", string(r.ID)), string(r.ID)), nil
}

// contentDigest tells apart what contentOf writes, and placements.
func (w *writer) contentDigest(r *engine.OperationRow, placement int64) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	var room [8]byte
	number := func(n int64) {
		binary.LittleEndian.PutUint64(room[:], uint64(n))
		h.Write(room[:])
	}
	text := func(s string) {
		number(int64(len(s)))
		h.WriteString(s)
	}
	bytes := func(b []byte) {
		if b == nil {
			number(-1)
			return
		}
		number(int64(len(b)))
		h.Write(b)
	}
	for _, s := range []string{string(r.Document), string(r.Resource), string(r.Type), string(r.Service), string(r.Kind), r.Method, r.Path,
		r.Scope, string(r.Origin), r.User} {
		text(s)
	}
	number(placement)
	number(nanos(r.IssuedAt))
	number(int64(len(r.Parents)))
	for _, id := range r.Parents {
		text(string(id))
	}
	if r.Blob != nil {
		text(string(r.Blob.Hash))
		number(r.Blob.Size)
	}
	bytes(r.Change)
	bytes(r.Body)
	return h.Sum64()
}
