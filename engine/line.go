package engine

import "strings"

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
