package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/skerry/skerry/web/api"
)

// dayWidth and dayHeight are the drawing of a site's day: a column for each quarter of an hour.
const (
	dayWidth  = 96
	dayHeight = 16
)

// dayOf is the last day of one site: what it had left to do, as it told, and when it was out of reach from here.
type dayOf struct {
	Path  string    // of what was left to do; empty: nothing ever was
	Most  int       // of it, at once
	Bands []stretch // when it was out of reach
	Since time.Time
}

// stretch is a part of the day, in the drawing's units.
type stretch struct{ X, Width float64 }

// dayAt draws the day of a site.
func dayAt(h api.History, site string) dayOf {
	d := dayOf{Since: h.Begin}
	at := func(t time.Time) float64 {
		return min(max(t.Sub(h.Begin).Seconds()/h.End.Sub(h.Begin).Seconds(), 0), 1) * dayWidth
	}
	var left [dayWidth]int
	for _, i := range h.Items {
		column := min(int(at(i.Begin)), dayWidth-1)
		left[column] = max(left[column], i.Backlog[site])
		d.Most = max(d.Most, i.Backlog[site])
	}
	if d.Most > 0 {
		var b strings.Builder
		fmt.Fprintf(&b, "M0 %d", dayHeight)
		for i, n := range left {
			y := dayHeight - float64(n)/float64(d.Most)*(dayHeight-2)
			fmt.Fprintf(&b, "L%d %.1fL%d %.1f", i, y, i+1, y)
		}
		fmt.Fprintf(&b, "L%d %dZ", dayWidth, dayHeight)
		d.Path = b.String()
	}
	for _, c := range h.Cuts {
		for _, away := range c.Away {
			if away.Site != site {
				continue
			}
			from, to := at(away.From), float64(dayWidth)
			if away.Back != nil {
				to = at(*away.Back)
			}
			if to > 0 {
				d.Bands = append(d.Bands, stretch{from, max(to-from, 0.7)}) // so that a short one is seen
			}
		}
	}
	return d
}

// Words say what is drawn.
func (d dayOf) Words() string {
	says := "nothing was left to do when it told"
	if d.Most > 0 {
		says = fmt.Sprintf("up to %d operations left to do", d.Most)
	}
	switch n := len(d.Bands); {
	case n == 1:
		says += ", out of reach once"
	case n > 1:
		says += fmt.Sprintf(", out of reach %d times", n)
	}
	return "The last day: " + says
}
