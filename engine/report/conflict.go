package report

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// newConflict returns a conflict about the resource at a site, since a time in Unix microseconds. What names it is apart from
// document and site.
func newConflict(v *view.View, kind engine.ConflictKind, site engine.SiteID, since int64, reason string, what ...string) engine.Conflict {
	return engine.Conflict{
		ID: engine.ConflictOf(append([]string{string(v.Document), string(site)}, what...)...), Kind: kind, Document: v.Document,
		Resource: v.About.Key, Service: v.About.Service, KindName: v.About.Kind, Site: site, Since: engine.Time(since), Reason: reason,
		Sites: sharing(v),
	}
}

// sharing lists the sites that a resource is shared between.
func sharing(v *view.View) []engine.SiteID {
	if v.About.Chooses() {
		return v.About.Placement
	}
	return v.Placement().Sites
}

// Conflicts derives what waits for a person, in the order of sites and operations, from what is known of the resource.
func Conflicts(v *view.View) []engine.Conflict {
	if v.Part(v.Self) == view.PartFormer { // it has no say in it any more
		return nil
	}
	if v.About.Chooses() {
		return append(choiceConflicts(v), forkConflicts(v)...)
	}
	list := append(outcomeConflicts(v), waitConflicts(v)...)
	explained := map[engine.SiteID]bool{} // sites that differ because of something that went wrong there
	for _, c := range list {
		explained[c.Site] = true
	}
	for _, c := range driftConflicts(v) {
		if !explained[c.Site] || c.Kind == engine.ConflictContention && !MayDiffer(list, c.Site) {
			list = append(list, c)
		}
	}
	return slices.Concat(list, insideConflicts(v), orderConflicts(v), forkConflicts(v))
}

// orderConflicts are the arrays of which concurrent operations want orders that cannot both be. They end with the next operation that has
// seen them and arranges the array.
func orderConflicts(v *view.View) []engine.Conflict {
	if len(v.Kind.Keys) == 0 {
		return nil
	}
	var list []engine.Conflict
	for _, l := range v.History.Whole(merge.Any).Superseded {
		if l.Rule != merge.ByPlace {
			continue
		}
		c := newConflict(v, engine.ConflictOrder, v.Placement().Sites[0], l.Over.Made().UnixMicro(), fmt.Sprintf(
			"two orders of %s were wanted at the same time that cannot both be, and all sites have the later one; what the other was is listed with what "+
				"was lost, and can be restored", l.Path), "order", string(l.Path), string(l.Over))
		if slices.ContainsFunc(list, func(other engine.Conflict) bool { return other.ID == c.ID }) {
			continue
		}
		c.Operation, c.Actions = l.Over, []engine.Action{engine.ActionDismiss}
		if o := v.History.Get(l.Over); o != nil {
			c.Type = o.Type
		}
		if decided := v.Decisions.Accepted(c.ID, 0); decided != nil {
			c.Accepted, c.Actions = decided, []engine.Action{}
		}
		list = append(list, c)
	}
	return list
}

// differs reports whether a conflict is about a site that shows something else than the others.
func differs(k engine.ConflictKind) bool {
	return k != engine.ConflictNameTaken && k != engine.ConflictForked && k != engine.ConflictOrder
}

// forkConflicts name the sites that have signed two different changes under one number.
func forkConflicts(v *view.View) []engine.Conflict {
	var list []engine.Conflict
	for _, f := range v.Forked() {
		site, what := f.Line.Site(), fmt.Sprintf("change %d of its line %s): nothing that it has written there since", f.Number, f.Line.Run())
		if f.Number == 0 {
			what = fmt.Sprintf("in %d lines): nothing that it has written here", engine.MaxForks)
		}
		c := newConflict(v, engine.ConflictForked, site, f.At, fmt.Sprintf("%s has signed two different changes under one number (%s counts at any site, "+
			"but for what all had settled long before; its key is not to be trusted", v.Name(site), what), "forked", f.Line.Run(), fmt.Sprint(f.Epoch, ".", f.Number))
		c.Actions = []engine.Action{engine.ActionDismiss}
		if decided := v.Decisions.Accepted(c.ID, 0); decided != nil {
			c.Accepted, c.Actions = decided, []engine.Action{engine.ActionReopen}
		}
		list = append(list, c)
	}
	return list
}

