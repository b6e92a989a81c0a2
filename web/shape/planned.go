package shape

import (
	"time"

	"github.com/skerry/skerry/engine"
)

// Preview is what a site's agent is about to do at its application.
type Preview struct {
	Site string    `json:"site"`
	At   time.Time `json:"at"`
	// Waiting counts the resources with something left to do, Examined those that Steps counts by what is done.
	Waiting  int            `json:"waiting"`
	Examined int            `json:"examined"`
	Steps    map[string]int `json:"steps"`
	// Held counts the deletions that wait to be confirmed, Ran those that ran unasked before them; 0 where that is not known.
	Held  int       `json:"held"`
	Ran   int       `json:"ran"`
	Items []Planned `json:"items"`
	// Deletions are those that wait, of the items, and those that ran.
	Deletions []Deletion `json:"deletions"`
}

// Deletion is one that came in while a site was away.
type Deletion struct {
	Operation string `json:"operation"`
	Resource  string `json:"resource"`
	Label     string `json:"label"` // what people call it; empty where that is not known
	Service   string `json:"service"`
	Kind      string `json:"kind"`
	// Origin is the site where User, which may be empty, has deleted it.
	Origin string    `json:"origin"`
	User   string    `json:"user"`
	At     time.Time `json:"at"`
	Held   bool      `json:"held"` // it waits; else it has run there
}

// Deletion tells of the operation of a deletion.
func (n Names) Deletion(r engine.OperationRow, label string, held bool) Deletion {
	return Deletion{string(r.ID), string(r.Resource), label, string(r.Service), string(r.Kind), n.Of(r.Origin), r.User, r.IssuedAt, held}
}

// Planned is the next step of one resource.
type Planned struct {
	Resource   string   `json:"resource"`
	Label      string   `json:"label"` // what people call it; empty where that is not known
	Service    string   `json:"service"`
	Kind       string   `json:"kind"`
	Does       string   `json:"does"`
	Operations []string `json:"operations"`
	// Set and Unset are the paths that a correction sets and removes.
	Set   []string `json:"set"`
	Unset []string `json:"unset"`
	Waits string   `json:"waits"` // why it does not happen now; empty when nothing is in its way
}

// PreviewOf tells what the site of a name is about to do.
func PreviewOf(site string, at time.Time, p engine.Preview) Preview {
	v := Preview{Site: site, At: at, Waiting: p.Waiting, Examined: p.Examined, Steps: p.Steps, Held: p.Held, Ran: len(p.Ran), Items: []Planned{}, Deletions: []Deletion{}}
	for _, i := range p.Items {
		v.Items = append(v.Items, Planned{
			Resource: string(i.Resource), Service: string(i.Service), Kind: string(i.Kind), Does: i.Does,
			Operations: Texts(i.Operations), Set: Texts(i.Set), Unset: Texts(i.Unset), Waits: i.Waits,
		})
	}
	return v
}
