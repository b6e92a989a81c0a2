package shape

import (
	"cmp"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
)

// Cause is what several decisions have in common: one thing that has gone wrong with what is of one kind at one site, which one answer may be
// right for.
type Cause struct {
	About     string    `json:"about"` // one of ConflictKinds
	Site      string    `json:"site"`
	Service   string    `json:"service"`
	Kind      string    `json:"kind"`
	Decisions int       `json:"decisions"`
	Headline  string    `json:"headline"` // what has happened, in one sentence
	Newest    string    `json:"newest"`   // the conflict that is the newest of them
	Since     time.Time `json:"since"`    // of that one
}

// Holding is what a site holds of deletions that came in while it was away, until somebody says what becomes of them.
type Holding struct {
	Site      string `json:"site"`
	Origin    string `json:"origin"` // where they were asked for
	Deletions int    `json:"deletions"`
	Headline  string `json:"headline"`
}

// Holding writes down deletions that a site holds.
func (n Names) Holding(site, origin engine.SiteID, deletions int) Holding {
	h := Holding{Site: n.Of(site), Origin: n.Of(origin), Deletions: deletions}
	h.Headline = fmt.Sprintf("%s holds %s of %s", h.Site, Count(deletions, "deletion", "deletions"), h.Origin)
	return h
}

// headlines say what has happened to %[1]s at %[2]s.
var headlines = map[engine.ConflictKind]string{
	engine.ConflictExists:      "An object was in the way of %s at %s",
	engine.ConflictName:        "The name of %s was given twice, also at %s",
	engine.ConflictRival:       "The name of %s belongs to another, and the object at %s lives",
	engine.ConflictNotAccepted: "The rules of %[2]s do not let %[1]s in",
	engine.ConflictRefused:     "%[2]s refused what others took, of %[1]s",
	engine.ConflictContested:   "A change of %s did not fit at %s",
	engine.ConflictUncertain:   "Nobody knows whether a request for %s ran at %s",
	engine.ConflictDrift:       "%[2]s shows something else of %[1]s",
	engine.ConflictContention:  "Repairs of %s did not last at %s",
	engine.ConflictUndeclared:  "%[2]s cannot make %[1]s anew",
	engine.ConflictNameTaken:   "Inside %s a name was given twice, also at %s",
	engine.ConflictRejoined:    "What was done to %s before %s was set back is not known",
	engine.ConflictDenied:      "The agent may not do it with %s at %s",
	engine.ConflictUnseen:      "The deletion of %s would take along at %s what its deleter had not seen",
	engine.ConflictOrder:       "Two orders of a list of %[1]s were wanted",
	engine.ConflictForked:      "%[2]s has signed two different changes of %[1]s",
	engine.ConflictAside:       "A defect of the agent has struck %s at %s",
}

// Cause writes down a cause of which there are so many decisions; newest is the newest of them.
func (n Names) Cause(c engine.Cause, decisions int, newest Conflict) Cause {
	v := Cause{About: string(c.About), Site: n.Of(c.Site), Service: string(c.Service), Kind: string(c.Kind), Decisions: decisions,
		Newest: newest.ID, Since: newest.Since}
	what := newest.Title()
	switch {
	case decisions > 1:
		what = Count(decisions, v.Kind, v.Kind+"s")
	case newest.Label+newest.Resource != "":
		what = v.Kind + " " + what
	}
	if in := newest.Inside; in != nil && decisions == 1 {
		v.Headline = fmt.Sprintf("Two %ss of %s are called %s, also at %s", in.Kind, what, in.Name, v.Site)
		return v
	}
	v.Headline = fmt.Sprintf(cmp.Or(headlines[c.About], "%s at %s waits for somebody"), what, v.Site)
	return v
}