// MayDiffer reports whether somebody has accepted that a site differs from the others.
func MayDiffer(conflicts []engine.Conflict, s engine.SiteID) bool {
	return slices.ContainsFunc(conflicts, func(c engine.Conflict) bool {
		return c.Site == s && !c.Open() && differs(c.Kind)
	})
}

// outcomeConflicts are those that follow from what became of operations.
func outcomeConflicts(v *view.View) []engine.Conflict {
	var list []engine.Conflict
	var living func(*engine.Operation) bool
	var fold *merge.Fold
	for _, s := range v.Placement().Sites {
		outcomes := v.Outcomes(s)
		if len(outcomes) == 0 {
			continue
		}
		for _, o := range v.History.Ordered() {
			out, ok := outcomes[o.ID]
			if !ok || KindOf(out) == "" {
				continue
			}
			if fold == nil {
				f := v.History.Whole(merge.Any)
				fold, living = &f, merge.Within(v.History.Living(merge.Any))
			}
			if matters(v, s, o, out, living, fold) {
				list = append(list, ConflictAbout(v, s, o, out))
			}
		}
	}
	return list
}

// KindOf tells which conflict an outcome is; empty: none.
func KindOf(out engine.Outcome) engine.ConflictKind {
	switch {
	case out.Cause != "":
		return out.Cause
	case out.State == engine.StateUncertain:
		return engine.ConflictUncertain
	case out.State == engine.StateRejected && !out.Blocks && Contested(out.Status):
		return engine.ConflictContested
	case out.State == engine.StateRejected:
		return engine.ConflictRefused
	}
	return ""
}

// Contested reports whether an answer says that a request did not fit what is there.
func Contested(status int) bool {
	return status == http.StatusConflict || status == http.StatusPreconditionFailed
}

// matters reports whether what became of o at a site makes a difference: a refused change does not any more when later ones have
// taken the place of all that it set, and nothing does once the resource is gone.
func matters(v *view.View, s engine.SiteID, o *engine.Operation, out engine.Outcome, living func(*engine.Operation) bool, fold *merge.Fold) bool {
	switch {
	case o.Type == engine.TypeDelete:
		return v.LocalAt(s) != ""
	case out.Dropped && v.At(s).Ended > 0: // there is nothing that it could change
		return false
	case o.Type == engine.TypePlace: // its content could not be copied
		return fold.Exists
	case o.Type == engine.TypeCreate && out.State == engine.StateUncertain: // the delete that ended it waits for it
		return true
	case !living(o): // what has ended may still hold up all that comes after it
		return out.Blocks && !v.Settled(s, o)
	case out.Blocks || out.State != engine.StateRejected || o.Type == engine.TypeAction || o.Type == engine.TypeCreate || out.Dropped:
		return true
	case o.Type == engine.TypeAbsolute:
		return fold.Absolute[o.Path] == o
	}
	for _, c := range fold.Cells {
		if c.By == o {
			return true
		}
	}
	return o.Edit.Empty() && !v.History.Base().Reduces(o)
}

// ConflictAbout is the conflict that an outcome of an operation at a site is.
func ConflictAbout(v *view.View, s engine.SiteID, o *engine.Operation, out engine.Outcome) engine.Conflict {
	c := newConflict(v, KindOf(out), s, out.At, Explain(o, out), string(o.ID))
	c.Operation, c.Type, c.Status, c.Blocks = o.ID, o.Type, out.Status, out.Blocks
	dismissed := v.Decisions.Accepted(c.ID, out.At)
	switch {
	case out.Dropped:
		c.Accepted = &engine.Decision{Conflict: c.ID, Action: engine.ActionDrop, By: s, At: out.At, For: out.At}
	case dismissed != nil && !out.Blocks:
		c.Accepted = dismissed
	}
	if Decidable(v, o, out) {
		c.Actions = possible(&c, v.Kind)
	} else {
		c.Actions = folded(&c)
	}
	if c.Accepted != nil && c.Accepted.Action == engine.ActionDismiss {
		c.Actions = append(c.Actions, engine.ActionReopen)
	}
	return c
}

