package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/shape"
)

// maxPaired bounds the sites of which all pairs are told: there are half as many pairs as the square of it.
const maxPaired = 100

// Distances are the round trips between sites, each pair once.
type Distances struct {
	Items []Distance `json:"items"`
}

// Distance is the round trip between two sites.
type Distance struct {
	From string  `json:"from"`
	To   string  `json:"to"`
	RTT  float64 `json:"rtt_ms"`
	// MeasuredBy is the site that has measured it; empty: it is estimated from the coordinates of both.
	MeasuredBy string `json:"measured_by"`
	// At is when it was measured last, or when the older of the two coordinates was told; nil: that is not known.
	At *time.Time `json:"at"`
}

// Distances tells the round trips between all sites, or, when a site is named, from that to all others. Pairs of which nothing is
// known are left out.
func (a *API) Distances(site string) (Distances, error) {
	from, err := a.names().ID(site)
	if err != nil {
		return Distances{}, err
	}
	members, self, status, distance := a.Mesh.Members(), a.Mesh.Self(), a.Network.Status(), a.Mesh.Distances()
	if from == "" && len(members) > maxPaired {
		return Distances{}, refuse(http.StatusUnprocessableEntity, "too-many", "the mesh has %d sites: name one with ?site=", len(members))
	}
	d := Distances{Items: []Distance{}}
	for i, x := range members {
		for j, y := range members {
			if from == "" && j <= i || from != "" && (x.ID != from || i == j) {
				continue
			}
			rtt, known := distance(x.ID, y.ID)
			if !known {
				continue
			}
			v := Distance{From: string(x.Name), To: string(y.Name), RTT: float64(rtt.Microseconds()) / 1000, At: shape.Instant(min(x.At, y.At))}
			other := x.ID
			if x.ID == self {
				other = y.ID
			}
			if st := status[other]; (x.ID == self || y.ID == self) && st.Reachable && st.RTT > 0 {
				v.MeasuredBy, v.At = a.SelfName(), shape.Moment(st.LastSeen)
			}
			d.Items = append(d.Items, v)
		}
	}
	return d, nil
}

func (a *API) getDistances(c echo.Context) error {
	q, err := params(c, "site")
	if err != nil {
		return err
	}
	v, err := a.Distances(q.Get("site"))
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}
