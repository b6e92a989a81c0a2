package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// The measures of pictures of time. Each has columns of which one shows several minutes or hours.
const (
	pictureWidth   = 720
	pictureHeight  = 110
	pictureColumns = 240
	columnWidth    = pictureWidth / pictureColumns
)

// picturedStates are the states in the order in which they lie on each other, the worst on top.
var picturedStates = []string{"converged", "unknown", "converging", "deleting", "degraded", "conflict"}

// column is what one column of the pictures shows: of what was looked at the worst, of what was counted the sum.
type column struct {
	Begin, End time.Time
	Resources  map[string]int
	Backlog    map[string]int
	Operations int
	P50, P99   int64 // milliseconds; zero: none
}

// past is what the pictures of a span of time are made of.
type past struct {
	api.History
	Columns []column
}

func pastOf(h api.History) past {
	p := past{History: h, Columns: make([]column, pictureColumns)}
	wide := h.End.Sub(h.Begin) / pictureColumns
	for i := range p.Columns {
		p.Columns[i].Begin, p.Columns[i].End = h.Begin.Add(time.Duration(i)*wide), h.Begin.Add(time.Duration(i+1)*wide)
		p.Columns[i].Backlog = map[string]int{}
	}
	for _, c := range h.Items {
		i := int(c.Begin.Sub(h.Begin) / wide)
		if i < 0 || i >= pictureColumns {
			continue
		}
		col := &p.Columns[i]
		if c.Resources != nil && (col.Resources == nil || unsettled(c.Resources) >= unsettled(col.Resources)) {
			col.Resources = c.Resources
		}
		for site, n := range c.Backlog {
			col.Backlog[site] = max(col.Backlog[site], n)
		}
		col.Operations += c.Operations
		if c.P50 != nil {
			col.P50, col.P99 = max(col.P50, *c.P50), max(col.P99, *c.P99)
		}
	}
	return p
}

func unsettled(resources map[string]int) (n int) {
	for state, k := range resources {
		if state != "converged" {
			n += k
		}
	}
	return n
}

// x is where a time is.
func (p past) x(t time.Time) float64 {
	share := float64(t.Sub(p.Begin)) / float64(p.End.Sub(p.Begin))
	return math.Round(min(max(share, 0), 1)*pictureWidth*10) / 10
}

// mark is a time on the axis.
type timeMark struct {
	X    float64
	Text string
}

// Marks are those of the axis: whole hours or days.
func (p past) Marks() (marks []timeMark) {
	step, layout := 4*time.Hour, "15:04"
	if p.Span == "month" {
		step, layout = 5*24*time.Hour, "2 Jan"
	}
	for t := p.Begin.Add(step / 4).Truncate(step).Add(step); t.Before(p.End.Add(-step / 3)); t = t.Add(step) {
		marks = append(marks, timeMark{p.x(t), t.UTC().Format(layout)})
	}
	return marks
}

// band is a cut, as the pictures show it.
type band struct {
	X, W      float64
	URL, Text string
}

// Bands are the cuts.
func (p past) Bands() (bands []band) {
	for _, c := range p.Cuts {
		end := p.End
		if c.Ended != nil {
			end = *c.Ended
		}
		x := p.x(c.Began)
		bands = append(bands, band{x, max(p.x(end)-x, 2), cutURL(c.ID), "cut: " + shape.List(c.AwayNames()) + " " + lasting(c, p.End)})
	}
	return bands
}

// area is one state or series of a picture: a path of steps.
type area struct{ Name, Path, Title string }

// steps draws columns of a height above a base; neighbours that are the same are one.
func (p past) steps(at func(c column) (low, high float64)) string {
	var b strings.Builder
	for i := 0; i < len(p.Columns); {
		low, high := at(p.Columns[i])
		n := i + 1
		for ; n < len(p.Columns); n++ {
			if l, h := at(p.Columns[n]); l != low || h != high {
				break
			}
		}
		if high > low {
			fmt.Fprintf(&b, "M%d %.1fH%dV%.1fH%dZ", i*columnWidth, pictureHeight-low, n*columnWidth, pictureHeight-high, i*columnWidth)
		}
		i = n
	}
	return b.String()
}

// MostResources is how many there were at most.
func (p past) MostResources() (most int) {
	for _, c := range p.Columns {
		sum := 0
		for _, s := range picturedStates {
			sum += c.Resources[s]
		}
		most = max(most, sum)
	}
	return most
}

