package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The row of an operation is there for people, and so that a request which comes again does not run again. It is not there for
// ever: once an operation has been settled at all sites for long enough its row is deleted, by each site for itself. What the
// operation has brought about does not hang on it.

// forgetEvery is how often this site looks for rows to delete, forgetGap is how long it leaves the disk to others between two
// parts of them.
const (
	forgetEvery = time.Hour
	forgetGap   = 100 * time.Millisecond
)

// forgetRows deletes some of the rows that have been settled for long, and looks for more.
func (s *Site) forgetRows(ctx context.Context) error {
	n, err := s.cfg.Store.ForgetOperations(ctx, s.cfg.Now().Add(-s.cfg.KeepOperations), s.cfg.MaxOperations)
	next := min(forgetEvery, s.cfg.KeepOperations)
	if n > 0 && err == nil {
		next = forgetGap
	}
	s.queue.add(job{forget: true}, next)
	if errors.Is(err, ErrStorage) { // a disk that is full does not get fuller by this
		s.cfg.Log.Warn("rows of old operations stay for now", "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete rows of old operations: %w", err)
	}
	return nil
}

// forgotten reports whether the row of an operation that was made at a time may have been deleted.
func (s *Site) forgotten(ctx context.Context, made time.Time) (bool, error) {
	until, err := s.cfg.Store.ForgottenUntil(ctx)
	if err != nil {
		return false, fmt.Errorf("look which operations are forgotten: %w", err)
	}
	return !until.IsZero() && !made.After(until), nil
}

// clocksApart is how far the clocks of two sites may be apart for one to judge by the identifier that the other has made.
const clocksApart = time.Hour

// mayHaveRun refuses a request of another site that may have come before where nobody here would know: so long ago that it is forgotten,
// or to a run of this agent that is lost, of which no other site has told yet.
func (s *Site) mayHaveRun(ctx context.Context, r Request) error {
	if !r.Again {
		return nil
	}
	made, _ := timeOfID(r.Operation) // zero: it tells nothing
	row, err := s.Lookup(ctx, r.Kind, r.Target)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("look up %s: %w", r.Target, err)
	}
	besides := slices.DeleteFunc(append(others(row, s.cfg.Self), r.Placement...), func(id SiteID) bool { return slices.Contains(r.Via, id) })
	switch lost, err := s.forgotten(ctx, made.Add(-clocksApart)); {
	case err != nil:
		return err
	case lost:
		return &Refusal{Status: http.StatusConflict, Type: forgottenType, Operation: r.Operation, Detail: fmt.Sprintf(
			"it may have run at %s before, so long ago that nothing is known of it there any more", s.name(s.cfg.Self))}
	case s.uncompared(besides):
		return &Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: r.Operation, Detail: fmt.Sprintf(
			"it may have run at %s before, which has been compared with no other site since it was started", s.name(s.cfg.Self))}
	}
	return nil
}

// timeOfID returns when an identifier was made: a UUID of version 7 begins with that (RFC 9562).
func timeOfID(id OperationID) (time.Time, bool) {
	digits := strings.ReplaceAll(string(id), "-", "")
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 16 || b[6]>>4 != 7 {
		return time.Time{}, false
	}
	ms := int64(0)
	for _, d := range b[:6] {
		ms = ms<<8 | int64(d)
	}
	return time.UnixMilli(ms), true
}

// forgottenType is the problem of a request that may have run at a site which does not know it any more.
const forgottenType = "forgotten"

// nowhereKnown is what becomes of a request of this site that another one may have run and does not know any more: only a person
// can find out, unless it has come back in its document.
func (s *Site) nowhereKnown(ctx context.Context, id OperationID, at SiteID) OperationStatus {
	if row, err := s.cfg.Store.Operation(ctx, id); err == nil && row.Document != "" {
		return OperationStatus{State: StateApplied, At: s.cfg.Now()}
	}
	return OperationStatus{State: StateUncertain, Status: http.StatusConflict, At: s.cfg.Now(),
		Error: fmt.Sprintf("it may have run at %s, which it was handed to long ago: nothing is known of it there any more", s.name(at))}
}

// isNowhereKnown reports whether an operation is such a request.
func (s *Site) isNowhereKnown(row OperationRow) bool {
	return row.Document == "" && row.State == StateUncertain && row.Origin == s.cfg.Self
}

// decideNowhereKnown records what a person has found out about such a request. It reports whether it is one.
func (s *Site) decideNowhereKnown(ctx context.Context, id OperationID, st OperationStatus) (bool, error) {
	row, err := s.cfg.Store.Operation(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && !s.isNowhereKnown(row) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("settle operation %s: %w", id, err)
	}
	row.State, st.At = st.State, s.cfg.Now()
	for site := range row.Sites {
		row.Sites[site] = st
	}
	return true, s.commit(ctx, &Batch{Operations: []OperationRow{row}, Events: []Event{s.event("operation."+string(st.State), string(id), map[string]any{
		"operation": id, "resource": row.Resource, "service": row.Service, "kind": row.Kind, "type": row.Type, "state": st.State, "error": st.Error})}})
}
