package replica

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/view"
)

// env is what the replicas of a site ask of it.
type env struct{ *site }

func (e env) Now() time.Time { return e.world.now }

func (e env) NewID() string { return string(e.world.newOperation(e.id)) }

func (e env) FirstTip(about engine.About, epoch uint64) engine.Tip { return firstTip(about, epoch) }

func firstTip(about engine.About, epoch uint64) engine.Tip {
	return engine.Tip{Hash: sha256.Sum256(fmt.Appendf(engine.Encode(&about), "epoch %d", epoch))}
}

func (e env) Admits(k *engine.Kind, o *engine.Operation) bool {
	if n := k.Named(o.Method, o.Path, o.Body); n != nil {
		o.Name = n.Name
	}
	return true
}

func (e env) Accepts(*view.View) view.Rules { return nil }

func (e env) Note(_ engine.DocumentID, message string, err error) {
	if err != nil {
		message += ": " + err.Error()
	}
	e.world.tell("%s: notes: %s", e.id, message)
}

func (e env) Here(_ *engine.Kind, id string) engine.LocalID { return engine.LocalID(id) }

func (e env) Addressed(_ *engine.Kind, target, _ string) engine.LocalID {
	return engine.LocalID(target)
}

func (e env) Container(*engine.Kind, engine.LocalID) (shared, without bool) { return false, false }

func (e env) Contained(*engine.Kind) []*engine.Kind { return nil }

func (e env) Meta(k *engine.Kind, local engine.LocalID) engine.ResourceID {
	for _, id := range e.documents() {
		if r := e.replicas[id]; r.Kind == k && r.Mine.Local == local {
			return r.About.Key
		}
	}
	return ""
}

func (e env) Whereabouts(*engine.Kind, string, *engine.Operation, map[engine.ServiceName][]engine.SiteID) []engine.Whereabouts {
	return nil
}

func (e env) Awaits(*engine.Kind, engine.ResourceID, *engine.Operation) string { return "" }

func (e env) Admit(*engine.Kind, engine.DocumentID, engine.SiteID) bool { return true }

func (e env) Clock() time.Time { return e.Now() }

func (e env) Report(_ *engine.Kind, _ engine.DocumentID, r engine.Reply, _ error, _ bool) bool {
	return r.Status == 403
}

func (e env) Waits(*engine.Kind, engine.DocumentID, engine.SiteID) bool { return false }

func (e env) Halted(*engine.Kind) *engine.Wait { return nil }

func (e env) Reads(*engine.Kind) bool { return true }

func (e env) Looked(*engine.Kind, engine.DocumentID, bool) {}

func (e env) Remake(*engine.Kind, engine.DocumentID, bool) string { return "" }

func (e env) Respite(engine.Reply) time.Duration { return 0 }

func (e env) Sends(engine.DocumentID) bool    { return false }
func (e env) Backoff(tries int) time.Duration { return 100 * time.Millisecond << min(tries, 8) }

func (e env) Mismatch(*engine.Kind, []engine.SiteID) string { return "" }

func (e env) Reachable(s engine.SiteID) bool { return e.world.reaches(e.id, s) }

func (e env) Nearest(ids []engine.SiteID) []engine.SiteID { return ids }

func (e env) Met(sites []engine.SiteID) bool {
	return len(sites) == 0 || slices.ContainsFunc(sites, func(s engine.SiteID) bool { return e.met[s] })
}

func (e env) HasBlob(engine.BlobRef) bool { return true }

func (e env) Rivals(k *engine.Kind, key engine.ResourceID, but engine.DocumentID) []view.Claim {
	var claims []view.Claim
	for _, id := range e.documents() {
		if r := e.replicas[id]; id != but && r.Kind == k && r.About.Key == key {
			claims = append(claims, flight.ClaimOf(r.View, &r.Flights))
		}
	}
	return claims
}

func (e env) Making(k *engine.Kind) bool {
	for _, r := range e.replicas {
		if r.Kind == k && r.Busy() && r.Mine.Local == "" && !r.Me.Rejoins {
			return true
		}
	}
	return false
}

func (e env) TakeName(_ *engine.Kind, key engine.ResourceID, by engine.DocumentID) bool {
	if !slices.Contains(e.names[key], by) {
		e.names[key] = append(e.names[key], by)
	}
	return e.names[key][0] == by
}

func (e env) FreeName(_ *engine.Kind, key engine.ResourceID, by engine.DocumentID) {
	waiting := e.names[key]
	if len(waiting) == 0 || waiting[0] != by {
		return
	}
	delete(e.names, key)
	for _, id := range waiting[1:] {
		e.put(id, &News{Hurry: true})
	}
}

func (e env) Claimed(id engine.DocumentID) bool { return e.claimed[id] }

func (e env) Claim(id engine.DocumentID, asks bool) { e.claimed[id] = asks }

func (e env) LetDelete(*engine.Operation) bool { return !e.holdsDeletes }

func (e env) HoldDelete(engine.DocumentID) {}

func (e env) ReleaseDelete(engine.DocumentID) {}

func (e env) HearDelete(*engine.Operation) {}

func (e env) Ahead() time.Duration { return time.Hour }