// Decidable reports whether what became of an operation at a site waits for a person, or may be decided anew: of most of those
// that were refused a checkpoint keeps too little to try them again.
func Decidable(v *view.View, o *engine.Operation, out engine.Outcome) bool {
	whole := o.Type == engine.TypeDelete || o.Type == engine.TypeAbsolute && (o.Body != nil || o.Blob != nil)
	return out.Blocks || out.State == engine.StateUncertain || out.State == engine.StateRejected && (whole || !v.History.Base().Has(o))
}

// Takes says why an operation does not take a decision. An object is not taken for what a create has made that is another resource's of the
// same name: what one does about it would show in the other. What the site does not accept can only be let in there or given up, and a
// placement only let in, since it is for all sites to take one of them out.
func Takes(o *engine.Operation, out engine.Outcome, what engine.Action) error {
	held := out.Cause == engine.ConflictNotAccepted && out.Blocks
	switch {
	case held && what != "" && what != engine.ActionAccept && (what != engine.ActionDrop || o.Type == engine.TypePlace), !held && what == engine.ActionAccept:
		return engine.ErrSettled
	case out.Cause == engine.ConflictUnseen && what == engine.ActionDone:
		return engine.ErrSettled
	case out.Cause == engine.ConflictRival && (what == engine.ActionDone || what == engine.ActionAdopt):
		return &engine.Refusal{Status: http.StatusConflict, Type: "settle", Operation: o.ID,
			Detail: "the object of this name is another resource's: it is not this one. Retry gives the name to this one and deletes that object with all that is in it; drop leaves it"}
	}
	return nil
}

// possible lists what can be decided about a conflict now, what is most likely wanted first.
func possible(c *engine.Conflict, k *engine.Kind) []engine.Action {
	switch {
	case !c.Open():
		return []engine.Action{engine.ActionRetry, engine.ActionDone}
	case c.Kind == engine.ConflictExists, c.Kind == engine.ConflictRejoined && c.Type == engine.TypeCreate,
		c.Kind == engine.ConflictUndeclared && c.Type == engine.TypeCreate: // the object may be restored, or the catalog say more by now
		return []engine.Action{engine.ActionAdopt, engine.ActionRetry, engine.ActionDrop}
	case c.Kind == engine.ConflictNotAccepted && c.Type == engine.TypePlace:
		return []engine.Action{engine.ActionAccept}
	case c.Kind == engine.ConflictNotAccepted:
		return []engine.Action{engine.ActionAccept, engine.ActionDrop}
	case c.Kind == engine.ConflictRival, c.Kind == engine.ConflictUnseen:
		return []engine.Action{engine.ActionRetry, engine.ActionDrop}
	case c.Kind == engine.ConflictRefused && c.Type == engine.TypeCreate, c.Type == engine.TypeCreate && !k.Natural():
		return []engine.Action{engine.ActionRetry, engine.ActionAdopt, engine.ActionDrop}
	case c.Blocks:
		return []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop}
	case c.Kind != engine.ConflictUncertain && keepable(c) && c.Type != engine.TypeDelete && c.Type != engine.TypePlace:
		return []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop, engine.ActionKeep, engine.ActionDismiss}
	}
	return []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop, engine.ActionDismiss}
}

// keepable reports whether what an application shows tells of the effect of the operation: of an action, or of opaque bytes, it
// does not.
func keepable(c *engine.Conflict) bool {
	return c.Type != engine.TypeAction && c.Type != engine.TypeAbsolute
}

// folded lists what can be decided about a refused operation once it is folded into what came later, and tells that.
func folded(c *engine.Conflict) (actions []engine.Action) {
	if keepable(c) {
		actions = append(actions, engine.ActionKeep)
	}
	if c.Open() {
		c.Reason = strings.TrimSpace(c.Reason) + "; later changes build on it, so it cannot be sent again by itself"
		actions = append(actions, engine.ActionDismiss)
	}
	return actions
}

