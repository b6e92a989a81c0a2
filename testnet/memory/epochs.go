package memory

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// Epochs returns the entries of all documents that a resource has had here, those that were dropped included: a checker is to
// know more than the site it checks. First is the resource's first document.
func (d *Disk) Epochs(all *Changes, first engine.DocumentID) ([]engine.Entry, error) {
	var entries []engine.Entry
	for _, documents := range []iter.Seq[*stored]{slices.Values(d.past), maps.Values(d.dropped), maps.Values(d.documents)} {
		for s := range documents {
			var about engine.About
			if err := json.Unmarshal(s.row.About, &about); err != nil {
				return nil, err
			}
			about.Epoch = 0
			if root, err := json.Marshal(about); err != nil || identify(root) != first {
				continue
			}
			for _, row := range s.changes {
				c, err := all.decode(row.Bytes)
				if err != nil {
					return nil, err
				}
				entries = append(entries, c.entries...)
			}
		}
	}
	return entries, nil
}

// Root returns the first document of the resource that a document is of.
func (d *Disk) Root(id engine.DocumentID) engine.DocumentID {
	var about engine.About
	if s := d.documents[id]; s == nil || json.Unmarshal(s.row.About, &about) != nil {
		return id
	}
	about.Epoch = 0
	root, err := json.Marshal(about)
	if err != nil {
		return id
	}
	return identify(root)
}

// Dropped reports whether a document was dropped here.
func (d *Disk) Dropped(id engine.DocumentID) bool { return d.dropped[id] != nil }
