package world

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// past is what was on a disk and is not any more: whoever checks a site is to know more than the site.
type past struct {
	written map[engine.DocumentID]map[changeOf]*engine.Change
	rows    map[engine.OperationID]*engine.OperationRow
}

// changeOf names a change of a document.
type changeOf struct {
	epoch  uint64
	line   engine.Line
	number uint64
	hash   [32]byte
}

func newPast() past {
	return past{map[engine.DocumentID]map[changeOf]*engine.Change{}, map[engine.OperationID]*engine.OperationRow{}}
}

func (p *past) changes(list []*engine.Change) {
	for _, c := range list {
		if p.written[c.Document] == nil {
			p.written[c.Document] = map[changeOf]*engine.Change{}
		}
		p.written[c.Document][changeOf{c.Epoch, c.Line, c.Number, c.Hash}] = c
	}
}

func (p *past) join(other past) {
	for _, all := range other.written {
		p.changes(slices.Collect(maps.Values(all)))
	}
	maps.Copy(p.rows, other.rows)
}

// Written returns all changes of a resource that were ever stored here, by epoch, line and number: those too that were dropped. What
// was lost when the disk was set back is not among them.
func (d *Disk) Written(id engine.DocumentID) []*engine.Change {
	all := map[changeOf]*engine.Change{}
	maps.Copy(all, d.past.written[id])
	if r := d.byDocument[id]; r != nil {
		for _, c := range r.changes {
			all[changeOf{c.Epoch, c.Line, c.Number, c.Hash}] = c
		}
	}
	return slices.SortedFunc(maps.Values(all), inOrder)
}

// Recalled returns the row of an operation, also of one whose row was deleted because of its age. ErrNotFound.
func (d *Disk) Recalled(id engine.OperationID) (engine.OperationRow, error) {
	if i, ok := d.byID[id]; ok {
		return *d.operations[i], nil
	}
	if row := d.past.rows[id]; row != nil {
		return *row, nil
	}
	return engine.OperationRow{}, engine.ErrNotFound
}

// AllOperations returns the rows of all operations, as they came, those last that were deleted because of their age.
func (d *Disk) AllOperations() []engine.OperationRow {
	var list []engine.OperationRow
	for _, row := range d.operations {
		list = append(list, *row)
	}
	for _, id := range slices.Sorted(maps.Keys(d.past.rows)) {
		if _, again := d.byID[id]; !again {
			list = append(list, *d.past.rows[id])
		}
	}
	return list
}
