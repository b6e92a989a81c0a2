package engine

import (
	"context"
	"fmt"
	"net/http"
)

// A request that makes no operation of a document, since it concerns this site's application alone, has no resource whose turn it could
// wait for. What had no certain answer is sent again later all the same, so it must not take back what came after it.

// runPlain runs a request that another site sent for this site alone, once.
func (s *Site) runPlain(ctx context.Context, r Request, k keeper) (Answer, error) {
	if err := s.takeLarge(ctx, r); err != nil {
		return Answer{}, err
	}
	c := s.crossingOf(r, k)
	c.Plain = true
	if err := s.settleSame(ctx, r.Kind, c); err != nil {
		return Answer{}, err
	}
	return s.cross(ctx, nil, r.Kind, c, Fold{}, s.addressed(ctx, r.Kind, r.Target, r.Within))
}

// names is what a request changes or makes at this site, empty where the application gives the identifier.
func (c *crossing) names(k *Kind) string {
	if c.Target != "" || c.Operation.Type != TypeCreate || !k.Natural() {
		return c.Target
	}
	return k.inside(c.Within, ChosenID(k, c.Operation.Body))
}

// settleSame settles the earlier plain requests for what c names that have had no certain answer, before c goes out.
func (s *Site) settleSame(ctx context.Context, k *Kind, c *crossing) error {
	name := c.names(k)
	if name == "" {
		return nil
	}
	intents, err := s.cfg.Store.Intents(ctx)
	if err != nil {
		return fmt.Errorf("list open intents: %w", err)
	}
	for _, i := range intents {
		if _, waits := s.asking.Load(i.Operation); i.Document != "" || i.Operation == c.Operation.ID || waits {
			continue
		}
		var earlier crossing
		if err := s.unseal(i.Operation, i.Data, &earlier); err != nil {
			return fmt.Errorf("open intent %s: %w", i.Operation, err)
		}
		if !earlier.Plain || !earlier.isOf(k) || earlier.names(k) != name {
			continue
		}
		_, err := s.settleIntent(ctx, i.Operation)
		if _, open := s.openIntent(ctx, i.Operation); open || err != nil {
			return unanswered(i.Operation, err)
		}
	}
	return nil
}

// unanswered refuses a request because of an earlier one. It is not under that operation's identifier: whoever asks would take it for
// the one of this request.
func unanswered(earlier OperationID, err error) *Refusal {
	return &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err,
		Detail: fmt.Sprintf("an earlier request for this resource has had no certain answer yet (operation %s); nothing has happened", earlier)}
}

// settlePlain settles a request that makes no operation of a document, one at a time of those that name the same.
func (s *Site) settlePlain(ctx context.Context, c *crossing) (again bool, err error) {
	if k := s.known.Load().by[kindKey{c.Service, c.Kind}]; k != nil && c.Plain && c.names(k) != "" {
		release, err := s.naming.take(ctx, k, ResourceID(c.names(k)))
		if err != nil {
			return true, nil
		}
		defer release()
		var ok bool
		if c, ok = s.openIntent(ctx, c.Operation.ID); !ok { // settled while this waited
			return false, nil
		}
	}
	return s.settle(ctx, nil, c)
}
