package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ConflictID identifies a conflict at every site: it follows from what the conflict is about.
type ConflictID string

// ConflictKind says what the rules could not settle.
type ConflictKind string

const (
	// ConflictExists: a create met an object that no replicated resource owns, or what a lost run of the agent had made is there beside the
	// replica.
	ConflictExists ConflictKind = "exists"
	// ConflictName: two resources were given one name, and the one that was created earlier has the object.
	ConflictName ConflictKind = "name"
	// ConflictRefused: the application refused what another site's application took.
	ConflictRefused ConflictKind = "refused"
	// ConflictContested: the application twice found that the request did not fit what is there (409, 412).
	ConflictContested ConflictKind = "contested"
	// ConflictUncertain: it is not known whether the application has done it.
	ConflictUncertain ConflictKind = "uncertain"
	// ConflictUndeclared: the object is gone and cannot be made anew, because an action has run on it of which the catalog
	// does not say what it sets.
	ConflictUndeclared ConflictKind = "undeclared"
)

const (
	// ConflictDrift: the application shows something else than the others, or has lost the object, and no operation did that.
	ConflictDrift ConflictKind = "drift"
	// ConflictNameTaken: something inside a container that is spread over sites has a name that another part has given as well,
	// and earlier.
	ConflictNameTaken ConflictKind = "name-taken"
	// ConflictContention: it was repaired a few times, and that did not last.
	ConflictContention ConflictKind = "contention"
)

// Action is what a person can decide about a conflict.
type Action string

const (
	// ActionRetry sends it to the application again, or what is left of it to do.
	ActionRetry Action = "retry"
	// ActionDone says that the application has it.
	ActionDone Action = "done"
	// ActionDrop gives it up at its site, which differs from the others then.
	ActionDrop Action = "drop"
	// ActionAdopt makes the object that is there the replica, and brings it to what the other sites show.
	ActionAdopt Action = "adopt"
	// ActionKeep makes what the application of the site that is told shows what all sites show.
	ActionKeep Action = "keep"
	// ActionDismiss accepts that the site differs, and can be said at any site that has the resource.
	ActionDismiss Action = "dismiss"
)

// Conflict is something about one resource at one site that waits for a person. It is derived from the resource's document,
// or from an open intent of this site, and never the only place where something is known.
type Conflict struct {
	ID   ConflictID   `json:"id"`
	Kind ConflictKind `json:"kind"`
	// Document is empty for a request of this site that makes something, or is for it alone.
	Document  DocumentID  `json:"document,omitempty"`
	Resource  ResourceID  `json:"resource,omitempty"`
	Service   ServiceName `json:"service"`
	KindName  KindName    `json:"kind_name"`
	Site      SiteID      `json:"site"`
	Operation OperationID `json:"operation"`
	Type      Type        `json:"type"`
	Status    int         `json:"status,omitempty"` // of the application's answer
	Since     time.Time   `json:"since"`
	Reason    string      `json:"reason"`
	// Blocks says that later operations wait for it at its site.
	Blocks  bool     `json:"blocks,omitempty"`
	Actions []Action `json:"actions"`
	// Accepted is set once somebody has decided that the site may differ.
	Accepted *Decision `json:"accepted,omitempty"`
}

// Decision says who has accepted that a site differs, and when. For is the Since of the conflict: should the same thing
// happen once more, it is to be decided once more.
type Decision struct {
	Action Action    `json:"action"` // drop or dismiss
	By     SiteID    `json:"by"`
	At     time.Time `json:"at"`
	For    time.Time `json:"for"`
}

// decided takes in what somebody has decided: of each site the last counts, in whichever order they come.
func (v *view) decided(id ConflictID, d Decision) {
	if v.decisions[id] == nil {
		v.decisions[id] = map[SiteID]Decision{}
	}
	old, ok := v.decisions[id][d.By]
	if !ok || cmp.Or(d.At.Compare(old.At), d.For.Compare(old.For)) > 0 {
		v.decisions[id][d.By] = d
	}
}

