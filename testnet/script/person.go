package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// person has a person decide something at a site.
func (w *world) person(ctx context.Context, s *site, word, rest string) error {
	if s.Proc == nil {
		return errors.New("there is no agent")
	}
	desk := s.Proc.Desk
	switch word {
	case "retry", "done", "drop":
		id, ok := w.trace.operation(rest)
		if !ok {
			return fmt.Errorf("there is no operation %s yet", rest)
		}
		decide := map[string]func(context.Context, engine.OperationID, engine.Decider) error{"retry": desk.Retry, "done": desk.Done, "drop": desk.Drop}[word]
		s.decide(func() error { return decide(ctx, engine.OperationID(id), person) })
		return nil
	case "remove":
		other, err := w.site(rest)
		if err != nil {
			return err
		}
		s.decide(func() error { return s.Proc.Mesh.RemoveSite(ctx, other.ID) })
		return nil
	case "confirm":
		s.decide(func() error {
			n, err := desk.Confirm(ctx, engine.Decider{User: person.User, Site: s.ID}, nil)
			w.trace.add("person", fmt.Sprintf("confirms %d deletions at %s", n, s.Name))
			return err
		})
		return nil
	case "reject":
		return s.reject(ctx)
	case "resolve":
		return s.resolve(ctx, strings.Fields(rest))
	case "place":
		return s.place(ctx, strings.Fields(rest))
	case "resume":
		if rest == "" {
			s.decide(func() error { return s.Proc.Site.ResumeQueue(service) })
			return nil
		}
	}
	row, err := s.resource(ctx, rest)
	if err != nil {
		return err
	}
	s.decide(func() error {
		switch word {
		case "pause":
			return desk.Pause(ctx, row.Document, s.ID, "maintenance")
		case "resume":
			return desk.Resume(ctx, row.Document)
		}
		_, err := desk.Keep(ctx, row.Document, person, false)
		return err
	})
	return nil
}

// decide has the agent do what a person has decided, and tells why it does not.
func (s *site) decide(f func() error) {
	s.do(func() {
		if err := f(); err != nil {
			s.world.trace.add("person", "is told "+err.Error())
		}
	})
}

// reject has a site keep the objects of the deletions that it holds.
func (s *site) reject(ctx context.Context) error {
	held, _, err := s.Disk.Operations(ctx, engine.OperationFilter{State: engine.StateHeld, Site: s.ID, Limit: 100})
	if err != nil || len(held) == 0 {
		return fmt.Errorf("%s holds no deletion: %w", s.Name, err)
	}
	for _, o := range held {
		s.decide(func() error {
			id, err := s.Proc.Operator().Reject(ctx, o.ID, engine.Decider{User: person.User, Site: s.ID})
			if err == nil {
				s.world.trace.add("person", fmt.Sprintf("has %s again", id))
			}
			return err
		})
	}
	return nil
}

// place adds sites to a resource and removes sites from it: "web + nantes - lille". Or it says how all of them share it: "web at paris % nantes".
func (s *site) place(ctx context.Context, words []string) error {
	if len(words) == 0 {
		return errors.New("which resource?")
	}
	row, err := s.resource(ctx, words[0])
	if err != nil {
		return err
	}
	var q engine.PlaceRequest
	if len(words) > 1 && words[1] == "at" {
		var r request
		if err := s.world.place(&r, strings.Join(words[2:], " ")); err != nil {
			return err
		}
		if a := r.alternatives[0]; a.Parts != nil {
			q.Parts = a.Parts
		} else {
			q.Parts = engine.Parts{a.Placement}
		}
		words = nil
	}
	for i := 1; i+1 < len(words); i += 2 {
		other, err := s.world.site(words[i+1])
		if err != nil {
			return err
		}
		if words[i] == "+" {
			q.Add = append(q.Add, other.ID)
		} else {
			q.Remove = append(q.Remove, other.ID)
		}
	}
	s.world.Now = s.world.Now.Add(time.Second)
	s.decide(func() error {
		_, err := s.Proc.Desk.Place(ctx, row.Document, q)
		return err
	})
	return nil
}

// resolve decides about the conflicts of a kind at a site: "name drop".
func (s *site) resolve(ctx context.Context, words []string) error {
	if len(words) < 2 {
		return errors.New("which conflict, and how?")
	}
	conflicts, _, err := s.Disk.Conflicts(ctx, engine.ConflictFilter{Kind: engine.ConflictKind(words[0]), Site: s.ID})
	if err != nil || len(conflicts) == 0 {
		return fmt.Errorf("%s has no conflict of kind %s: %w", s.Name, words[0], err)
	}
	for _, c := range conflicts {
		s.world.Now = s.world.Now.Add(time.Second)
		s.decide(func() error {
			return s.Proc.Desk.Resolve(ctx, c.ID, engine.Action(words[1]), engine.LocalID(strings.Join(words[2:], "")), person)
		})
	}
	return nil
}

// person is who decides in scripts.
var person = engine.Decider{User: "ann"}