// Explain says in words what became of an operation.
func Explain(o *engine.Operation, out engine.Outcome) string {
	what := plan.Told(o.Type, o.Path)
	switch {
	case out.Cause != "":
		return out.Error
	case out.State == engine.StateUncertain && out.Error != "":
		return fmt.Sprintf("nobody knows whether %s ran: %s", what, out.Error)
	case out.State == engine.StateUncertain:
		return fmt.Sprintf("nobody knows whether %s ran", what)
	case out.Dropped:
		return fmt.Sprintf("%s is not made there: %s", what, out.Error)
	}
	why := cmp.Or(out.Error, plan.Tell(engine.Reply{Status: out.Status}, nil))
	switch {
	case plan.Judge(o.Type, engine.Reply{Status: out.Status}, nil) == plan.Done: // it was not refused, and yet the object is there
		return why
	case out.Status == 0:
		return fmt.Sprintf("%s cannot be made: %s", what, why)
	case Contested(out.Status) && !out.Blocks:
		return fmt.Sprintf("the application keeps finding that %s does not fit what is there: %s", what, why)
	}
	return fmt.Sprintf("the application refused %s: %s", what, why)
}

// NoReplica is the outcome of an operation at this site, where nothing is to have an object.
func NoReplica(v *view.View) engine.Outcome {
	why := "this site has no replica: its create was dropped"
	if v.Me.Ended > 0 {
		why = "this site has no replica: its object has ended by itself"
	}
	return engine.Outcome{State: engine.StateRejected, Dropped: true, Error: why}
}

// DroppedBecause says why a person has given an operation up.
func DroppedBecause(out engine.Outcome) string {
	switch {
	case out.Error == "" && out.Status == 0, strings.HasPrefix(out.Error, engine.GivenUp):
		return cmp.Or(out.Error, engine.GivenUp)
	case out.Error == "":
		return engine.GivenUp + "; before: " + plan.Tell(engine.Reply{Status: out.Status}, nil)
	}
	return engine.GivenUp + "; before: " + out.Error
}

// acceptedWords says in words that a site differs because somebody has decided so.
func acceptedWords(v *view.View, c *engine.Conflict) string {
	if c.Kind == engine.ConflictForked || c.Kind == engine.ConflictOrder {
		return fmt.Sprintf("%s (%s has taken note of it)", c.Reason, v.Name(c.Accepted.By))
	}
	if c.Accepted.Action == engine.ActionDrop {
		return "differs from the other sites: " + c.Reason
	}
	return fmt.Sprintf("differs from the other sites, which %s has accepted (%s)", v.Name(c.Accepted.By), c.Reason)
}

// waitConflicts are those that follow from what sites say they wait for: a name that is another's, a request without a certain
// answer that a person is asked about, a resource that is set aside.
func waitConflicts(v *view.View) []engine.Conflict {
	var list []engine.Conflict
	for _, s := range v.Placement().Sites {
		for _, w := range v.At(s).Waits {
			switch w.Kind {
			case engine.WaitName:
				if born := v.History.Born(merge.Any); born != nil {
					c := newConflict(v, engine.ConflictName, s, w.Since, "another resource of this name was created earlier and has the object here", "name")
					c.Operation, c.Type, c.Blocks, c.Actions = born.ID, engine.TypeCreate, true, []engine.Action{engine.ActionDrop}
					list = append(list, c)
				}
			case engine.WaitPerson:
				c := newConflict(v, engine.ConflictUncertain, s, w.Since, w.Reason, "open", string(w.Operation))
				c.Operation, c.Blocks = w.Operation, true
				c.Actions = []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop}
				if v.History.Born(merge.Any) == nil {
					if c.Type = engine.TypeCreate; !v.Kind.Natural() { // nobody knows what the application calls what it may have made
						c.Actions = []engine.Action{engine.ActionRetry, engine.ActionAdopt, engine.ActionDrop}
					}
				}
				list = append(list, c)
			case engine.WaitDenied:
				if o := v.History.Get(w.Operation); o != nil { // else the whole service does not let the agent in
					list = append(list, deniedConflict(v, s, o, w))
				}
			case engine.WaitAside:
				c := newConflict(v, engine.ConflictAside, s, w.Since, w.Reason, "aside")
				c.Blocks, c.Actions = true, []engine.Action{engine.ActionRetry}
				list = append(list, c)
			}
		}
	}
	return list
}

