package shape

import (
	"fmt"
	"maps"

	"github.com/skerry/skerry/engine"
)

// Choice is something that a person can decide about a conflict, in words: what it is to be called, and what follows.
type Choice struct {
	Action  string `json:"action"`
	Title   string `json:"title"`
	Follows string `json:"follows"`
}

// Choices says in words what each of the conflict's actions comes to.
func (c Conflict) Choices() []Choice {
	all := make([]Choice, len(c.Actions))
	for i, action := range c.Actions {
		all[i] = c.Choice(action)
	}
	return all
}

// Choice says in words what comes of an action about the conflict.
func (c Conflict) Choice(action string) Choice {
	words := map[engine.Action]Choice{
		engine.ActionRetry:   {"", "Send it again", fmt.Sprintf("The agent of %s sends it again, or what is left of it to do. Use it once the cause is gone.", c.Site)},
		engine.ActionAccept:  {"", "Let it in", fmt.Sprintf("%s takes this one though its rules do not accept it. It can only be let in there, and what comes later is judged anew.", c.Site)},
		engine.ActionDone:    {"", "It is there already", fmt.Sprintf("The application of %s has it already: nothing is sent, and it counts as applied there.", c.Site)},
		engine.ActionDrop:    {"", "Leave " + c.Site + " without it", fmt.Sprintf("It is given up at %s alone, which differs from the others then. The other sites keep what they have.", c.Site)},
		engine.ActionAdopt:   {"", "Take that object", fmt.Sprintf("The object that is there becomes the replica of %s, and is changed to what is wanted.", c.Site)},
		engine.ActionKeep:    {"", "Keep", "What the application of the chosen site shows now becomes what all sites show, by an operation that corrects the others."},
		engine.ActionDismiss: {"", "Let " + c.Site + " differ", fmt.Sprintf("%s may differ: nothing is sent anywhere, and nobody is asked again unless it happens once more.", c.Site)},
		engine.ActionReopen:  {"", "Ask again", fmt.Sprintf("That %s may differ is taken back: it waits for somebody to decide, as before.", c.Site)},
	}
	maps.Copy(words, choicesOn(c))
	d, known := words[engine.Action(action)]
	if !known {
		d.Title = action
	}
	d.Action = action
	return d
}

// choicesOn says what comes of actions where the kind of conflict makes it another thing than it is for most.
func choicesOn(c Conflict) map[engine.Action]Choice {
	at := c.Site
	switch engine.ConflictKind(c.About) {
	case engine.ConflictUncertain:
		return map[engine.Action]Choice{
			engine.ActionRetry: {"", "Send it again", fmt.Sprintf("The agent of %s sends it once more. If it has run, it happens twice.", at)},
			engine.ActionDone:  {"", "It ran", fmt.Sprintf("The application of %s has done it: nothing is sent, and it counts as applied there.", at)},
			engine.ActionDrop:  {"", "It did not run: forget it", fmt.Sprintf("It counts as not done at %s, and is not sent there again. Other sites that know of it go on with it.", at)},
			engine.ActionAdopt: {"", "It made this one", fmt.Sprintf("The object of %s that is chosen is what the request has made: it is the resource from now on, and nothing is sent again.", at)},
		}
	case engine.ConflictRefused:
		if c.Type == string(engine.TypeDelete) {
			return map[engine.Action]Choice{
				engine.ActionRetry: {"", "Delete it", fmt.Sprintf("The agent of %s sends the deletion again, for the object that its application shows now.", at)},
				engine.ActionDone:  {"", "It is gone", fmt.Sprintf("What the application of %s shows is another object, or none: nothing is sent, and it counts as deleted there.", at)},
				engine.ActionDrop:  {"", "Keep it at " + at, fmt.Sprintf("It is not deleted at %s: the object stays there, and belongs to that site alone.", at)},
			}
		}
	case engine.ConflictExists:
		return map[engine.Action]Choice{
			engine.ActionRetry: {"", "Try to create it again", fmt.Sprintf("Use it once the object that was in the way at %s is renamed or gone: another one is made beside it.", at)},
		}
	case engine.ConflictRival:
		return map[engine.Action]Choice{
			engine.ActionRetry: {"", "Delete that object", fmt.Sprintf("The object of the later resource is deleted at %s, and the name is this one's there. What is in it is lost.", at)},
			engine.ActionDrop:  {"", "Let that object live", fmt.Sprintf("The object stays at %s as it is, and this resource has no copy there.", at)},
		}
	case engine.ConflictUnseen:
		return map[engine.Action]Choice{
			engine.ActionRetry: {"", "Delete it with all that is in it", fmt.Sprintf("The deletion runs at %s, and what nobody who asked for it had seen is lost with it.", at)},
			engine.ActionDrop:  {"", "Keep it at " + at, fmt.Sprintf("It is not deleted at %s: the object stays there with what is in it, and belongs to that site alone.", at)},
		}
	case engine.ConflictName:
		return map[engine.Action]Choice{
			engine.ActionDrop: {"", "Give up the later one", fmt.Sprintf("The resource that came later is no more at %s: the object there stays the earlier one's.", at)},
		}
	case engine.ConflictNameTaken:
		return map[engine.Action]Choice{
			engine.ActionDismiss: {"", "Let both have it", "Both keep the name, each at its site: nothing is sent anywhere, and nobody is asked again."},
		}
	case engine.ConflictOrder:
		return map[engine.Action]Choice{
			engine.ActionDismiss: {"", "Keep the later order", "All sites have the later order, and keep it. The other one stays among the values that lost, from where it can be restored."},
		}
	case engine.ConflictForked:
		return map[engine.Action]Choice{
			engine.ActionDismiss: {"", "Take note", fmt.Sprintf("Nothing is changed: what %s has written since then counts nowhere, and nobody is asked again. "+
				"Whoever has its key may write in its name: revoke it on the page of %s, and let the site in anew.", at, at)},
			engine.ActionReopen: {"", "Ask again", "That somebody has taken note of it is taken back."},
		}
	case engine.ConflictAside:
		return map[engine.Action]Choice{
			engine.ActionRetry: {"", "Go on with it", fmt.Sprintf("%s takes this resource up again where it stopped. If the defect strikes once more, it is set aside again; report it.", at)},
		}
	case engine.ConflictDenied:
		return map[engine.Action]Choice{
			engine.ActionRetry: {"", "Try now", fmt.Sprintf("It is tried by itself every few minutes. Use it once the account of the agent may do this at %s, so as not to wait.", at)},
		}
	case engine.ConflictUndeclared:
		return map[engine.Action]Choice{
			engine.ActionRetry: {"", "Try again", fmt.Sprintf("Use it once the object is back at %s, or the catalog says what is needed to make it anew.", at)},
		}
	case engine.ConflictContention:
		return map[engine.Action]Choice{
			engine.ActionDismiss: {"", "Let " + at + " differ", fmt.Sprintf("%s is repaired no more and may differ. Find out what changes it there: repairs did not last.", at)},
		}
	case engine.ConflictRejoined:
		return map[engine.Action]Choice{
			engine.ActionRetry: {"", "Do it again", fmt.Sprintf("The agent of %s does it once more. If its lost run had done it, it happens twice.", at)},
			engine.ActionDone:  {"", "It was done", fmt.Sprintf("The lost run of %s had done it: nothing is sent, and it counts as applied there.", at)},
		}
	}
	return nil
}
