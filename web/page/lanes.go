package page

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// The geometry of the drawing of an operation's way, in its own units.
const (
	laneHeight = 34
	laneTop    = 26
	laneLeft   = 110
	laneRight  = 690
	laneWidth  = 860
)

// lane is one site's line in the drawing of an operation's way.
type lane struct {
	Site   string
	Origin bool
	shape.Outcome
	Y, End  int
	Took    string // from issue to outcome
	Settled bool   // something has happened there
	Marks   []int  // where attempts that did not do it stand
	First   int    // the number of the first of Tries
	NextTry *time.Time
	// Ask says that only that site knows its attempts, Wrong why it has not told them.
	Ask   bool
	Wrong string
}

// percent is how much of the body is there.
func (l lane) percent(size int64) int64 {
	if size == 0 {
		return 0
	}
	return 100 * l.Fetched / size
}

// tick is a labelled place on the time axis.
type tick struct {
	X     int
	Label string
}

// way is the drawing of an operation's way through the sites: one lane each, from when it was issued to when the site
// told its outcome.
type way struct {
	Lanes  []lane
	Ticks  []tick
	Height int
	Open   bool // a site has not come to an end with it: the axis reaches to now
}

func wayOf(d api.OperationDetail, self string, asked askedLane, now time.Time) way {
	var w way
	o := d.Operation
	longest := time.Millisecond
	for name, at := range o.Sites {
		left := slices.Contains([]string{"pending", "held", "paused"}, at.State) // then it tells when it was tried last
		l := lane{Site: name, Origin: name == o.Origin, Outcome: at, Settled: !at.At.IsZero() && !left}
		if took := at.At.Sub(o.IssuedAt); l.Settled {
			longest = max(longest, took)
			l.Took = millis(max(0, float64(took.Microseconds())/1000))
		}
		l.First = l.Attempts - len(l.Tries) + 1
		switch {
		case name == self:
			l.NextTry = d.NextTry
		case name == asked.Site:
			l.NextTry, l.Wrong = asked.NextTry, asked.Wrong
		default:
			l.Ask = at.State != "applied" && at.State != "superseded"
		}
		w.Open = w.Open || left
		w.Lanes = append(w.Lanes, l)
	}
	even := true
	if w.Open { // what is still open reaches to now, past what has happened, which stays apart where that is long ago
		even = now.Sub(o.IssuedAt) <= longest*4
		longest = max(longest*5/4, now.Sub(o.IssuedAt))
	}
	part, at := axis(longest, even)
	slices.SortFunc(w.Lanes, func(x, y lane) int {
		if x.Origin != y.Origin {
			if x.Origin {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.Site, y.Site)
	})
	for i := range w.Lanes {
		l := &w.Lanes[i]
		l.Y, l.End = laneTop+laneHeight/2+i*laneHeight, laneRight
		place := func(at time.Time) int {
			return laneLeft + int(min(1, max(0, part(at.Sub(o.IssuedAt))))*(laneRight-laneLeft))
		}
		if l.Settled {
			l.End = place(l.At)
		}
		for _, t := range l.Tries {
			if x := place(t.At); t.Error != "" && x < l.End {
				l.Marks = append(l.Marks, x)
			}
		}
	}
	w.Height = laneTop + len(w.Lanes)*laneHeight + 6
	for i := range 5 {
		label := "0"
		if i > 0 {
			label = "+" + millis(float64(at(float64(i)/4).Microseconds())/1000)
		}
		w.Ticks = append(w.Ticks, tick{laneLeft + (laneRight-laneLeft)*i/4, label})
	}
	return w
}

// axis is where on an axis of this length something stands that happened so long after its beginning, from 0 to 1, and what stands where. One that
// is not even shows each further tenfold of a millisecond as long as the one before.
func axis(longest time.Duration, even bool) (part func(time.Duration) float64, at func(float64) time.Duration) {
	if even {
		return func(d time.Duration) float64 { return float64(d) / float64(longest) },
			func(x float64) time.Duration { return time.Duration(float64(longest) * x) }
	}
	whole := math.Log1p(float64(longest) / float64(time.Millisecond))
	return func(d time.Duration) float64 { return math.Log1p(max(0, float64(d))/float64(time.Millisecond)) / whole },
		func(x float64) time.Duration { return time.Duration(math.Expm1(whole*x) * float64(time.Millisecond)) }
}

// troubles says whose turn it is when an operation has not gone through.
type troubles struct {
	Here      bool     // it waits for a decision at this site
	Settled   bool     // it went wrong at this site, and nothing can be decided about that any more
	Elsewhere []string // the sites where it waits for a decision
	Kept      bool     // this site keeps it for others that cannot be reached
	Refused   []string // the sites whose application refused it, and which have gone on
}

// verbs are what the decisions about an operation are called.
var verbs = map[engine.Action]string{
	engine.ActionRetry: "Send it again", engine.ActionDone: "It ran", engine.ActionDrop: "Leave it out here",
}

// trouble reads it from an operation's outcomes. What may have happened waits for a person; so does a create that was
// refused, because later operations need what it makes. A decision is taken at the site that it is about.
func trouble(o shape.Operation, self string, decidable bool) troubles {
	_, concerned := o.Sites[self]
	t := troubles{Kept: o.State == "pending" && o.Origin == self && !concerned}
	for _, site := range slices.Sorted(maps.Keys(o.Sites)) {
		switch state := o.Sites[site].State; {
		case state == "rejected" && o.Type != "create":
			t.Refused = append(t.Refused, site)
		case state == "pending" && site == self:
			t.Here = decidable
		case state != "rejected" && state != "uncertain":
		case site == self:
			t.Here, t.Settled = decidable, !decidable
		default:
			t.Elsewhere = append(t.Elsewhere, site)
		}
	}
	return t
}

// troubleBeside is what there is to say beside decisions about the operation, each of which has a page that says what follows from it.
func troubleBeside(decisions []shape.Conflict, o shape.Operation, self string, decidable bool) troubles {
	t := trouble(o, self, decidable)
	about := func(site string) bool {
		return slices.ContainsFunc(decisions, func(c shape.Conflict) bool { return c.Site == site })
	}
	t.Elsewhere = slices.DeleteFunc(t.Elsewhere, about)
	if t.Here && about(self) {
		t.Here = false
	}
	return t
}

// segment is a part of the bar of states.
type segment struct {
	State string
	N     int
	X, W  float64 // of 100
}

// segments divides a bar by count. What there is gets at least a visible sliver.
func segments(n map[string]int, states ...string) []segment {
	total := 0
	for _, s := range states {
		total += n[s]
	}
	var out []segment
	x := 0.0
	for _, s := range states {
		if n[s] == 0 {
			continue
		}
		w := max(1, 100*float64(n[s])/float64(total))
		out = append(out, segment{s, n[s], x, w})
		x += w
	}
	for i := range out { // slivers may have made it too long
		out[i].X, out[i].W = out[i].X*100/x, out[i].W*100/x
	}
	return out
}
