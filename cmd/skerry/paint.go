package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// painted is an output whose reader sees colours.
type painted struct{ io.Writer }

// Select Graphic Rendition (ECMA-48) of what is well, under way, to be looked at, and wrong.
const (
	well  = "\x1b[32m"
	busy  = "\x1b[36m"
	look  = "\x1b[33m"
	wrong = "\x1b[31m"
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

var tones = map[string]string{
	"converged": well, "applied": well, "reachable": well, "running": well, "open": well,
	"converging": busy, "pending": busy, "deleting": busy,
	"unknown": look, "unreachable": look, "uncertain": look, "held": look, "paused": look, "degraded": look, "decide": look, "superseded": faint,
	"conflict": wrong, "rejected": wrong, "failing": wrong, "cloned": wrong, "revoked": wrong, "forked": wrong,
}

// worse are the colours, what is worst last.
var worse = []string{faint, well, busy, look, wrong}

// paint gives a text the colour of the state that it says, where the output has colours. Text is what is shown, padded or not.
func paint(w io.Writer, column, text string) string {
	if _, colours := w.(painted); !colours {
		return text
	}
	tone := ""
	switch words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }); {
	case len(words) == 0 || words[0] == "-" || words[0] == "0":
	case column == "STATE" || column == "WORRY" || column == "state":
		for _, word := range words { // "reachable, images failing": the worst says it
			if t := tones[word]; t != "" && slices.Index(worse, t) > slices.Index(worse, tone) {
				tone = t
			}
		}
	case column == "DECISIONS":
		tone = look
	case column == "FAILING":
		tone = wrong
	}
	if tone == "" {
		return text
	}
	return tone + text + plain
}

// screenOf returns w, with colours where it is a terminal that has some and its reader does not want none, and whether it is a terminal
// on which a text can be put in the place of another.
func screenOf(w io.Writer, getenv func(string) string) (out io.Writer, terminal bool) {
	f, ok := w.(*os.File)
	terminal = ok && term.IsTerminal(int(f.Fd())) && getenv("TERM") != "dumb" && getenv("TERM") != ""
	if terminal && getenv("NO_COLOR") == "" {
		return painted{w}, true
	}
	return w, terminal
}
