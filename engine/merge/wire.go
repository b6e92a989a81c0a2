package merge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
)

// wire is a Checkpoint as it is encoded. What operations do not carry themselves goes with them.
type wire struct {
	Seen        engine.Vector               `cbor:"1,keyasint,omitempty"`
	Firm        engine.Vector               `cbor:"2,keyasint,omitempty"`
	Time        int64                       `cbor:"3,keyasint"`
	First       int64                       `cbor:"4,keyasint"`
	Count       uint64                      `cbor:"5,keyasint,omitempty"`
	Newest      []engine.OperationID        `cbor:"6,keyasint,omitempty"`
	Kept        []issued                    `cbor:"7,keyasint,omitempty"`
	Lost        []engine.OperationID        `cbor:"8,keyasint,omitempty"`
	Late        []issued                    `cbor:"9,keyasint,omitempty"`
	Order       map[engine.Pointer][]string `cbor:"10,keyasint,omitempty"`
	Superseded  []engine.Superseded         `cbor:"11,keyasint,omitempty"`
	Whereabouts []engine.Whereabouts        `cbor:"12,keyasint,omitempty"`
	Placed      *Placed                     `cbor:"13,keyasint,omitempty"`
	MergeType   string                      `cbor:"14,keyasint,omitempty"`
	// Divided is Placed where an operation has divided the resource: an agent that knows of no such operations takes no checkpoint without Placed.
	Divided *Placed `cbor:"15,keyasint,omitempty"`
}

type issued struct {
	Operation engine.Operation `cbor:"1,keyasint"`
	Line      engine.Line      `cbor:"2,keyasint"`
	Epoch     uint64           `cbor:"3,keyasint,omitempty"`
	Copy      bool             `cbor:"4,keyasint,omitempty"`
}

// MarshalCBOR encodes c, also as a part of something else. Equal checkpoints have equal bytes.
func (c *Checkpoint) MarshalCBOR() ([]byte, error) {
	w := wire{
		Seen: c.Seen, Firm: c.Firm, Time: c.Time, First: c.First, Count: c.Count, Newest: c.Newest, Kept: asIssued(c.Kept),
		Lost: c.Lost, Late: asIssued(c.Late), Order: c.Order, Superseded: c.Superseded, Whereabouts: c.Whereabouts,
		Placed: c.Placed, MergeType: c.MergeType,
	}
	if c.Placed != nil && c.Placed.Divided {
		w.Placed, w.Divided = nil, c.Placed
	}
	return engine.Encode(w), nil
}

// UnmarshalCBOR decodes what MarshalCBOR has encoded. What comes from outside is then to be checked by Validate.
func (c *Checkpoint) UnmarshalCBOR(b []byte) error {
	var w wire
	if err := engine.Decode(b, &w); err != nil {
		return fmt.Errorf("decode a checkpoint: %w", err)
	}
	*c = Checkpoint{
		Seen: w.Seen, Firm: w.Firm, Time: w.Time, First: w.First, Count: w.Count, Newest: w.Newest, Kept: fromIssued(w.Kept),
		Lost: w.Lost, Late: fromIssued(w.Late), Order: w.Order, Superseded: w.Superseded, Whereabouts: w.Whereabouts,
		Placed: cmp.Or(w.Divided, w.Placed), MergeType: w.MergeType,
	}
	if w.Divided != nil {
		w.Divided.Divided = true
	}
	return nil
}

func asIssued(ops []*engine.Operation) []issued {
	list := make([]issued, len(ops))
	for i, o := range ops {
		list[i] = issued{*o, o.Line, o.Epoch, o.Copy}
	}
	return list
}

func fromIssued(list []issued) []*engine.Operation {
	ops := make([]*engine.Operation, len(list))
	for i := range list {
		ops[i] = &list[i].Operation
		ops[i].Line, ops[i].Origin, ops[i].Epoch, ops[i].Copy = list[i].Line, list[i].Line.Site(), list[i].Epoch, list[i].Copy
	}
	return ops
}

// Bounds of what a checkpoint from outside may hold. No honest site comes near them.
const (
	maxKept  = 4 * engine.MaxOperations
	maxNames = 4096 // of operations, and arrays
	maxSites = 1 << 14
	maxType  = 256 // bytes of a media type
)

// Validate checks what a checkpoint from another site must fulfil, whatever the kind of its resource. The error wraps
// engine.ErrRefused. That its operations are ones that the kind knows is for the caller to see.
func (c *Checkpoint) Validate() error {
	if err := c.validate(); err != nil {
		return fmt.Errorf("checkpoint: %w: %w", engine.ErrRefused, err)
	}
	return nil
}

