package script

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	net "github.com/skerry/skerry/testnet/world"
)

// trace collects what happens, in words of the script: operations are numbers, resources have the names that the script
// gave them, sites theirs.
type trace struct {
	lines []string
	ops   map[string]string // by identifier
	names map[string]string // of resources and sites, by identifier
	rules map[string]string // by digest
	as    string            // the name of the next resource that is made, empty without one
}

func newTrace() *trace {
	return &trace{ops: map[string]string{}, names: map[string]string{}, rules: map[string]string{}}
}

// add adds a line about a site.
func (t *trace) add(who, text string) {
	t.lines = append(t.lines, fmt.Sprintf("%-7s %s", who, strings.TrimSpace(text)))
}

// take returns the lines since the last call. The words are found only then: a request may name what it has made.
func (t *trace) take() []string {
	var lines []string
	for _, line := range t.lines {
		lines = append(lines, t.words(line))
	}
	t.lines = nil
	return lines
}

var made = regexp.MustCompile(`12D3Koo[0-9A-Za-z]+|[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|\b[0-9a-f]{16}\b`)

// dots are what makes a large body large.
var dots = regexp.MustCompile(`\.{64,}`)

// words puts the script's words in place of identifiers.
func (t *trace) words(text string) string {
	return made.ReplaceAllStringFunc(dots.ReplaceAllString(text, "…"), func(id string) string {
		if name, ok := t.names[id]; ok {
			return name
		}
		switch len(id) {
		case 64: // a document's
			return id[:8]
		case 16: // a digest of rules
			t.rules[id] = cmp.Or(t.rules[id], fmt.Sprintf("rules-%d", len(t.rules)+1))
			return t.rules[id]
		}
		if t.ops[id] == "" {
			t.ops[id] = fmt.Sprintf("#%d", len(t.ops)+1)
		}
		return t.ops[id]
	})
}

// operation returns the identifier of a number.
func (t *trace) operation(number string) (string, bool) {
	for id, n := range t.ops {
		if n == number {
			return id, true
		}
	}
	return "", false
}

// handler puts warnings of a site's agent into the trace.
type handler struct {
	trace *trace
	site  *net.Site
}

func (h handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (h handler) WithAttrs([]slog.Attr) slog.Handler           { return h }
func (h handler) WithGroup(string) slog.Handler                { return h }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	if h.site.Proc == nil {
		return nil
	}
	text := strings.ToLower(r.Level.String()) + ": " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		if s := a.Value.String(); s != "" && a.Key != "run" {
			text += fmt.Sprintf(" %s=%s", a.Key, s)
		}
		return true
	})
	h.trace.add(string(h.site.Name), text)
	return nil
}
