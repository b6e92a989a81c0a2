package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/web/audit"
	"github.com/skerry/skerry/web/auth"
	"github.com/skerry/skerry/web/plan"
	"github.com/skerry/skerry/web/shape"
)

// ago says how long before now t was. static/app.js uses the same words.
func ago(now, t time.Time) string {
	s := now.Sub(t).Seconds()
	switch {
	case s < -1.5:
		return "in " + span(-s)
	case s < 1.5:
		return "now"
	}
	return span(s) + " ago"
}

func span(s float64) string {
	switch {
	case s < 60:
		return fmt.Sprintf("%.0f s", math.Round(s))
	case s < 3600:
		return fmt.Sprintf("%.0f min", math.Round(s/60))
	case s < 86400:
		return fmt.Sprintf("%.0f h", math.Round(s/3600))
	}
	return fmt.Sprintf("%.0f d", math.Round(s/86400))
}

// absolute is a time for people who need to know exactly.
func absolute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }

// millis writes milliseconds so that they can be compared at a glance.
func millis(ms float64) string {
	switch {
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
}

// nameOf is how people call the resource of an operation.
func nameOf(o shape.Operation) string { return cmp.Or(o.Label, shape.Short(o.Resource)) }

// methodOf is the method of an operation's request. An operation without one adds or removes sites, and is told by its type.
func methodOf(o shape.Operation) string { return cmp.Or(o.Method, o.Type) }

// pathOf is the path of an operation's request, or its resource when it sends none.
func pathOf(o shape.Operation) string {
	return cmp.Or(strings.ReplaceAll(o.Path, "{id}", o.Resource), o.Resource)
}

// shortPath is the path of an operation's request, of which a list shows the end of a long identifier.
func shortPath(o shape.Operation) string {
	path := pathOf(o)
	if o.Resource == "" {
		return path
	}
	return strings.ReplaceAll(path, o.Resource, shape.Short(o.Resource))
}

// pretty writes a JSON value over several lines.
func pretty(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// compact writes a JSON value on one line.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func resourceURL(id, service, kind string) string {
	return "/resources/" + url.PathEscape(id) + "?" + url.Values{"service": {service}, "kind": {kind}}.Encode()
}

func siteURL(name string) string { return "/sites/" + url.PathEscape(name) }

func conflictURL(id string) string { return "/conflicts/" + url.PathEscape(id) }

func operationURL(id string) string { return "/operations/" + url.PathEscape(id) }

// with returns the address of a list with some parameters set or, when empty, taken away.
func with(path string, q url.Values, pairs ...string) string {
	n := maps.Clone(q)
	if n == nil {
		n = url.Values{}
	}
	for i := 0; i < len(pairs); i += 2 {
		n.Del(pairs[i])
		if pairs[i+1] != "" {
			n.Set(pairs[i], pairs[i+1])
		}
	}
	for name, v := range n {
		if len(v) == 0 || v[0] == "" {
			delete(n, name)
		}
	}
	if len(n) == 0 {
		return path
	}
	return path + "?" + n.Encode()
}

// columns are the sites that have a column in a table: those that its rows name, when they are few enough.
func columns[R any](rows []R, sites func(R) []string) []string {
	const most = 7
	seen := map[string]bool{}
	for _, r := range rows {
		for _, s := range sites(r) {
			seen[s] = true
		}
	}
	if len(seen) > most {
		return nil
	}
	return slices.Sorted(maps.Keys(seen))
}

func siteNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func replicaState(r shape.Replica) string { return r.State }
func outcomeState(o shape.Outcome) string { return o.State }

// acceptedAs says whether a site of a plan accepts what it is to do, and with whose credentials that would run.
func acceptedAs(s plan.Step) string {
	as := "with the caller's credentials"
	if s.As == "agent" {
		as = "with the agent's account there"
	}
	if s.As == "user" {
		as = "with the rights there of whoever asks, if the site where it runs first knows who that is"
	}
	switch s.Accepts {
	case "yes":
		return "accepted there, " + as
	case "no":
		return "not accepted: " + s.Why
	}
	return "whether it is accepted is not known: " + s.Why
}

// whence tells where a call of the audit trail came from, or with whose rights the application was asked for it.
func whence(r audit.Record) string {
	if r.As == "agent" {
		return "with the agent's account"
	}
	return r.Address
}

// tone is the colour of a state; icon, in icons.templ, its sign.
func tone(state string) string {
	switch state {
	case "converged", "applied", "reachable", "same", "open", "running":
		return "good"
	case "converging", "deleting", "pending", "accepted":
		return "busy"
	case "degraded", "uncertain", "unreachable", "not-accepted", "differs", "clock-off", "expires", "paused", "held", "cloned", "removed", "failing", "decide", "refused", "denied", "drift", "aside", "forked":
		return "warn"
	case "conflict", "rejected", "exists", "name", "rival", "unseen", "name-taken", "contested", "undeclared", "contention", "rejoined", "order":
		return "bad"
	}
	return "quiet"
}

// meaning explains a state in words.
func meaning(state string) string {
	switch state {
	case "converged":
		return "all sites show the same"
	case "unknown":
		return "all sites showed the same when they answered last, and not all of them have since"
	case "converging":
		return "changes are on their way"
	case "degraded":
		return "a change was rejected or cannot be made at a site; a person has to settle it"
	case "conflict":
		return "the rules could not settle it; a person has to"
	case "deleting":
		return "an application has accepted the deletion, and the object is not known to be gone"
	case "deleted":
		return "it is gone at every site"
	case "pending":
		return "not applied there yet"
	case "applied":
		return "the site's application has it"
	case "rejected":
		return "the site's application refused it"
	case "superseded":
		return "a later operation made it void"
	case "uncertain":
		return "it is not known whether it ran"
	case "exists":
		return "a create met an object there that no replicated resource owns"
	case "name":
		return "two resources were given one name, and another one has the object"
	case "rival":
		return "the object of another resource of this name is there until a person decides about that one"
	case "not-accepted":
		return "the site's rules do not let the one that issued it do this there"
	case "name-taken":
		return "something inside a container has a name that another part has given as well, and earlier"
	case "refused":
		return "the application there refused what another site's took"
	case "contested":
		return "twice, the request did not fit what is there"
	case "undeclared":
		return "the object is gone, and the catalog does not say how to make it anew"
	case "unseen":
		return "its deletion would take along what its deleter had not seen"
	case "denied":
		return "the application does not let the agent do it, and it is tried again slowly"
	case "drift":
		return "the application shows something else, and no operation did that"
	case "contention":
		return "it was repaired a few times, and that did not last"
	case "rejoined":
		return "the site's disk was set back, and what its lost run had done is not known"
	case "aside":
		return "a defect of the agent struck it, and it is set aside"
	case "order":
		return "two orders of a list were wanted that cannot both be: all sites have the later one"
	case "forked":
		return "the site has signed two different changes under one number: what it has written there from then on counts nowhere"
	case "decide":
		return "something waits for a person there"
	case "failing":
		return "a service of its application does not answer as it should, or does not let the agent in"
	case "held":
		return "one of many deletions from while the site was away: it waits to be confirmed"
	case "paused":
		return "somebody told the site to leave its replica as it is, until it is resumed"
	}
	return ""
}

// stateOfEvent is the state that an event's type tells of, for its sign.
func stateOfEvent(typ string) string {
	about, what, _ := strings.Cut(typ, ".")
	switch {
	case typ == "site.up", typ == "site.known":
		return "reachable"
	case typ == "site.down":
		return "unreachable"
	case about == "conflict":
		return "conflict"
	}
	return what
}

// detail is one of the things that an event tells.
type detail struct{ Name, Value string }

// dataOf is what an event tells beside what the view shows already, by name.
func dataOf(e shape.Event) []detail {
	var data map[string]any
	if json.Unmarshal(e.Data, &data) != nil {
		return []detail{{"data", clip(string(e.Data), 300)}}
	}
	var out []detail
	for _, name := range slices.Sorted(maps.Keys(data)) {
		text, ok := data[name].(string)
		if !ok {
			text = compact(data[name])
		}
		if text == "" || text == e.Subject || name == "state" && text == stateOfEvent(e.Type) {
			continue
		}
		out = append(out, detail{name, clip(shape.Short(text), 200)})
	}
	return out
}

// brief is the version without what only a machine needs: of a build between two versions, its commit.
func brief(version string) string {
	version, dirty, _ := strings.Cut(version, "+")
	if parts := strings.Split(version, "-"); len(parts) >= 3 && len(parts[len(parts)-1]) == 12 {
		version = parts[len(parts)-1][:8]
	}
	if dirty != "" {
		version += "+" + dirty
	}
	return version
}

// caret divides the picture of an error into the drawing, which must not be wrapped, and the words beside its carets,
// which a narrow view has to wrap.
func caret(detail string) (picture, words string) {
	lines := strings.Split(detail, "\n")
	for i, line := range lines {
		mark := strings.TrimLeft(line, " ")
		if !strings.HasPrefix(mark, "^") {
			continue
		}
		words := strings.TrimLeft(mark, "^")
		lines[i] = strings.TrimSuffix(line, words)
		rest := append([]string{strings.TrimSpace(words)}, lines[i+1:]...)
		return strings.Join(lines[:i+1], "\n"), strings.Join(rest, "\n")
	}
	return "", detail
}

// clip cuts a long text at a character.
func clip(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}

func urlEscape(s string) string { return url.PathEscape(s) }

func differencesURL(r shape.Resource) string {
	return "/resources/" + url.PathEscape(r.ID) + "/differences?" + url.Values{"service": {r.Service}, "kind": {r.Kind}}.Encode()
}

// exampleOf and scopeOf teach with what this mesh has.
func exampleOf(m listModel) string {
	if len(m.Services) == 0 {
		return "/"
	}
	return "/" + m.Services[0]
}

// scopeOf is an example of a scope with an operator between two sites.
func scopeOf(m listModel, operator string) string {
	s := "*"
	if len(m.Sites) > 1 {
		s = m.Sites[0] + operator + m.Sites[1]
	}
	if len(m.Services) > 0 {
		s = m.Services[0] + ": " + s
	}
	return s
}

// whoOf names who made the call of a record.
func whoOf(r audit.Record) string {
	switch r.By {
	case "":
		return "log in as " + clip(r.Account, 64)
	case audit.ByMember:
		return strings.TrimSpace("the mesh " + r.Account)
	}
	return auth.Principal{Account: r.Account, By: r.By, Token: r.Token}.String()
}

// wordOfStatus tells an answer's status in a word.
func wordOfStatus(status int) string {
	switch {
	case status == 0:
		return "begun"
	case status < 400:
		return "done"
	case status < 500:
		return "refused"
	}
	return "failed"
}

// stateOfStatus is the sign of an answer's status.
func stateOfStatus(status int) string {
	switch {
	case status == 0:
		return "pending"
	case status < 400:
		return "applied"
	case status < 500:
		return "rejected"
	}
	return "uncertain"
}

// inBytes writes a number of bytes for people.
func inBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB"}
	f, i := float64(n), 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
