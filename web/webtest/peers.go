package webtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// Accepts is what the API asks about other sites.
func (s *Site) Accepts(w engine.Wish) engine.Acceptance {
	if s.Accept != nil {
		return s.Accept(w)
	}
	return engine.Acceptance{Accepted: true, Reason: "no rules"}
}

// Pause implements api.Operator.
func (s *Site) Pause(_ context.Context, id engine.DocumentID, by engine.SiteID, reason string) error {
	return s.setPause("Pause", id, s.self, &engine.Pause{By: s.nameOf(by), At: s.now(), Reason: reason})
}

// Resume implements api.Operator.
func (s *Site) Resume(_ context.Context, id engine.DocumentID) error {
	return s.setPause("Resume", id, s.self, nil)
}

// Check implements api.Operator.
func (s *Site) Check(_ context.Context, id engine.DocumentID) error {
	if err := s.fault("Check"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked = append(s.checked, id)
	return nil
}

// Keep implements api.Operator.
func (s *Site) Keep(_ context.Context, id engine.DocumentID, _ engine.Decider, force bool) (engine.OperationID, error) {
	if err := s.fault("Keep"); err != nil && !force {
		return "", err
	}
	return "0190a5c2-0000-7000-8000-0000000000aa", nil
}

// SetObjects says what only this site's application has, of every kind.
func (s *Site) SetObjects(list ...engine.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = list
}

// Objects implements api.Operator.
func (s *Site) Objects(context.Context, engine.ServiceName, engine.KindName) ([]engine.Object, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.objects), len(s.objects) < 500, s.fault("Objects")
}

// Object implements api.Operator.
func (s *Site) Object(_ context.Context, _ engine.ServiceName, _ engine.KindName, id string) ([]byte, error) {
	if id == "nope" {
		return nil, engine.ErrNotFound
	}
	return []byte(`{"id":"` + id + `","name":"like ` + id + `","admin_password":"geheim","updated_at":"now"}`), s.fault("Object")
}

// AdoptExisting implements api.Operator: what SetObjects has named can be adopted.
func (s *Site) AdoptExisting(_ context.Context, q engine.AdoptRequest) (engine.ResourceID, engine.OperationID, error) {
	if err := s.fault("AdoptExisting"); err != nil {
		return "", "", err
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.objects, func(o engine.Object) bool { return o.Local == q.ID })
	if i >= 0 {
		s.objects = slices.Delete(slices.Clone(s.objects), i, i+1)
	}
	s.mu.Unlock()
	if i < 0 {
		return "", "", engine.ErrNotFound
	}
	row := engine.ResourceRow{ID: engine.ResourceID(q.ID), Service: q.Kind.Service, Kind: q.Kind.Name, Collaboration: engine.Replication, Local: q.ID,
		State: engine.StateConverging, Sites: map[engine.SiteID]engine.ReplicaStatus{}}
	if q.Parts != nil {
		row.Collaboration = engine.Cross
	}
	for _, id := range q.Sites {
		row.Sites[id] = engine.ReplicaStatus{State: engine.StateConverging}
	}
	s.AddResource(row)
	s.AddOperation(engine.OperationRow{ID: "op-adopt", Resource: row.ID, Type: engine.TypePlace, Service: row.Service, Kind: row.Kind, State: engine.StatePending})
	return row.ID, "op-adopt", nil
}

// Restore implements api.Operator.
func (s *Site) Restore(_ context.Context, _ engine.DocumentID, q engine.RestoreRequest) (engine.Answer, error) {
	if err := s.fault("Restore"); err != nil {
		return engine.Answer{}, err
	}
	if q.Path == "/refused" {
		return engine.Answer{Status: 422, Body: []byte("no such size")}, nil
	}
	return engine.Answer{Status: 200, Operation: "0190a5c2-0000-7000-8000-0000000000cc"}, nil
}

// Checked lists the documents that were to be looked at.
func (s *Site) Checked() []engine.DocumentID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.checked)
}