// States draws the resources by state. What is not converged is seen however little it is.
func (p past) States() (areas []area) {
	most := float64(max(p.MostResources(), 1))
	const least = 4.0
	heights := func(c column) map[string]float64 {
		h := map[string]float64{}
		rest := 0.0
		for _, s := range picturedStates[1:] {
			if c.Resources[s] > 0 {
				h[s] = max(float64(c.Resources[s])/most*(pictureHeight-10), least)
				rest += h[s]
			}
		}
		if n := c.Resources["converged"]; n > 0 {
			h["converged"] = max(min(float64(n)/most*(pictureHeight-10), pictureHeight-rest), 1)
		}
		return h
	}
	for i, s := range picturedStates {
		path := p.steps(func(c column) (low, high float64) {
			h := heights(c)
			for _, below := range picturedStates[:i] {
				low += h[below]
			}
			return low, low + h[s]
		})
		if path != "" {
			areas = append(areas, area{s, path, fmt.Sprintf("resources that were %s; click for those that are now", s)})
		}
	}
	return areas
}

// bar is one column that can be followed to what it counts.
type bar struct {
	X, Y, H    float64
	URL, Title string
}

// MostOperations is how many a column has at most.
func (p past) MostOperations() (most int) {
	for _, c := range p.Columns {
		most = max(most, c.Operations)
	}
	return most
}

// perMinute tells a number of a column as so many a minute.
func (p past) perMinute(n int) string {
	v := float64(n) / p.Columns[0].End.Sub(p.Columns[0].Begin).Minutes()
	if v > 0 && v < 10 {
		return fmt.Sprintf("%.1f a minute", v)
	}
	return fmt.Sprintf("%.0f a minute", v)
}

// Bars draws the operations; each column leads to them.
func (p past) Bars() (bars []bar) {
	most := p.MostOperations()
	for i, c := range p.Columns {
		if c.Operations == 0 {
			continue
		}
		h := math.Round(max(float64(c.Operations)/float64(most)*(pictureHeight-10), 2)*10) / 10
		from, to := c.Begin.UTC().Format(time.RFC3339), c.End.UTC().Format(time.RFC3339)
		bars = append(bars, bar{float64(i * columnWidth), pictureHeight - h, h, with("/operations", nil, "from", from, "before", to),
			fmt.Sprintf("%d operations from %s on, %s", c.Operations, c.Begin.UTC().Format("2 Jan 15:04"), p.perMinute(c.Operations))})
	}
	return bars
}

// Slowest is the longest of the times in which nearly all operations got everywhere, in milliseconds.
func (p past) Slowest() (most int64) {
	for _, c := range p.Columns {
		most = max(most, c.P99)
	}
	return most
}

// Times draws how long operations took until every site had them. Each ten times longer is as far up.
func (p past) Times() (areas []area) {
	scale := (pictureHeight - 10) / math.Log10(float64(max(p.Slowest(), 10)))
	for _, series := range []struct {
		name, title string
		of          func(c column) int64
	}{
		{"p99", "99 of 100 operations were applied everywhere within this", func(c column) int64 { return c.P99 }},
		{"p50", "every other operation was applied everywhere within this", func(c column) int64 { return c.P50 }},
	} {
		path := p.steps(func(c column) (float64, float64) {
			if series.of(c) == 0 {
				return 0, 0
			}
			return 0, max(math.Log10(float64(series.of(c)))*scale, 2)
		})
		if path != "" {
			areas = append(areas, area{series.name, path, series.title})
		}
	}
	return areas
}

// backlogRow is what one site had left to apply.
type backlogRow struct {
	Site, Path string
	Most       int
}

// backlogRows is how many sites are shown: those that had most.
const backlogRows = 12

// Backlogs draws what each site had left to apply, that with most first; those that had nothing are left out.
func (p past) Backlogs() (rows []backlogRow) {
	most := map[string]int{}
	for _, c := range p.Columns {
		for site, n := range c.Backlog {
			most[site] = max(most[site], n)
		}
	}
	for _, site := range slices.Sorted(maps.Keys(most)) {
		rows = append(rows, backlogRow{site, p.sparkline(site, most[site]), most[site]})
	}
	slices.SortStableFunc(rows, func(a, b backlogRow) int { return cmp.Compare(b.Most, a.Most) })
	return rows[:min(len(rows), backlogRows)]
}

// sparkline draws the backlog of a site as high as the picture is.
func (p past) sparkline(site string, most int) string {
	return p.steps(func(c column) (float64, float64) {
		if c.Backlog[site] == 0 {
			return 0, 0
		}
		return 0, max(float64(c.Backlog[site])/float64(most)*pictureHeight, pictureHeight/8)
	})
}

func cutURL(id string) string { return "/cuts/" + id }

// lasting says how long a cut lasted, or lasts.
func lasting(c shape.Cut, now time.Time) string {
	if c.Ended == nil {
		return "for " + span(now.Sub(c.Began).Seconds()) + " by now"
	}
	return "for " + span(c.Ended.Sub(c.Began).Seconds())
}
