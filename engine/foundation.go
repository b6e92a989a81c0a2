package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// foundation is what a document's row holds of the epochs before it: the checkpoint, and what else of them still counts.
type foundation struct {
	Checkpoint
	// Facts are those about operations that the checkpoint keeps.
	Facts []Fact `json:"facts,omitempty"`
	// Outcomes are those of operations that it keeps.
	Outcomes  map[SiteID]map[OperationID]Outcome `json:"outcomes,omitempty"`
	Decisions map[ConflictID]Decision            `json:"decisions,omitempty"`
	Contents  map[string]Inner                   `json:"contents,omitempty"`
	// Writers belong to the placement or have done so; Former are the last words of those that have left.
	Writers []SiteID           `json:"writers"`
	Former  map[SiteID]Replica `json:"former,omitempty"`
	// Shown are the epochs that are over and still shown to sites that have left in them.
	Shown map[uint64][]SiteID `json:"shown,omitempty"`
}

// encodeCheckpoint returns the foundation of the current epoch.
func (v *view) encodeCheckpoint() ([]byte, error) {
	base := v.history.base
	f := foundation{Checkpoint: *base, Outcomes: map[SiteID]map[OperationID]Outcome{}, Decisions: map[ConflictID]Decision{}, Former: map[SiteID]Replica{}}
	f.Contents, f.Shown = v.keptContents(), v.shownStill
	f.Writers = slices.Sorted(maps.Keys(v.writers))
	for _, site := range v.with(partFormer) {
		f.Former[site] = v.replicas[site]
	}
	for _, fact := range v.history.sortedFacts() {
		if v.history.counts(fact) {
			f.Facts = append(f.Facts, fact)
		}
	}
	for site, outcomes := range v.outcomes {
		f.Outcomes[site] = maps.Clone(outcomes)
		maps.DeleteFunc(f.Outcomes[site], func(id OperationID, _ Outcome) bool {
			o := v.history.Get(id)
			return o == nil || !base.has(o)
		})
	}
	for _, c := range v.conflicts() {
		if d := v.accepted(c.ID, c.Since); d != nil {
			f.Decisions[c.ID] = *d
		}
	}
	return v.encodeFoundation(f)
}

// alsoShown is an encoded checkpoint that says which epochs are still shown now.
func (v *view) alsoShown(encoded []byte) ([]byte, error) {
	f, err := decodeFoundation(encoded)
	if err != nil {
		return nil, fmt.Errorf("decode the checkpoint of %s: %w", v.about.Key, err)
	}
	f.Shown = v.shownStill
	return v.encodeFoundation(f)
}

// alsoKept is an encoded checkpoint that keeps, beside what it keeps, the actions of unknown effect that known, what this site had, has and had
// not settled. All sites have settled them, this one in a run that is lost, and with it its application may have lost what they did.
func (v *view) alsoKept(encoded []byte, known *view) ([]byte, error) {
	f, err := decodeFoundation(encoded)
	if err != nil {
		return nil, fmt.Errorf("decode the checkpoint of %s: %w", v.about.Key, err)
	}
	also := known.history.all(func(o *Operation) bool {
		there := func(p *Operation) bool { return Compare(o, p) == 0 }
		return o.Type == TypeAction && o.Change == nil && f.has(o) && !known.settled(v.self, o) && !slices.ContainsFunc(slices.Concat(f.Kept, f.Late), there)
	})
	if len(also) == 0 {
		return encoded, nil
	}
	f.Kept, f.Count = append(f.Kept, also...), f.Count-len(also)
	return v.encodeFoundation(f)
}

func (v *view) encodeFoundation(f foundation) ([]byte, error) {
	b, err := json.Marshal(f)
	if err == nil && len(b) > MaxCheckpoint {
		err = fmt.Errorf("%w: %d bytes", ErrTooLarge, len(b))
	}
	if err != nil {
		return nil, fmt.Errorf("encode the checkpoint of %s: %w", v.about.Key, err)
	}
	return b, nil
}

// decodeFoundation decodes an encoded checkpoint, which may be a member's, and refuses one that no agent has made.
func decodeFoundation(encoded []byte) (f foundation, err error) {
	if err := decodeStrict(encoded, &f); err != nil {
		return f, err
	}
	for _, o := range slices.Concat(f.Kept, f.Late) {
		if o == nil {
			return f, errors.New("an operation that is none")
		}
		if err := o.check(); err != nil {
			return f, fmt.Errorf("operation %s: %w", o.ID, err)
		}
		o.line = lineOf(o.Origin, o.Run, o.Epoch)
	}
	for site, r := range f.Former {
		if err := errors.Join(r.Lost.check(), r.Behind.check()); err != nil {
			return f, fmt.Errorf("the last word of %s: %w", site, err)
		}
	}
	return f, nil
}

// begin makes the view start with a checkpoint.
func (v *view) begin(encoded []byte) error {
	f, err := decodeFoundation(encoded)
	if err != nil {
		return fmt.Errorf("decode the checkpoint of %s: %w", v.about.Key, err)
	}
	for _, o := range slices.Concat(f.Kept, f.Late) {
		v.large = v.large || o.Blob != nil
	}
	slices.SortFunc(f.Kept, Compare)
	for _, site := range f.Writers {
		v.writers[site] = true
	}
	v.history.stand(&f.Checkpoint, nil)
	for _, fact := range f.Facts {
		v.history.AddFact(fact)
	}
	v.placed = nil
	maps.Copy(v.replicas, f.Former)
	v.createdAt = time.UnixMicro(f.First)
	maps.Copy(v.outcomes, f.Outcomes)
	for id, d := range f.Decisions {
		v.decided(id, d)
	}
	maps.Copy(v.contents, f.Contents)
	maps.Copy(v.shownStill, f.Shown)
	return nil
}
