package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// AdoptObject makes an object that is at this site's application already the replica that a create could not make here. It is
// brought to what the other sites show. Local names it; empty is the identifier that the resource has at every site, where
// clients choose it. ErrNotFound, ErrSettled, or a *Refusal.
func (s *Site) AdoptObject(ctx context.Context, id OperationID, local LocalID) error {
	return s.decide(ctx, id, func(v *view, o *Operation, out Outcome) ([]Entry, error) {
		if o.Type != TypeCreate || !out.Blocks {
			return nil, &Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: id,
				Detail: "only a create that this site's application has refused, or may have done, can adopt an object"}
		}
		at := local
		if at == "" && v.kind.Natural() {
			at = s.here(ctx, v.kind, string(v.about.Key))
		}
		if at == "" {
			return nil, &Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: id, Detail: fmt.Sprintf(
				"the application assigns the identifiers of its %ss: say which object to adopt", v.about.Kind)}
		}
		other, err := s.cfg.Store.ResourceByLocal(ctx, v.about.Service, v.about.Kind, at)
		switch {
		case err == nil && other.Document != v.document:
			return nil, &Refusal{Status: http.StatusConflict, Type: "exists", Operation: id,
				Detail: fmt.Sprintf("%s %s is the replica of %s already", v.about.Kind, at, other.ID)}
		case err != nil && !errors.Is(err, ErrNotFound):
			return nil, fmt.Errorf("look for who owns %s: %w", at, err)
		}
		return []Entry{s.outcomeEntry(o, Outcome{State: StatePending, Adopt: at, Error: fmt.Sprintf("%s %s is to become its replica", v.about.Kind, at)})}, nil
	})
}

// adopted returns which object a create is to adopt here; empty when it is to make one.
func (s *Site) adopted(ctx context.Context, r *resource, o *Operation) (LocalID, error) {
	if o.Type != TypeCreate {
		return "", nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return "", err
	}
	return v.outcomes[s.cfg.Self][o.ID].Adopt, nil
}

// adopt brings an object that is there to what o sets, and takes it as the replica. The caller holds the turn.
func (s *Site) adopt(ctx context.Context, r *resource, k *Kind, o *Operation, local LocalID, step Step, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	var reply Reply
	for range 2 { // once more when someone else wrote in between
		shown, err := s.shown(ctx, k, local)
		switch {
		case err == nil && (shown.Status == http.StatusNotFound || shown.Status == http.StatusGone):
			return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: shown.Status, Blocks: true,
				Error: fmt.Sprintf("there is no %s %s here to adopt: retry makes a new one", k.Name, local)})
		case err != nil || shown.Status != http.StatusOK:
			return true, s.later(ctx, r, o, shown, err, s.heard(ctx, k.Service, r.id, shown, err, false))
		case o.Change.Empty() || showsChange(k, shown.Body, o.Change):
			return false, s.succeed(ctx, r, k, o, Reply{Status: shown.Status, Local: local}, local, step)
		}
		call, err := s.correction(k, r, o.Change, shown, local)
		if err != nil {
			return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Blocks: true, Cause: ConflictExists, Error: err.Error()})
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CallTimeout)
		reply, err = s.cfg.App.Do(bounded, call)
		cancel()
		alone := s.heard(ctx, k.Service, r.id, reply, err, true)
		switch judge(TypeReplace, reply, err) {
		case verdictDone:
			return false, s.succeed(context.WithoutCancel(ctx), r, k, o, Reply{Status: reply.Status, Local: local}, local, step)
		case verdictUnknown, verdictUnsent, verdictLater, verdictDenied:
			return true, s.later(ctx, r, o, reply, err, alone)
		case verdictRefused:
			return false, s.refuseAdoption(ctx, r, k, o, local, reply)
		}
	}
	return false, s.refuseAdoption(ctx, r, k, o, local, reply)
}

func (s *Site) refuseAdoption(ctx context.Context, r *resource, k *Kind, o *Operation, local LocalID, reply Reply) error {
	return s.fail(ctx, r, o, Outcome{State: StateRejected, Status: reply.Status, Blocks: true, Cause: ConflictExists,
		Error: fmt.Sprintf("%s %s cannot be brought to what the other sites show: %s", k.Name, local, tell(reply, nil))})
}
