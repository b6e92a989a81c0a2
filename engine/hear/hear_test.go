package hear

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/view"
)

const document = engine.DocumentID("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")

var (
	boxes = &engine.Kind{Service: "store", Name: "box", Collection: "/boxes", Item: "/boxes/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}}
	first = engine.Tip{Hash: sha256.Sum256([]byte("first"))}
)

// around is a site that admits everything, and remembers the deletions that it is told of.
type around struct {
	t       *testing.T
	deleted []engine.OperationID
}

func (around) FirstTip(engine.About, uint64) engine.Tip            { return first }
func (around) Admits(*engine.Kind, *engine.Operation) bool         { return true }
func (around) HasBlob(engine.BlobRef) bool                         { return false }
func (a *around) HearDelete(o *engine.Operation)                   { a.deleted = append(a.deleted, o.ID) }
func (a *around) Note(_ engine.DocumentID, what string, err error) { a.t.Errorf("%s: %v", what, err) }

// writes are changes of one site, each of one operation.
func writes(by engine.SiteID, ops ...*engine.Operation) (list []*engine.Change) {
	tip := first
	for i, o := range ops {
		o.ID, o.Path, o.Number = engine.OperationID(fmt.Sprintf("%s-%d", by, i+1)), "/boxes/{id}", uint64(i+1)
		entries := []engine.Entry{{Map: engine.MapOperations, Value: engine.Encode(o)}}
		c := &engine.Change{SignedChange: engine.SignedChange{Line: engine.Line(by)}, Document: document, Number: tip.Number + 1, Previous: tip.Hash,
			Begins: tip.Last + 1, Entries: entries}
		c.Hash = sha256.Sum256(fmt.Append(nil, by, c.Number, entries))
		list, tip = append(list, c), c.Tip()
	}
	return list
}

func said(by engine.SiteID, st engine.Status) []Status {
	st.Document = document
	return []Status{{Signed: engine.SignedStatus{Site: by, Status: engine.Encode(&st), Size: 1}, Status: &st}}
}

// TestWhatComesOfAMessage lets a site at nantes hear one message each, after a create of paris.
func TestWhatComesOfAMessage(t *testing.T) {
	theirs := writes("paris", &engine.Operation{Type: engine.TypeCreate, Edit: &engine.Edit{}}, &engine.Operation{Type: engine.TypeDelete, Seen: engine.Vector{"paris": 1}})
	mine := writes("nantes", &engine.Operation{Type: engine.TypeCreate, Edit: &engine.Edit{}})
	strange := writes("lille", &engine.Operation{Type: engine.TypeMerge, Edit: &engine.Edit{}, Seen: engine.Vector{"paris": 1}})
	later := *theirs[1]
	later.Epoch = 1
	other := *theirs[0]
	other.Hash[0]++
	for name, c := range map[string]struct {
		said    Said
		want    News // but Pass and Forked
		passes  int
		deleted int
	}{
		"the next change, a deletion":    {Said{From: "paris", Changes: theirs[1:]}, News{Taken: true}, 1, 1},
		"what is here":                   {Said{From: "paris", Changes: theirs[:1]}, News{Taken: true}, 0, 0},
		"of an epoch that is not opened": {Said{From: "paris", Epoch: 2, Changes: theirs[1:]}, News{Missing: true}, 0, 0},
		"of the next epoch, out of turn": {Said{From: "paris", Epoch: 1, First: first, Changes: []*engine.Change{&later}}, News{Taken: true, Missing: true}, 0, 0},
		"from who has no part":           {Said{From: "lille", Changes: strange}, News{Taken: true, Missing: true, Refused: true}, 0, 0},
		"a change of its own":            {Said{From: "paris", Changes: mine}, News{Taken: true, Behind: true}, 1, 0},
		"a status of its own":            {Said{From: "paris", Statuses: said("nantes", engine.Status{Number: 7})}, News{Taken: true, Behind: true}, 0, 0},
		"a status":                       {Said{From: "paris", Statuses: said("paris", engine.Status{Number: 1})}, News{Taken: true, Progress: true}, 1, 0},
		"who asks it to look":            {Said{From: "paris", Statuses: said("paris", engine.Status{Number: 1, Asked: 1})}, News{Taken: true, Progress: true, Look: true}, 1, 0},
		"two changes of one number":      {Said{From: "paris", Changes: []*engine.Change{&other}}, News{Taken: true}, 0, 0},
	} {
		v := view.New("nantes", document, engine.About{Service: "store", Kind: "box", Collaboration: engine.Replication, Key: "blue",
			Placement: []engine.SiteID{"nantes", "paris"}}, nil, boxes, func(s engine.SiteID) engine.SiteName { return engine.SiteName(s) })
		v.Epochs = []*view.Epoch{view.NewEpoch(0, first)}
		env, flights := &around{t: t}, &flight.Flights{}
		Hear(v, flights, env, &Said{From: "paris", Changes: theirs[:1]})
		got := Hear(v, flights, env, &c.said)
		passes, forked := 0, len(got.Forked)
		if got.Pass != nil {
			passes = len(got.Pass.Changes) + len(got.Pass.Statuses)
		}
		lost := got.Lost != nil
		got.Pass, got.Forked, got.Lost = nil, nil, nil
		if !reflect.DeepEqual(*got, c.want) || passes != c.passes || len(env.deleted) != c.deleted {
			t.Errorf("%s: %+v, passes %d on, %d deletions are told", name, *got, passes, len(env.deleted))
		}
		if lost != (len(c.said.Statuses) == 1 && c.want.Behind) || forked == 1 != (name == "two changes of one number") {
			t.Errorf("%s: a status of its own: %v, %d forks", name, lost, forked)
		}
	}
}

// TestOneMemberMakesNobodyLetGo: whoever offers a checkpoint in the place of what is here, it is let go of only where most of the others say that they
// have done so. What one member says of itself is its own word, and no more.
func TestOneMemberMakesNobodyLetGo(t *testing.T) {
	gone := engine.Status{Number: 1, Epoch: 3, Over: true}
	everyone := []engine.SiteID{"lille", "mallory", "nantes", "paris"}
	for name, c := range map[string]struct {
		told []Status
		late bool
	}{
		"two of three, by a stranger": {append(said("lille", gone), said("paris", gone)...), false},
		"nobody":                      {nil, false},
		"one of three":                {said("mallory", gone), false},
		"one, and one has it still":   {append(said("mallory", gone), said("paris", engine.Status{Number: 1, Epoch: 3})...), false},
		"one, and one is elsewhere":   {append(said("mallory", gone), said("paris", engine.Status{Number: 1, Epoch: 2, Over: true})...), false},
		"one, and one joins anew":     {append(said("mallory", gone), said("paris", engine.Status{Number: 1, Epoch: 3, Over: true, Rejoins: true})...), false},
		"two of three":                {append(said("lille", gone), said("paris", gone)...), true},
		"two who went further":        {append(said("lille", engine.Status{Number: 1, Epoch: 4}), said("paris", engine.Status{Number: 1, Epoch: 4})...), true},
	} {
		v := view.New("nantes", document, engine.About{Service: "store", Kind: "box", Collaboration: engine.Replication, Key: "blue",
			Placement: everyone}, nil, boxes, func(s engine.SiteID) engine.SiteName { return engine.SiteName(s) })
		v.Epochs = []*view.Epoch{view.NewEpoch(0, first)}
		env, flights := &around{t: t}, &flight.Flights{}
		Hear(v, flights, env, &Said{From: "paris", Changes: writes("paris", &engine.Operation{Type: engine.TypeCreate, Edit: &engine.Edit{}})})
		in := &Said{From: "mallory", Epoch: 3, Checkpoint: []byte{0xf6}, Statuses: c.told}
		if strings.HasSuffix(name, "by a stranger") {
			in.From = "rennes"
		}
		news := Hear(v, flights, env, in)
		if news.Late != c.late || news.Missing == (c.late || in.From == "rennes") || v.History.Len() != 1 || len(v.Epochs) != 1 || v.Current().Number != 0 {
			t.Errorf("%s says so: %+v, %d operations, epoch %d", name, *news, v.History.Len(), v.Current().Number)
		}
	}
}
