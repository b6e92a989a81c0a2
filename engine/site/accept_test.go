package site

import (
	"errors"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// strict accepts no checkpoint from paris.
type strict struct{}

func (strict) Accepts(engine.Wish) engine.Acceptance {
	return engine.Acceptance{Accepted: true, As: engine.AsAgent}
}
func (strict) Restricts(engine.SiteID) bool { return true }
func (strict) Checkpoint(from engine.SiteID, _ engine.About) error {
	if from == "paris" {
		return errors.New("nantes does not accept it")
	}
	return nil
}

// TestACheckpointIsTakenFromWhomTheSiteAcceptsOne: what is signed beside it is judged one by one.
func TestACheckpointIsTakenFromWhomTheSiteAcceptsOne(t *testing.T) {
	about, id := document("blue")
	parcel := func(checkpoint []byte) *engine.Parcel {
		return &engine.Parcel{About: engine.Encode(&about), Checkpoint: checkpoint}
	}
	for _, c := range []struct {
		accept Accept
		from   engine.SiteID
		why    string
	}{{nil, "paris", ""}, {strict{}, "lyon", ""}, {strict{}, "paris", "nantes does not accept it"}} {
		w := newWorld(t)
		w.cfg.Accept = c.accept
		x := &exchange{site: w.Site}
		o, err := x.openParcel(c.from, parcel([]byte("checkpoint")))
		if c.why == "" && (err != nil || o.id != id) || c.why != "" && (!errors.Is(err, engine.ErrUnknown) || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%T from %s: %+v, %v", c.accept, c.from, o, err)
		}
		if _, err := x.openParcel(c.from, parcel(nil)); err != nil {
			t.Errorf("%T from %s: without a checkpoint: %v", c.accept, c.from, err)
		}
	}
}

// TestAStatusOfWhomNobodyHasLetInIsNotTaken: a member can place a resource with keys that it has made up, and would speak for each of them.
func TestAStatusOfWhomNobodyHasLetInIsNotTaken(t *testing.T) {
	_, id := document("blue")
	w := newWorld(t)
	x := &exchange{site: w.Site}
	status := func(site engine.SiteID) engine.SignedStatus {
		return engine.SignedStatus{Site: site, Status: engine.Encode(&engine.Status{Document: id, Number: 1})}
	}
	list, err := x.open("nantes", &engine.Letter{Statuses: []engine.SignedStatus{status("rennes"), status("lyon")}})
	if !errors.Is(err, engine.ErrMissing) || !strings.Contains(err.Error(), "a status of rennes") {
		t.Errorf("%v, want that rennes is unknown yet", err)
	}
	if len(list) != 1 || len(list[0].heard.Statuses) != 1 || list[0].heard.Statuses[0].Signed.Site != "lyon" {
		t.Errorf("%d resources, want one with the status of lyon alone", len(list))
	}
}