// Place implements api.Operator: the placement is changed at once, and there is an operation that did it.
func (s *Site) Place(_ context.Context, id engine.DocumentID, q engine.PlaceRequest) (engine.OperationID, error) {
	if err := s.fault("Place"); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.resources, func(r engine.ResourceRow) bool { return r.Document == id })
	if i < 0 {
		return "", fmt.Errorf("document %s: %w", id, engine.ErrNotFound)
	}
	row := &s.resources[i]
	changed := q.Parts != nil && (len(q.Parts) > 1) != (row.Collaboration == engine.Cross)
	if changed {
		row.Collaboration = map[bool]engine.Collaboration{true: engine.Cross, false: engine.Replication}[len(q.Parts) > 1]
	}
	for _, site := range slices.Concat(q.Sites, q.Add) {
		if _, ok := row.Sites[site]; !ok {
			row.Sites[site], changed = engine.ReplicaStatus{State: engine.StateConverging}, true
		}
	}
	for site := range row.Sites {
		if slices.Contains(q.Remove, site) || q.Sites != nil && !slices.Contains(q.Sites, site) {
			delete(row.Sites, site)
			changed = true
		}
	}
	if !changed {
		return "", nil
	}
	o := engine.OperationRow{ID: "op-place", Document: id, Resource: row.ID, Service: row.Service, Kind: row.Kind, Type: engine.TypePlace, Origin: s.self,
		State: engine.StatePending, Sites: map[engine.SiteID]engine.OperationStatus{s.self: {State: engine.StateApplied}}, IssuedAt: s.now()}
	s.operations = append([]engine.OperationRow{o}, s.operations...)
	return o.ID, nil
}

// Shares implements api.Operator: five are divided.
func (s *Site) Shares(_ context.Context, _ engine.DocumentID, q engine.PlaceRequest) ([]map[engine.Pointer]json.RawMessage, error) {
	all := make([]map[engine.Pointer]json.RawMessage, len(q.Parts))
	for i := range all {
		share, _ := tree.ShareOf(json.RawMessage("5"), len(all), i)
		all[i] = map[engine.Pointer]json.RawMessage{"/count": share}
	}
	return all, s.fault("Shares")
}

func (s *Site) setPause(method string, id engine.DocumentID, at engine.SiteID, p *engine.Pause) error {
	if err := s.fault(method); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.resources, func(r engine.ResourceRow) bool { return r.Document == id })
	if i < 0 {
		return fmt.Errorf("document %s: %w", id, engine.ErrNotFound)
	}
	st := s.resources[i].Sites[at]
	st.Paused = p
	s.resources[i].Sites[at] = st
	return nil
}

func (s *Site) nameOf(id engine.SiteID) engine.SiteName {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if m.ID == id {
			return m.Name
		}
	}
	return engine.SiteName(id)
}

// peers answers for the agents of the other sites, as far as this site's own index tells.
type peers struct{ site *Site }

// RoundTrip implements http.RoundTripper.
func (p peers) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := p.site.fault("Peer"); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	mux := http.NewServeMux()
	for _, verb := range api.PauseVerbs {
		mux.HandleFunc("POST /api/v1/resources/{id}/"+verb, func(w http.ResponseWriter, r *http.Request) { p.pause(w, r, verb) })
	}
	mux.HandleFunc("PATCH /api/v1/resources/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "elsewhere" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"type":"/problems/not-found","status":404,"detail":"no such resource"}`))
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"operation": shape.Operation{ID: "op-there", Type: "place", State: "pending", Parents: []string{},
			Sites: map[string]shape.Outcome{}}})
	})
	mux.HandleFunc("POST /api/v1/sites/{name}/resume", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(shape.Site{Name: string(p.site.nameOf(engine.SiteID(r.PathValue("name")))), Self: true,
			Services: []string{}, Addresses: []string{}, Rules: map[string]string{}, Queues: map[string]shape.Queue{"images": {State: "running"}}})
	})
	mux.HandleFunc("GET /api/v1/conflicts/{id}", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(api.ConflictDetail{Differences: []shape.FieldConflict{
			{Path: "/size", Here: json.RawMessage("1"), Wanted: json.RawMessage(`"` + r.FormValue("local_id") + `"`)}}})
	})
	mux.HandleFunc("POST /api/v1/conflicts/{id}/resolve", func(w http.ResponseWriter, r *http.Request) {
		var q api.ResolveRequest
		_ = json.NewDecoder(r.Body).Decode(&q)
		_ = json.NewEncoder(w).Encode(api.Resolution{Conflict: r.PathValue("id"), Action: q.Action, Site: r.Host,
			Operation: shape.Operation{ID: "o", Type: "create", State: "pending", Parents: []string{}, Sites: map[string]shape.Outcome{}}})
	})
	mux.HandleFunc("GET /api/v1/operations/{id}", p.operation)
	mux.HandleFunc("POST /api/v1/operations/{id}/{verb}", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(shape.Operation{ID: r.PathValue("id"), Type: "merge", State: "pending", Parents: []string{},
			Sites: map[string]shape.Outcome{string(p.site.nameOf(engine.SiteID(r.FormValue("site")))): {State: "pending", Error: r.PathValue("verb")}}})
	})
	mux.HandleFunc("GET /api/v1/sites/{name}/preview", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"site": %q, "waiting": 0, "examined": 0, "steps": {}, "held": 0, "ran": 0, "items": []}`, p.site.nameOf(engine.SiteID(r.PathValue("name"))))
	})
	mux.HandleFunc("POST /api/v1/resources/{id}/keep", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"operation":"0190a5c2-0000-7000-8000-0000000000bb"}`)
	})
	mux.ServeHTTP(w, r)
	return w.Result(), nil
}

