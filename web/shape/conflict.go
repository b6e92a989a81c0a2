package shape

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/skerry/skerry/engine"
)

// Conflict is something about one resource at one site that waits for a person.
type Conflict struct {
	ID        string    `json:"id"`    // the same at every site
	About     string    `json:"about"` // one of ConflictKinds
	Resource  string    `json:"resource"`
	Label     string    `json:"label"` // what people call the resource; empty where that is not known
	Service   string    `json:"service"`
	Kind      string    `json:"kind"`
	Site      string    `json:"site"`
	Operation string    `json:"operation"`
	Type      string    `json:"type"`   // of the operation
	Status    int       `json:"status"` // of the application's answer; 0: none
	Since     time.Time `json:"since"`
	Reason    string    `json:"reason"`
	Rule      string    `json:"rule"`   // what the agents go by
	Blocks    bool      `json:"blocks"` // later operations wait for it at its site
	// Actions are what can be decided now, what is most likely wanted first.
	Actions []string `json:"actions"`
	// Sites are those that it is between, by name; Holder is, of a name that was to be at one site and is at two, the one whose it is.
	Sites    []string    `json:"sites"`
	Holder   string      `json:"holder"`
	Inside   *Inside     `json:"inside"`   // nil: it is about the resource itself
	Accepted *Acceptance `json:"accepted"` // nil: it is open
}

// Title is what people call what it is about.
func (c Conflict) Title() string { return cmp.Or(c.Label, Short(c.Resource), An(c.Kind)) }

// Inside is what lies inside a resource and has one name twice.
type Inside struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Acceptance is a decision that a site may differ.
type Acceptance struct {
	Action string    `json:"action"` // drop or dismiss
	By     string    `json:"by"`     // the site where it was said
	At     time.Time `json:"at"`
}

// FieldConflict is one field that a conflict is about. A side is nil when it has no such field; JSON null is shown as such
// by its bytes.
type FieldConflict struct {
	Path   string          `json:"path"`
	Base   json.RawMessage `json:"base,omitempty"`   // what whoever issued the operation saw
	Here   json.RawMessage `json:"here,omitempty"`   // what the application of the conflict's site shows
	Wanted json.RawMessage `json:"wanted,omitempty"` // what all known operations amount to
	By     *Author         `json:"by,omitempty"`     // whose operation set the wanted value, where that is still listed
}

// ConflictRules are the kinds of conflicts, each with the rule that the agents go by.
var ConflictRules = map[engine.ConflictKind]string{
	engine.ConflictExists:      "an object that no replicated resource owns is never overwritten",
	engine.ConflictName:        "of two resources of one name the object belongs to the one that was created earlier",
	engine.ConflictRival:       "an object that lives is not deleted because another site has given its name earlier",
	engine.ConflictNotAccepted: "what the rules of a site do not let another do there is not sent, until a person at that site lets it in or its rules change",
	engine.ConflictRefused:     "the application decides: what it refuses is not sent again unasked, and later operations go on",
	engine.ConflictUnseen:      "a deletion takes nothing along that its deleter had not seen, unless a person says so",
	engine.ConflictDenied:      "what the application does not let the agent do is tried again slowly, and holds up that resource alone",
	engine.ConflictContested:   "what does not fit is read and folded again once, and sent once more",
	engine.ConflictUncertain:   "what must not happen twice is never sent again unasked",
	engine.ConflictDrift:       "what is changed behind an agent is shown and left for a person to repair",
	engine.ConflictContention:  "a repair that does not last is not repeated for ever",
	engine.ConflictUndeclared:  "an object is made anew only from effects that the catalog declares",
	engine.ConflictNameTaken:   "of two things of one name in a container the earlier keeps it, and neither is lost",
	engine.ConflictRejoined:    "what a lost run of an agent may have done is neither repeated nor taken for granted",
	engine.ConflictAside:       "a defect of an agent's own stops one resource, and no other",
	engine.ConflictOrder:       "what is put before or after something stays so, and where two orders cannot both be, the later one counts until somebody decides",
	engine.ConflictForked:      "of a line that is forked nothing counts from there on, whatever was heard first",
}

// ConflictKinds are the kinds of conflicts, what is worst first: where later operations wait, then where sites differ in what
// they have, then what one application did not take.
var ConflictKinds = []engine.ConflictKind{
	engine.ConflictUncertain, engine.ConflictForked, engine.ConflictAside, engine.ConflictExists, engine.ConflictName, engine.ConflictRival, engine.ConflictUnseen, engine.ConflictNameTaken,
	engine.ConflictNotAccepted, engine.ConflictRejoined, engine.ConflictUndeclared, engine.ConflictContested, engine.ConflictOrder, engine.ConflictContention, engine.ConflictDenied, engine.ConflictRefused, engine.ConflictDrift,
}

// Conflict tells of a conflict, with the rule that the agents go by.
func (n Names) Conflict(c engine.Conflict) Conflict {
	v := Conflict{
		ID: string(c.ID), About: string(c.Kind), Resource: string(c.Resource), Service: string(c.Service), Kind: string(c.KindName),
		Site: n.Of(c.Site), Operation: string(c.Operation), Type: string(c.Type), Status: c.Status, Since: c.Since, Reason: c.Reason,
		Rule: ConflictRules[c.Kind], Blocks: c.Blocks, Actions: []string{}, Sites: []string{},
	}
	for _, site := range c.Sites {
		v.Sites = append(v.Sites, n.Of(site))
	}
	if c.Holder != "" {
		v.Holder = n.Of(c.Holder)
	}
	if len(c.Twins) > 0 {
		v.Inside = &Inside{string(c.Twins[0].Kind), c.Twins[0].Name}
	}
	for _, action := range c.Actions {
		v.Actions = append(v.Actions, string(action))
	}
	if c.Accepted != nil {
		v.Accepted = &Acceptance{string(c.Accepted.Action), n.Of(c.Accepted.By), engine.Time(c.Accepted.At)}
	}
	return v
}

// FieldConflicts tells of the fields that a conflict is about.
func FieldConflicts(fields []engine.FieldDifference) []FieldConflict {
	list := make([]FieldConflict, 0, len(fields))
	for _, f := range fields {
		list = append(list, FieldConflict{string(f.Path), f.Base, f.Here, f.Wanted, nil})
	}
	return list
}