// accepted returns who has accepted a conflict as it has been since then, nil for nobody. With a site that was set back, it may be again what
// it was before, of which something else had been decided since.
func (v *view) accepted(id ConflictID, since time.Time) *Decision {
	for _, by := range slices.Sorted(maps.Keys(v.decisions[id])) {
		if d := v.decisions[id][by]; d.For.Equal(since) {
			return &d
		}
	}
	return nil
}

// Open reports whether the conflict still waits for a person.
func (c *Conflict) Open() bool { return c.Accepted == nil }

// state is what the conflict makes of its resource.
func (c *Conflict) state() State {
	switch {
	case c.Accepted != nil:
		return StateConverged
	case c.Kind == ConflictExists, c.Kind == ConflictName, c.Kind == ConflictNameTaken, c.Kind == ConflictContested, c.Kind == ConflictUndeclared, c.Kind == ConflictContention,
		c.Kind == ConflictRefused && c.Blocks && c.Type != TypePlace:
		return StateConflict
	}
	return StateDegraded
}

// conflictID is the same at all sites, and another one for each thing that can be decided by itself.
func conflictID(parts ...string) ConflictID {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return ConflictID(hex.EncodeToString(sum[:8]))
}

// contested reports whether the application found twice that a request did not fit what is there.
func (o Outcome) contested() bool {
	return o.Status == http.StatusConflict || o.Status == http.StatusPreconditionFailed
}

// kindOf tells which conflict an outcome is; empty: none.
func (o Outcome) conflict() ConflictKind {
	switch {
	case o.Cause != "":
		return o.Cause
	case o.State == StateUncertain:
		return ConflictUncertain
	case o.State == StateRejected && !o.Blocks && o.contested():
		return ConflictContested
	case o.State == StateRejected:
		return ConflictRefused
	}
	return ""
}

// conflicts derives what waits for a person, in the order of sites and operations, from what is known of the resource.
func (v *view) conflicts() []Conflict {
	if v.part(v.self) == partFormer { // it has no say in it any more
		return nil
	}
	list := append(v.outcomeConflicts(), v.nameConflicts()...)
	names := v.insideConflicts()
	explained := map[SiteID]bool{} // sites that differ because of an operation that went wrong there
	for _, c := range list {
		explained[c.Site] = true
	}
	for _, c := range v.driftConflicts() {
		if !explained[c.Site] || c.Kind == ConflictContention && !mayDiffer(list, c.Site) {
			list = append(list, c)
		}
	}
	return append(list, names...)
}

// mayDiffer reports whether somebody has accepted that a site differs from the others.
func mayDiffer(conflicts []Conflict, s SiteID) bool {
	return slices.ContainsFunc(conflicts, func(c Conflict) bool { return c.Site == s && !c.Open() && c.Kind != ConflictNameTaken })
}

// outcomeConflicts are those that follow from what became of operations.
func (v *view) outcomeConflicts() []Conflict {
	if len(v.outcomes) == 0 {
		return nil
	}
	var list []Conflict
	living := within(v.history.Living(anyOperation))
	var fold *Fold
	for _, s := range v.placement().Sites {
		if len(v.outcomes[s]) == 0 {
			continue
		}
		for _, o := range v.history.ordered {
			out, ok := v.outcomes[s][o.ID]
			if !ok || out.conflict() == "" {
				continue
			}
			if fold == nil {
				f := FoldOf(v.history, anyOperation)
				fold = &f
			}
			if v.matters(s, o, out, living, fold) {
				list = append(list, v.conflict(s, o, out))
			}
		}
	}
	return list
}

// matters reports whether what became of o at a site makes a difference: a refused change does not any more when later ones
// have taken the place of all that it set, and nothing does once the resource is gone.
func (v *view) matters(s SiteID, o *Operation, out Outcome, living func(*Operation) bool, fold *Fold) bool {
	switch {
	case o.Type == TypeDelete:
		return v.replica(s).Local != ""
	case o.Type == TypePlace: // its content could not be copied
		return fold.Exists
	case o.Type == TypeCreate && out.State == StateUncertain: // the delete that ended it waits for it
		return true
	case !living(o):
		return false
	case out.Blocks || out.State != StateRejected || o.Type == TypeAction || o.Type == TypeCreate || out.Dropped:
		return true
	case o.Type == TypeAbsolute:
		return fold.Absolute[o.Path] == o
	}
	for _, c := range fold.Cells {
		if c.By == o.ID {
			return true
		}
	}
	return o.Change.Empty() && !v.history.base.reduces(o)
}

