package page

import (
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/doctor"
	"github.com/skerry/skerry/web/shape"
)

// widestWays is how many sites the table of all pairs has at most.
const widestWays = 20

// waysModel is how each two sites meet.
type waysModel struct {
	api.Ways
	Of string // the site that it is about; empty: all
	// Names are the sites of the table of all pairs, none where it would be too wide; Between tells of two of them.
	Names   []string
	Between map[[2]string]*doctor.Pair
}

// silent says which sites have not told what they have tried, in one sentence where the reason is the same but for their names.
func (m *waysModel) silent() (all []string) {
	of, reasons := map[string][]api.Asked{}, []string{}
	for _, a := range m.Asked {
		if a.Error == "" {
			continue
		}
		why := strings.ReplaceAll(a.Error, a.Site, "each")
		if of[why] == nil {
			reasons = append(reasons, why)
		}
		of[why] = append(of[why], a)
	}
	for _, why := range reasons {
		if one := of[why][0]; len(of[why]) == 1 {
			all = append(all, one.Site+" has not told what it has tried: "+one.Error)
			continue
		}
		var names []string
		for _, a := range of[why] {
			names = append(names, a.Site)
		}
		all = append(all, shape.List(names)+" have not told what they have tried: "+why)
	}
	return all
}

// ways asks all sites. It is not asked for anew with each event: that would be a burden.
func (p *Page) ways(c echo.Context) error {
	site := c.QueryParam("site")
	v, err := p.api.Ways(c.Request().Context(), site)
	if err != nil {
		return p.Fail(c, err)
	}
	m := waysModel{Ways: v, Of: site, Between: map[[2]string]*doctor.Pair{}}
	for i := range v.Items {
		pair := &v.Items[i]
		for _, n := range []string{pair.A, pair.B} {
			if !slices.Contains(m.Names, n) {
				m.Names = append(m.Names, n)
			}
		}
		m.Between[[2]string{pair.A, pair.B}], m.Between[[2]string{pair.B, pair.A}] = pair, pair
	}
	slices.Sort(m.Names)
	if site != "" || len(m.Names) > widestWays {
		m.Names = nil
	}
	twin := "/api/v1/ways"
	if site != "" {
		twin += "?site=" + url.QueryEscape(site)
	}
	f := p.frame(c, "How the sites meet", "sites", twin)
	f.Reload = ""
	return render(c, 200, waysView(f, m))
}

// meets is the state of a pair, as the page calls states.
func meets(p *doctor.Pair) string {
	switch p.State {
	case doctor.Apart:
		return "unreachable"
	case doctor.Unknown:
		return "unknown"
	}
	return "reachable"
}

// how says it in a word or two.
func how(p *doctor.Pair) string {
	switch {
	case p.State == doctor.Relayed:
		return "through " + p.Relay
	case p.Hole:
		return "over " + p.Transport + ", through a hole in NATs"
	case p.State == doctor.Direct:
		return "over " + p.Transport
	case p.State == doctor.Unknown:
		return "neither can be asked"
	}
	return "do not meet"
}