func (c *Checkpoint) validate() error {
	switch {
	case len(c.Seen) == 0:
		return errors.New("it stands for nothing")
	case c.First < 0 || c.First > c.Time:
		return errors.New("its times are out of order")
	case len(c.Kept)+len(c.Late) > maxKept || len(c.Newest) > maxNames || len(c.Order) > maxNames:
		return fmt.Errorf("%w: it keeps %d operations", engine.ErrTooLarge, len(c.Kept)+len(c.Late))
	case c.Placed == nil:
		return errors.New("it does not say where the resource lives")
	case len(c.MergeType) > maxType:
		return errors.New("it has a media type that is none")
	case len(c.Superseded) > maxSuperseded || len(c.Whereabouts) > engine.MaxWhereabouts:
		return errors.New("it tells of too much")
	}
	if err := c.validateVectors(); err != nil {
		return err
	}
	kept, err := c.validateOperations()
	if err != nil {
		return err
	}
	if err := c.Placed.validate(kept); err != nil {
		return err
	}
	return c.validateNotes(kept)
}

func (c *Checkpoint) validateVectors() error {
	var sum uint64
	for line, n := range c.Seen {
		if !line.Valid() || n == 0 || n > 1<<48 {
			return errors.New("a vector that counts nothing")
		}
		sum += n
	}
	for line, n := range c.Firm {
		if !c.Seen.Has(line, n) {
			return errors.New("later operations have seen more than it stands for")
		}
	}
	if all := uint64(len(c.Kept) + len(c.Late)); c.Count > sum || c.Count+all > sum {
		return errors.New("it counts more operations than it stands for")
	}
	return nil
}

// validateOperations returns the operations by identifier.
func (c *Checkpoint) validateOperations() (map[engine.OperationID]*engine.Operation, error) {
	type place struct {
		line   engine.Line
		number uint64
	}
	there := make(map[place]bool, len(c.Kept)+len(c.Late))
	kept := make(map[engine.OperationID]*engine.Operation, len(c.Kept)+len(c.Late))
	for _, list := range [][]*engine.Operation{c.Kept, c.Late} {
		for i, o := range list {
			at := place{o.Line, o.Number}
			switch {
			case !c.Has(o) || !c.Seen.Contains(o.Seen) || o.Seen[o.Line] > 0:
				return nil, errors.New("it keeps an operation that it does not stand for")
			case o.Time > c.Time:
				return nil, errors.New("it keeps an operation that comes after it")
			case there[at] || i > 0 && engine.Compare(list[i-1], o) >= 0:
				return nil, errors.New("its operations are not in order")
			}
			if err := o.Validate(); err != nil {
				return nil, err
			}
			there[at], kept[o.ID] = true, o
		}
	}
	return kept, nil
}

// validate checks a placement that operations which are kept have led to.
func (p *Placed) validate(kept map[engine.OperationID]*engine.Operation) error {
	if len(p.Sites) == 0 || len(p.Sites) > maxSites {
		return fmt.Errorf("a placement of %d sites", len(p.Sites))
	}
	for i, id := range p.Sites {
		if id == "" || len(id) > engine.MaxSiteID || i > 0 && p.Sites[i-1] >= id {
			return errors.New("a placement whose sites are not sorted, or are none")
		}
	}
	if p.Parts != nil {
		all := slices.Concat(p.Parts...)
		slices.Sort(all)
		if !slices.Equal(all, p.Sites) || slices.ContainsFunc(p.Parts, func(part []engine.SiteID) bool { return len(part) == 0 }) {
			return errors.New("parts that are not those of its sites")
		}
	}
	for _, by := range []map[engine.SiteID]engine.OperationID{p.Added, p.Removed} {
		for _, id := range by {
			if o := kept[id]; o == nil || o.Type != engine.TypePlace {
				return errors.New("a placement by an operation that is none")
			}
		}
	}
	return nil
}

func (c *Checkpoint) validateNotes(kept map[engine.OperationID]*engine.Operation) error {
	for _, id := range c.Newest {
		if !id.Valid() {
			return errors.New("a name of an operation that is none")
		}
	}
	for _, id := range c.Lost {
		if kept[id] == nil || !slices.IsSorted(c.Lost) {
			return errors.New("it tells of a loss that it does not keep")
		}
	}
	for _, w := range c.Whereabouts {
		if err := w.Validate(); err != nil {
			return err
		}
	}
	edit := engine.Edit{Order: c.Order}
	if err := edit.Validate(); err != nil {
		return err
	}
	size := 0
	for _, s := range c.Superseded {
		size += len(s.Value)
		value := engine.Edit{Set: map[engine.Pointer]json.RawMessage{s.Path: s.Value}}
		if s.Value == nil {
			value = engine.Edit{Unset: []engine.Pointer{s.Path}}
		}
		if err := value.Validate(); err != nil {
			return err
		}
		if !s.By.Valid() || !s.Over.Valid() || len(s.Rule) > maxNames || size > maxSupersededBytes {
			return errors.New("a superseded value that is none")
		}
	}
	return nil
}
