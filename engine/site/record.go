package site

import (
	"errors"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// record adds to the batch what is stored of a replica: its record with the row that lists show, the rows of its operations that have
// become different, its conflicts, and the events that tell all of that. What it was before is in memory.
func (w *wakeUp) record(r *resident, k *work) {
	if encoded, news := r.TellNews(w.now); news {
		w.mail.status(r, encoded)
	}
	rec := engine.Record{Epoch: r.Epochs[0].Number, Mine: r.Kept(), Checkpoint: k.checkpoint, Digest: r.Digest(), Blobs: r.Blobs()}
	if !r.stored {
		rec.About = r.Raw
	}
	if k.statuses || r.lags || !r.stored {
		rec.Statuses = engine.Encode(r.SignedStatuses())
	}
	rec.Peers, rec.Apart = r.Shared()
	none := r.Part(r.Self) == view.PartNone
	rec.Hollow = none || r.About.Chooses() || r.Empty() // it may be in the making
	conflicts := report.Conflicts(r.Replica.View)
	r.works = r.working()
	rec.Row = report.Row(r.Replica.View, w.now, conflicts, r.NextStep(), r.works)
	before := r.row
	recording{w}.rowEvents(&before, &rec.Row, rec.Hollow)
	if !none {
		recording{w}.conflicts(r, conflicts)
		recording{w}.operations(r)
	}
	w.batch.Records = append(w.batch.Records, rec)
	w.s.Index(&w.batch.Records[len(w.batch.Records)-1].Row)
}

// brief is what is stored of a replica of which lists show nothing new.
func (r *resident) brief() engine.Record {
	return engine.Record{Brief: true, Row: r.row, Epoch: r.Epochs[0].Number, Mine: r.Kept(), Digest: r.shared.digest, Peers: r.shared.peers,
		Apart: r.shared.apart, Blobs: r.Blobs()}
}

// committed takes over what has been stored of a replica.
func (w *wakeUp) committed(rec *engine.Record) {
	r := w.s.residents.by[rec.Row.Document]
	if r == nil || rec.Brief {
		return
	}
	now := shared{rec.Digest, rec.Peers, rec.Apart}
	w.s.prints.change(r.id, r.shared, now)
	if !rec.Hollow {
		w.kept = append(w.kept, keptRow{r.row, &rec.Row})
	}
	r.stored, r.lags, r.row, r.shared = true, false, listed(rec), now
	if rec.Row.State == engine.StateConverged {
		r.lagged = 0
		w.s.residents.put(r, w.s.residents.done)
	}
	clear(r.Touched)
	r.Folded = nil
	if w.s.leftOver[r.id] && r.Idle() {
		delete(w.s.leftOver, r.id)
	}
}

// keptRow is a row that was stored, and what it was before.
type keptRow struct {
	before engine.ResourceRow
	now    *engine.ResourceRow
}

// listed is the row that lists show of a record; the zero value: none.
func listed(rec *engine.Record) engine.ResourceRow {
	if rec.Hollow {
		return engine.ResourceRow{}
	}
	return rec.Row
}

func (w *wakeUp) event(kind, subject string, data any) {
	w.batch.Events = append(w.batch.Events, report.Event(kind, subject, w.now, data))
}

// resourceEvent and operationEvent are what events about them tell; operationAtSite is what has become of an operation at a site.
type (
	resourceEvent struct {
		By       engine.SiteName    `json:"by,omitempty"`
		Kind     engine.KindName    `json:"kind"`
		Reason   string             `json:"reason"`
		Resource engine.ResourceID  `json:"resource"`
		Service  engine.ServiceName `json:"service"`
		Site     engine.SiteName    `json:"site,omitempty"`
		State    engine.State       `json:"state"`
	}
	operationEvent struct {
		Kind      engine.KindName    `json:"kind"`
		Operation engine.OperationID `json:"operation"`
		Origin    engine.SiteName    `json:"origin"`
		Resource  engine.ResourceID  `json:"resource"`
		Service   engine.ServiceName `json:"service"`
		Type      engine.Type        `json:"type"`
	}
	operationAtSite struct {
		operationEvent
		Error  string          `json:"error"`
		Site   engine.SiteName `json:"site"`
		State  engine.State    `json:"state"`
		Status int             `json:"status"`
	}
)

// recording writes the rows of replicas, and tells what has become different, for one wake-up.
type recording struct{ *wakeUp }

// rowEvents tells what of a resource is something else than before.
func (w recording) rowEvents(before, now *engine.ResourceRow, hollow bool) {
	if hollow {
		return
	}
	data := resourceEvent{Kind: now.Kind, Reason: now.Reason, Resource: now.ID, Service: now.Service, State: now.State}
	first := before.Document == ""
	if first {
		w.event("resource.created", string(now.ID), data)
	}
	for _, id := range those(now.Sites, func(id engine.SiteID, is engine.ReplicaStatus) bool {
		return is.Paused != nil || before.Sites[id].Paused != nil || is.Drifted || is.Mismatch
	}) {
		was, is := before.Sites[id], now.Sites[id]
		at := data
		at.Site, at.Reason = w.s.cfg.Members.Name(id), is.Reason
		told := func(kind string) { w.event(kind, string(now.ID), at) }
		switch {
		case is.Paused != nil && (was.Paused == nil || *was.Paused != *is.Paused):
			paused := at
			paused.By, paused.Reason = is.Paused.By, is.Paused.Reason
			w.event("resource.paused", string(now.ID), paused)
		case is.Paused == nil && was.Paused != nil:
			told("resource.resumed")
		}
		if is.Drifted && !was.Drifted {
			told("resource.drifted")
		}
		if is.Mismatch && !was.Mismatch {
			w.s.cfg.Log.Error("sites fold the same operations differently: a defect of the agent", "resource", string(now.ID),
				"site", string(w.s.cfg.Members.Name(id)))
			told("resource.fold-mismatch")
		}
	}
	if now.State != before.State {
		w.event("resource."+string(now.State), string(now.ID), data)
	}
}

// those are the sites of which something is so, sorted.
func those[T any](all map[engine.SiteID]T, so func(engine.SiteID, T) bool) (list []engine.SiteID) {
	for id, is := range all {
		if so(id, is) {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// conflicts has those stored that are new or different, and takes out those that are over.
func (w recording) conflicts(r *resident, list []engine.Conflict) {
	if len(list)+len(r.conflicts) == 0 {
		return
	}
	now := make(map[engine.ConflictID]engine.Conflict, len(list))
	for _, c := range list {
		now[c.ID] = c
		old, known := r.conflicts[c.ID]
		if known && sameConflict(&old, &c) {
			continue
		}
		w.batch.Conflicts = append(w.batch.Conflicts, c)
		switch {
		case c.Accepted == nil && (!known || old.Accepted != nil):
			w.conflictEvent("conflict.opened", &c)
		case c.Accepted != nil && known && old.Accepted == nil:
			w.conflictEvent("conflict.resolved", &c)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.conflicts)) {
		if _, still := now[id]; still {
			continue
		}
		w.batch.Resolved = append(w.batch.Resolved, id)
		if c := r.conflicts[id]; c.Accepted == nil {
			w.conflictEvent("conflict.resolved", &c)
		}
	}
	r.conflicts = now
}

func sameConflict(a, b *engine.Conflict) bool {
	return string(engine.Encode(a)) == string(engine.Encode(b))
}

func (w recording) conflictEvent(kind string, c *engine.Conflict) {
	w.event(kind, string(c.ID), map[string]any{"conflict": c.ID, "kind": c.Kind, "resource": c.Resource, "site": w.s.cfg.Members.Name(c.Site),
		"operation": c.Operation, "reason": c.Reason})
}

// operations has the rows of those operations written that have become different. Where the site joins anew it is not known what it has settled: they
// stay as they are then.
func (w recording) operations(r *resident) {
	touched := slices.AppendSeq(make([]engine.OperationID, 0, len(r.Touched)), maps.Keys(r.Touched))
	slices.Sort(touched)
	for _, id := range touched {
		if o := r.History.Get(id); o != nil && !r.Me.Rejoins {
			w.operation(r, report.OperationRow(r.Replica.View, o))
		}
	}
	for _, row := range r.Folded {
		w.operation(r, row)
		delete(r.rows, row.ID)
	}
}

func (w recording) operation(r *resident, row engine.OperationRow) {
	before, known := r.rows[row.ID]
	if known && before == nil { // stored by an earlier process, or before it was forgotten
		old, err := w.s.cfg.Store.Operation(w.ctx, row.ID)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			if until, err := w.s.cfg.Store.ForgottenUntil(w.ctx); err == nil && !row.IssuedAt.After(until) && row.Settled() && len(row.Sites) > 0 {
				r.rows[row.ID] = row.Sites
				return // its row was forgotten, and nothing more becomes of it
			}
		case err != nil:
			w.s.note(r.id, "read the row of an operation", err)
		}
		before = old.Sites
	}
	data := operationEvent{Kind: row.Kind, Operation: row.ID, Origin: w.s.cfg.Members.Name(row.Origin), Resource: row.Resource,
		Service: row.Service, Type: row.Type}
	if !known {
		w.event("operation.accepted", string(row.ID), data)
	}
	was, is := len(before) > 0, true
	moved := those(row.Sites, func(site engine.SiteID, now engine.OperationStatus) bool {
		old := before[site]
		again := waits(now) && now.Error != "" && now.Error != old.Error // for another reason, or a person has dropped it
		same := old.State == now.State
		if same && now.State != engine.StatePending && !again { // what was known when it happened stays
			now.At, now.Status, now.Error = old.At, old.Status, old.Error
			if now.Attempts == 0 {
				now.Attempts, now.Tries = old.Attempts, old.Tries
			}
			row.Sites[site] = now
		}
		was = was && (old.State == engine.StateApplied || old.State == engine.StateSuperseded)
		is = is && (now.State == engine.StateApplied || now.State == engine.StateSuperseded)
		return !same && (now.State == engine.StateApplied && site == r.Self || waits(now) || now.State == engine.StateHeld)
	})
	for _, site := range moved {
		now := row.Sites[site]
		w.event("operation."+string(now.State), string(row.ID), operationAtSite{data, now.Error, w.s.cfg.Members.Name(site), now.State, now.Status})
	}
	if is && !was {
		w.event("operation.converged", string(row.ID), data)
	}
	r.rows[row.ID] = row.Sites
	w.batch.Operations = append(w.batch.Operations, row)
}

// waits reports whether an operation waits for a person at a site.
func waits(st engine.OperationStatus) bool {
	return st.State == engine.StateRejected || st.State == engine.StateUncertain
}

// requestRows are those of requests that are in no document.
func (w recording) requestRows(r *resident, rows []engine.OperationRow) {
	for _, row := range rows {
		if r.History.Get(row.ID) == nil {
			w.batch.Operations = append(w.batch.Operations, row)
		}
	}
}
