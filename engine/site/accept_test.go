package site

import (
	"errors"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// judge says the same to every wish.
type judge engine.Acceptance

func (j judge) Accepts(engine.Wish) engine.Acceptance { return engine.Acceptance(j) }
func (judge) Restricts() bool                         { return true }

// TestACheckpointIsTakenFromWhomItsOperationsWouldBe: nobody but its sender has signed what is in a checkpoint, so it is not taken from a
// site that may make nothing here, nor from one that may for those who have asked only.
func TestACheckpointIsTakenFromWhomItsOperationsWouldBe(t *testing.T) {
	about, id := document("blue")
	parcel := func(checkpoint []byte) *engine.Parcel {
		return &engine.Parcel{About: engine.Encode(&about), Checkpoint: checkpoint}
	}
	for _, c := range []struct {
		accept Accept
		why    string
	}{
		{nil, ""},
		{judge{Accepted: true, As: engine.AsAgent}, ""},
		{judge{Reason: "paris does not accept it"}, "paris does not accept it"},
		{judge{Accepted: true, As: engine.AsUser, Reason: "accept, rule 1"}, "it does not prove who has asked for what: accept, rule 1"},
	} {
		w := newWorld(t)
		w.cfg.Accept = c.accept
		x := &exchange{site: w.Site}
		o, err := x.openParcel("nantes", parcel([]byte("checkpoint")))
		if c.why == "" && (err != nil || o.id != id) || c.why != "" && (!errors.Is(err, engine.ErrUnknown) || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%+v: %+v, %v", c.accept, o, err)
		}
		if _, err := x.openParcel("nantes", parcel(nil)); err != nil { // what is signed is judged one by one
			t.Errorf("%+v: without a checkpoint: %v", c.accept, err)
		}
	}
}
