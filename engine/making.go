package engine

import "context"

// An object that is made shows what was known when the request went out. Should that have no answer, more may be known
// when its fate is found out: something that the object does not show, or that there is to be none at all. So it is settled
// as it was sent, before anything else is done for the resource.

// making is what a request that makes an object anew settles when it is done, by operation; see Step.
type making struct {
	Operations []OperationID `json:"operations,omitempty"`
	Again      []OperationID `json:"again,omitempty"`
	Voided     []OperationID `json:"voided,omitempty"`
}

// makingOf is what a step settles that makes the object anew; nil for any other.
func makingOf(step Step) *making {
	if step.Kind != StepMake {
		return nil
	}
	return &making{idsOf(step.Operations), idsOf(step.Again), idsOf(step.Voided)}
}

func idsOf(ops []*Operation) []OperationID {
	var ids []OperationID
	for _, o := range ops {
		ids = append(ids, o.ID)
	}
	return ids
}

// made remembers a request that makes the object.
func (s *Site) made(c *crossing) {
	if c.Operation.Type == TypeCreate {
		s.making.Store(c.Document, c)
	}
}

// maybeMade returns the request that may have made the object of a resource; nil: there is none without a certain answer.
func (s *Site) maybeMade(id DocumentID) *crossing {
	last, ok := s.making.Load(id)
	if !ok {
		return nil
	}
	c := last.(*crossing)
	if _, open := s.opened.Load(c.Operation.ID); !open {
		s.making.Delete(id)
		return nil
	}
	return c
}

// unfinished returns the step of this site that was to make the object and had no certain answer. A person who is asked what
// became of it holds up the resource. Where the object is there by now a client has made it, who found the name free: the step has
// made nothing. The caller holds r.mu.
func (s *Site) unfinished(ctx context.Context, r *resource, v *view, st Standing) (Step, bool, error) {
	c := s.maybeMade(v.document)
	if c == nil || st.Yields {
		return Step{}, false, nil
	}
	o := c.Operation
	switch {
	case !st.Gone:
		return Step{}, false, s.forgo(ctx, r, &o)
	case st.Blocked(&o):
		return Step{Kind: StepHold, Operations: []*Operation{&o}}, true, nil
	case c.Making == nil:
		create := v.history.Get(o.ID)
		return Step{Kind: StepRun, Operations: []*Operation{create}}, create != nil && !st.Settled(create), nil
	}
	of := func(ids []OperationID) []*Operation {
		var ops []*Operation
		for _, id := range ids {
			if o := v.history.Get(id); o != nil { // else all sites have settled it, and it is in the checkpoint
				ops = append(ops, o)
			}
		}
		return ops
	}
	return Step{Kind: StepMake, Make: &o, Operations: of(c.Making.Operations), Again: of(c.Making.Again), Voided: of(c.Making.Voided)}, true, nil
}

// forgo closes the intent of a request that has certainly made nothing.
func (s *Site) forgo(ctx context.Context, r *resource, o *Operation) error {
	if err := s.close(ctx, o.ID); err != nil {
		return err
	}
	s.opened.Delete(o.ID)
	s.making.Delete(r.id)
	return nil
}
