package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// Line names the changes that one run of a site writes in a document: the site's identifier, a slash, and the name of the run. No run goes
// on with the line of another one, since it cannot know whether the disk was set back between the two: so no honest site ever gives a number
// twice.
type Line string

// LineOf is the line of a run of a site. Names of later runs come later in the order of text.
func LineOf(s SiteID, run string) Line { return Line(string(s) + "/" + run) }

// Site is the site whose line it is.
func (l Line) Site() SiteID {
	site, _, _ := strings.Cut(string(l), "/")
	return SiteID(site)
}

// Run is the name of the run that writes it.
func (l Line) Run() string {
	_, run, _ := strings.Cut(string(l), "/")
	return run
}

// RunOf is the name of a run that began at a time, in Unix milliseconds; drawn tells it apart from others of that time.
func RunOf(begun int64, drawn string) string { return fmt.Sprintf("%012x-%s", begun, drawn) }

// Begun is when a run began by its name, in Unix milliseconds; 0 where the name does not tell.
func Begun(run string) int64 {
	begun, _, _ := strings.Cut(run, "-")
	ms, err := strconv.ParseInt(begun, 16, 63)
	if err != nil {
		return 0
	}
	return ms
}

// MaxRun is the most bytes that the name of a run may have.
const MaxRun = 32

// Valid reports whether l can be the name of a line, as far as its length and its letters tell.
func (l Line) Valid() bool {
	site, run, found := strings.Cut(string(l), "/")
	return site != "" && len(site) <= MaxSiteID && found == (run != "") && len(run) <= MaxRun && plain(site) && plain(run)
}

// plain reports whether a text has letters, digits and hyphens only.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// Given is how far a run has come with its line in each document, as others may know: the last change that was durable. Where it has a change
// that is about to be signed, or a later one, what is here lacks something that this run has told, whatever has become of that, and nothing may be
// signed. Otherwise a number could be given twice only if a change went from the disk and its line went on. That does not happen: changes go with an
// epoch that is over, and a replica goes from epoch to epoch and never back; with a fork of the line, or as a resource joins anew, and another
// line is begun then. The store refuses another change under a number that it has.
type Given map[uint64]given

// given is a place in a line: 16 bytes a document, since a run may write in many.
type given struct{ epoch, number uint32 }

func (Given) key(c *Change) uint64 {
	return FingerprintOf("given", []byte(c.Document), []byte(c.Line))[0]
}

// Has reports whether the number of a change was given, or a later one.
func (g Given) Has(c *Change) bool {
	last, is := g[g.key(c)]
	return is && (uint64(last.epoch) > c.Epoch || uint64(last.epoch) == c.Epoch && uint64(last.number) >= c.Number)
}

// Keep takes note of a change that is durable.
func (g Given) Keep(c *Change) { g[g.key(c)] = given{uint32(c.Epoch), uint32(c.Number)} }
