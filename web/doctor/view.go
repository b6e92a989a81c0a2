package doctor

import (
	"cmp"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

// View is what one site tells of its ways to all others.
type View struct {
	Site string `json:"peer_id"`
	Name string `json:"site"`
	// Isolated says that a rehearsal cuts it off.
	Isolated bool `json:"isolated"`
	// Announced are the addresses of its configuration at which others are to reach it, beside those of its interfaces.
	Announced []string `json:"announced"`
	Ways      []Way    `json:"ways"`
}

// Way is how a site gets to another one.
type Way struct {
	Site      string     `json:"peer_id"`
	Name      string     `json:"site"`
	Reachable bool       `json:"reachable"`
	Since     *time.Time `json:"since"` // when reachable became what it is; nil: not tried yet
	RTT       *float64   `json:"rtt_ms"`
	// Relay is the peer id of the member through which it is reached; empty: none.
	Relay string `json:"relay"`
	// Hole says that it is reached itself, through a hole that the two have made in their NATs.
	Hole      bool   `json:"hole"`
	Transport string `json:"transport"` // quic, tcp or websocket; empty: there is no connection
	// Seen is the address at which it is seen, Inbound says that it has opened the connection.
	Seen    string `json:"seen"`
	Inbound bool   `json:"inbound"`
	// Relays says that it relays for others.
	Relays bool  `json:"relays"`
	Tries  []Try `json:"tries"`
}

// Try is what came of one address, or of one relay, that was tried last.
type Try struct {
	Address string           `json:"address"`
	Relay   string           `json:"relay"` // its peer id
	Result  engine.TryResult `json:"result"`
	Other   string           `json:"other"` // the peer id that answered in place of the site's
	Detail  string           `json:"detail"`
	At      *time.Time       `json:"at"`
}

// ViewOf tells of the ways of one site.
func ViewOf(self engine.SiteID, members []engine.Member, ways map[engine.SiteID]engine.Way, isolated bool, announced []string) View {
	v := View{Site: string(self), Isolated: isolated, Announced: append([]string{}, announced...), Ways: []Way{}}
	for _, m := range members {
		w, known := ways[m.ID]
		if m.ID == self {
			v.Name = string(m.Name)
		}
		if !known {
			continue
		}
		way := Way{Site: string(m.ID), Name: string(m.Name), Reachable: w.Reachable, Since: moment(w.Since), Relay: string(w.Relay), Hole: w.Hole,
			Transport: w.Transport, Seen: w.Seen, Inbound: w.Inbound, Relays: w.Relays, Tries: []Try{}}
		if w.RTT > 0 {
			ms := float64(w.RTT.Microseconds()) / 1000
			way.RTT = &ms
		}
		for _, t := range w.Tries {
			way.Tries = append(way.Tries, Try{Address: t.Address, Relay: string(t.Relay), Result: t.Result, Other: string(t.Other), Detail: t.Detail, At: moment(t.At)})
		}
		v.Ways = append(v.Ways, way)
	}
	slices.SortFunc(v.Ways, func(x, y Way) int { return cmp.Compare(x.Name, y.Name) })
	return v
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// to returns the way to a site, nil when the view has none.
func (v *View) to(site string) *Way {
	if v == nil {
		return nil
	}
	for i := range v.Ways {
		if v.Ways[i].Site == site {
			return &v.Ways[i]
		}
	}
	return nil
}