// deniedConflict is that of an operation which the application of a site does not let the agent do.
func deniedConflict(v *view.View, s engine.SiteID, o *engine.Operation, w engine.Wait) engine.Conflict {
	c := newConflict(v, engine.ConflictDenied, s, w.Since, w.Reason, "denied", string(o.ID))
	c.Operation, c.Type, c.Blocks, c.Actions = o.ID, o.Type, true, []engine.Action{engine.ActionRetry}
	if !v.Settled(s, o) { // else it was done here once, and what follows of it is denied
		c.Actions = append(c.Actions, engine.ActionDrop)
	}
	return c
}

// choiceConflicts are the sites that hold a name which is another's: both sides of a cut have chosen.
func choiceConflicts(v *view.View) []engine.Conflict {
	holders := v.Holding()
	first := view.OwnerOf(holders)
	var list []engine.Conflict
	for _, site := range slices.Sorted(maps.Keys(holders)) {
		h := holders[site]
		if site == first {
			continue
		}
		c := newConflict(v, engine.ConflictName, site, h.At, fmt.Sprintf(
			"%s and %s have both created it while they could not reach each other, and it was to be at one of them: the name is %s's, "+
				"who was first; keep one of them, and the other is deleted", v.Name(first), v.Name(site), v.Name(first)), string(h.Operation))
		c.Operation, c.Type, c.Holder, c.Actions = h.Operation, engine.TypeCreate, first, []engine.Action{engine.ActionKeep}
		list = append(list, c)
	}
	return list
}

// same reports whether two things are one: replicas of one resource.
func same(i, j engine.Contained) bool {
	return i.Site == j.Site && i.Local == j.Local || i.Resource != "" && i.Resource == j.Resource
}

// insideConflicts are names that two sides of a cut have given to two things inside a container. The earlier keeps it.
func insideConflicts(v *view.View) []engine.Conflict {
	type given struct {
		kind engine.KindName
		name string
	}
	var list []engine.Conflict
	first := map[given]engine.Contained{}
	for _, i := range v.Inside("") {
		if i.Name == "" || i.Own {
			continue
		}
		owner, taken := first[given{i.Kind, i.Name}]
		switch {
		case !taken:
			first[given{i.Kind, i.Name}] = i
		case !same(owner, i):
			list = append(list, insideConflict(v, owner, i))
		}
	}
	return list
}

func insideConflict(v *view.View, owner, late engine.Contained) engine.Conflict {
	c := newConflict(v, engine.ConflictNameTaken, late.Site, late.At, fmt.Sprintf(
		"%s %s was made at %s while %s had one of that name already, since %s: that one keeps the name; rename or delete the other, or let both be",
		late.Kind, late.Name, v.Name(late.Site), v.Name(owner.Site), engine.Time(owner.At).Format("2006-01-02 15:04:05 UTC")),
		string(late.Kind), late.Local, "name")
	c.Actions = []engine.Action{engine.ActionDismiss}
	for _, i := range []engine.Contained{owner, late} {
		c.Twins = append(c.Twins, engine.Twin{Site: i.Site, Kind: i.Kind, Local: i.Local, Name: i.Name})
	}
	if owner.Site != late.Site && owner.Resource == "" && late.Resource == "" { // what is replicated is not deleted at one site
		c.Holder, c.Actions = owner.Site, []engine.Action{engine.ActionKeep, engine.ActionDismiss}
	}
	if decided := v.Decisions.Accepted(c.ID, late.At); decided != nil {
		c.Accepted, c.Actions = decided, []engine.Action{engine.ActionReopen}
	}
	return c
}