// operation tells what only the site that is asked knows: that it has tried in vain, and tries again.
func (p peers) operation(w http.ResponseWriter, r *http.Request) {
	now := p.site.now()
	next := now.Add(8 * time.Second)
	at := shape.Outcome{State: "pending", Status: 503, At: now.Add(-4 * time.Second), Attempts: 12, Error: `it answered "starting" (503 Service Unavailable)`, Tries: []shape.Attempt{
		{At: now.Add(-30 * time.Second), Error: "it cannot be reached (connection refused)"}, {At: now.Add(-4 * time.Second), Status: 503, Error: `it answered "starting" (503 Service Unavailable)`}}}
	_ = json.NewEncoder(w).Encode(api.OperationDetail{NextTry: &next, Children: []string{}, Actions: []engine.Action{}, WaitsAt: []string{}, Operation: shape.Operation{ID: r.PathValue("id"), Type: "merge", State: "pending",
		Parents: []string{}, Sites: map[string]shape.Outcome{string(p.site.nameOf(engine.SiteID(r.FormValue("site")))): at}}})
}

func (p peers) pause(w http.ResponseWriter, r *http.Request, verb string) {
	var q api.PauseRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	rows, _, err := p.site.Resources(r.Context(), engine.ResourceFilter{ID: engine.ResourceID(r.PathValue("id"))})
	if err != nil || len(rows) != 1 {
		http.Error(w, fmt.Sprint(rows, err), http.StatusNotFound)
		return
	}
	var pause *engine.Pause
	v := shape.Resource{ID: r.PathValue("id"), State: string(rows[0].State), Sites: map[string]shape.Replica{}}
	if verb == "pause" {
		pause = &engine.Pause{By: p.site.nameOf(p.site.self), At: p.site.now(), Reason: q.Reason}
		v.Sites[string(p.site.nameOf(engine.SiteID(q.Site)))] = shape.Replica{State: string(rows[0].State), Paused: &shape.Pause{By: string(pause.By), At: pause.At, Reason: pause.Reason}}
	}
	if err := p.site.setPause("Peer", rows[0].Document, engine.SiteID(q.Site), pause); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err) // it is nothing but text and times
	}
}

// Preview implements api.Operator.
func (s *Site) Preview(_ context.Context, with engine.SiteID, limit int) (engine.Preview, error) {
	if err := s.fault("Preview"); err != nil {
		return engine.Preview{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := engine.Preview{Steps: map[string]int{}}
	for _, r := range s.resources {
		st, here := r.Sites[s.self]
		if _, shared := r.Sites[with]; !here || !shared || !st.Held {
			continue
		}
		p.Waiting, p.Examined, p.Held = p.Waiting+1, p.Examined+1, p.Held+1
		if with == s.self {
			p.Ran = slices.Clone(s.ran)
		}
		p.Steps[engine.DoesDelete]++
		if limit == 0 || len(p.Items) < limit {
			p.Items = append(p.Items, engine.Planned{Resource: r.ID, Service: r.Service, Kind: r.Kind, Does: engine.DoesDelete,
				Operations: []engine.OperationID{"o-" + engine.OperationID(r.ID)}, Waits: "held", Held: true})
		}
	}
	return p, nil
}

// Confirm implements api.Operator.
func (s *Site) Confirm(_ context.Context, by engine.Decider, only []engine.OperationID) (int, error) {
	if err := s.fault("Confirm"); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.resources {
		meant := only == nil || slices.Contains(only, "o-"+engine.OperationID(r.ID))
		if _, shared := r.Sites[by.Site]; meant && shared && r.Sites[s.self].Held {
			st := r.Sites[s.self]
			st.Held = false
			r.Sites[s.self] = st
			n++
		}
	}
	return n, nil
}

// SetRan says which deletions have run before the first that is held.
func (s *Site) SetRan(ids ...engine.OperationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = ids
}

// Reject implements api.Operator: the resource stays.
func (s *Site) Reject(_ context.Context, deletion engine.OperationID, _ engine.Decider) (engine.ResourceID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		if st := r.Sites[s.self]; "o-"+engine.OperationID(r.ID) == deletion && st.Held {
			st.Held = false
			r.Sites[s.self] = st
			return r.ID, s.fault("Reject")
		}
	}
	return "", engine.ErrSettled
}

// SetTwin makes a site say that it was restored from a backup, and whether two agents run with its key.
func (s *Site) SetTwin(id engine.SiteID, restored time.Time, cloned bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.members {
		if s.members[i].ID == id {
			if s.members[i].Cloned = cloned; !restored.IsZero() {
				s.members[i].Rejoined = restored.UnixMicro()
			}
		}
	}
}
