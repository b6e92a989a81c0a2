package script

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// habits are what an application does as real ones do, beyond what every one does. The zero value has none.
type habits struct {
	// answers are the requests that it answers with a status, and does not do: "METHOD PATH", the beginning of a path. "changes" stands for all methods but GET.
	answers map[string]int
	// strict: it refuses (422) what refers to an object that it does not have. Guards: it does not delete (409) a container with something
	// inside. Fixed are fields that a PUT may not have, most the largest values of others.
	strict, guards bool
	fixed          []string
	most           map[string]float64
	// slow is how long after its creation an object is shown, late how long no other request finds it either; made is when each was made.
	slow, late time.Duration
	made       map[string]time.Time
	// hidden: it shows 404 for everything, as a stand-by or a router does.
	hidden bool
	// lingers is how long an object is shown that it has accepted to delete (202), keeps says that it never does delete; going is what is to go, and when.
	lingers time.Duration
	keeps   bool
	going   map[string]time.Time
	// closed is a container that it is deleting: nothing is made below that path (403).
	closed string
	// lost: it answers 404 to whatever it is asked, as a router does that has lost its way.
	lost bool
	// accepts: it answers creates with 202 and the identifier alone.
	accepts bool
}

// habit gives an application a habit.
func (a *application) habit(text string) error {
	h, words := &a.habits, strings.Fields(text)
	number := func(i int) float64 {
		n, _ := strconv.ParseFloat(words[i], 64)
		return n
	}
	var err error
	switch {
	case text == "none":
		*h = habits{made: h.made, going: h.going}
	case text == "strict":
		h.strict = true
	case text == "guards":
		h.guards = true
	case text == "lost":
		h.lost = true
	case text == "accepts":
		h.accepts = true
	case text == "keeps":
		h.keeps = true
	case len(words) == 2 && words[0] == "lingers":
		h.lingers, err = time.ParseDuration(words[1])
	case text == "hides everything":
		h.hidden = true
	case len(words) == 2 && words[0] == "closes":
		h.closed = words[1] + "/"
	case len(words) == 2 && words[0] == "fixes":
		h.fixed = append(h.fixed, words[1])
	case len(words) == 2 && words[0] == "slow":
		h.slow, err = time.ParseDuration(words[1])
	case len(words) == 2 && words[0] == "late":
		h.late, err = time.ParseDuration(words[1])
	case len(words) == 3 && words[0] == "most":
		if h.most == nil {
			h.most = map[string]float64{}
		}
		h.most[words[1]] = number(2)
	case len(words) == 4 && words[0] == "answers":
		if h.answers == nil {
			h.answers = map[string]int{}
		}
		h.answers[words[1]+" "+words[2]] = int(number(3))
	default:
		return fmt.Errorf("there is no habit %q", text)
	}
	return err
}

// habitual answers a request as a habit has it; 0: none does.
func (a *application) habitual(c engine.Call, path string) int {
	h := &a.habits
	a.went()
	if h.lost {
		return http.StatusNotFound
	}
	for asked, status := range h.answers {
		method, prefix, _ := strings.Cut(asked, " ")
		if (c.Method == method || method == "changes" && c.Method != http.MethodGet) && strings.HasPrefix(path, prefix) {
			return status
		}
	}
	var body map[string]any
	_ = json.Unmarshal(c.Body, &body) // opaque bytes have no fields
	_, made := a.objects[string(c.Local)]
	switch {
	case h.closed != "" && c.Method != http.MethodGet && strings.HasPrefix(path, h.closed):
		return http.StatusForbidden
	case h.hidden && c.Method == http.MethodGet:
		return http.StatusNotFound
	case c.Path != c.Kind.Collection && made && c.Method != http.MethodPut && a.now().Before(h.made[string(c.Local)].Add(h.late)):
		return http.StatusNotFound
	case c.Method == http.MethodGet && made && c.Path == c.Kind.Item && a.now().Before(h.made[string(c.Local)].Add(h.slow)):
		return http.StatusNotFound
	case c.Method == http.MethodDelete && made && (h.keeps || h.lingers > 0):
		if h.lingers > 0 {
			h.going[string(c.Local)] = a.now().Add(h.lingers)
		}
		return http.StatusAccepted
	case c.Method == http.MethodPut && slices.ContainsFunc(h.fixed, func(f string) bool { return body[f] != nil && made }):
		return http.StatusUnprocessableEntity
	case h.guards && c.Method == http.MethodDelete && len(a.inside(string(c.Local))) > 0:
		return http.StatusConflict
	case h.strict && c.Method != http.MethodDelete && a.lacks(c):
		return http.StatusUnprocessableEntity
	}
	for field, most := range h.most {
		if n, is := body[field].(float64); is && n > most {
			return http.StatusUnprocessableEntity
		}
	}
	return 0
}

// went removes what was deleted and whose time has come.
func (a *application) went() {
	for id, at := range a.habits.going {
		if !a.now().Before(at) {
			delete(a.habits.going, id)
			a.remove(id)
		}
	}
}

// lacks reports whether a body refers to something that is not there.
func (a *application) lacks(c engine.Call) bool {
	return slices.ContainsFunc(tree.RelationsOf(c.Kind, "", c.Body), func(to engine.Relation) bool { return a.objects[string(to.Target.ID)] == nil })
}

// inside lists what lies in a container.
func (a *application) inside(container string) (list []string) {
	for id := range a.objects {
		if strings.HasPrefix(id, container+"/") {
			list = append(list, id)
		}
	}
	return list
}