func (v *view) conflict(s SiteID, o *Operation, out Outcome) Conflict {
	c := Conflict{
		ID: conflictID(string(v.document), string(s), string(o.ID)), Kind: out.conflict(), Document: v.document, Resource: v.about.Key,
		Service: v.about.Service, KindName: v.about.Kind, Site: s, Operation: o.ID, Type: o.Type, Status: out.Status, Since: out.At,
		Reason: v.explain(o, out), Blocks: out.Blocks,
	}
	dismissed := v.accepted(c.ID, out.At)
	switch {
	case out.Dropped:
		c.Accepted = &Decision{Action: ActionDrop, By: s, At: out.At, For: out.At}
	case dismissed != nil && !out.Blocks:
		c.Accepted = dismissed
	}
	c.Actions = c.possible(v.kind)
	if !v.decidable(o, out) {
		c.Actions = c.folded()
	}
	return c
}

// possible lists what can be decided about a conflict now, what is most likely wanted first.
func (c *Conflict) possible(k *Kind) []Action {
	switch {
	case !c.Open():
		return []Action{ActionRetry, ActionDone}
	case c.Kind == ConflictExists && !c.Blocks: // what a lost run had made is there beside the replica
		return []Action{ActionDone, ActionDismiss}
	case c.Kind == ConflictExists:
		return []Action{ActionAdopt, ActionRetry, ActionDrop}
	case c.Kind == ConflictUndeclared && c.Type == TypeCreate: // the object may be restored, or the catalog say more by now
		return []Action{ActionAdopt, ActionRetry, ActionDrop}
	case c.Kind == ConflictRefused && c.Type == TypeCreate:
		return []Action{ActionRetry, ActionAdopt, ActionDrop}
	case c.Type == TypeCreate && !k.Natural(): // nobody knows the identifier of what it may have made
		return []Action{ActionRetry, ActionAdopt, ActionDrop}
	case c.Blocks:
		return []Action{ActionRetry, ActionDone, ActionDrop}
	}
	if c.Kind != ConflictUncertain && c.keepable() && c.Type != TypeDelete && c.Type != TypePlace {
		return []Action{ActionRetry, ActionDone, ActionDrop, ActionKeep, ActionDismiss}
	}
	return []Action{ActionRetry, ActionDone, ActionDrop, ActionDismiss}
}

// keepable reports whether what an application shows tells of the effect of the operation: of an action, or of opaque bytes, it does not.
func (c *Conflict) keepable() bool { return c.Type != TypeAction && c.Type != TypeAbsolute }

// folded lists what can be decided about a refused operation once it is folded into what came later, and tells that.
func (c *Conflict) folded() (actions []Action) {
	if c.keepable() {
		actions = append(actions, ActionKeep)
	}
	if c.Open() {
		c.Reason = strings.TrimSpace(c.Reason) + "; it is folded into what came later and cannot be sent again by itself"
		actions = append(actions, ActionDismiss)
	}
	return actions
}

func (v *view) explain(o *Operation, out Outcome) string {
	switch {
	case out.Cause != "":
		return out.Error
	case out.State == StateUncertain && out.Error != "":
		return fmt.Sprintf("it is not known whether %s %s ran: %s", o.Type, o.ID, out.Error)
	case out.State == StateUncertain:
		return fmt.Sprintf("it is not known whether %s %s ran", o.Type, o.ID)
	case out.Dropped:
		return fmt.Sprintf("%s %s", o.Type, out.Error)
	case out.Error != "":
		return fmt.Sprintf("%s refused: %s", o.Type, out.Error)
	}
	return fmt.Sprintf("%s refused with status %d", o.Type, out.Status)
}

// accepted says in words that a site differs because somebody has decided so.
func (c *Conflict) accepted(name func(SiteID) SiteName) string {
	if c.Accepted.Action == ActionDrop {
		return "differs from the other sites: " + c.Reason
	}
	return fmt.Sprintf("differs from the other sites, which %s has accepted (%s)", name(c.Accepted.By), c.Reason)
}
