package merge

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// TestAPutLeavesOutWhatTheApplicationShows has clients put back what they have read, changed or not.
func TestAPutLeavesOutWhatTheApplicationShows(t *testing.T) {
	k := *lab
	k.Keys = []engine.Key{{At: "/disks", Member: "name"}}
	k.Ignore = []Pointer{"/seen"}
	before := historyOf(&k, op("a-1", engine.TypeCreate, 1, nil, &Edit{Set: map[Pointer]json.RawMessage{
		"/name": json.RawMessage(`"n"`), "/spec": tree.Object, "/spec/size": json.RawMessage("1"),
		"/disks": tree.KeyedBy("name"), "/disks/sda": tree.Object}, Order: map[Pointer][]string{"/disks": {"sda"}}})).Whole(Any)
	const shown = `{"name":"n","spec":{"size":1,"mode":"rw"},"state":{"at":"up","since":3},"disks":[{"name":"sda"},{"name":"own","x":1}],"seen":4,"tags":["t"]}`
	for _, c := range []struct{ why, body, set, order string }{
		{"as it is", shown, `{}`, `map[]`},
		{"another name", `{"name":"m","spec":{"size":1,"mode":"rw"},"state":{"at":"up","since":3},"disks":[{"name":"sda"},{"name":"own","x":1}],"tags":["t"]}`,
			`{"/name":"m"}`, `map[]`},
		{"another value of its own", `{"name":"n","spec":{"size":1,"mode":"ro"},"state":{"at":"down","since":3},"disks":[{"name":"sda"}],"tags":["t","u"]}`,
			`{"/spec/mode":"ro","/state":{},"/state/at":"down","/tags":["t","u"]}`, `map[]`},
		{"one more element", `{"name":"n","spec":{"size":1},"disks":[{"name":"sda"},{"name":"own","x":1},{"name":"sdb"}]}`, `{"/disks/sdb":{}}`, `map[/disks:[sda sdb]]`},
		{"another order", `{"name":"n","spec":{"size":1},"disks":[{"name":"own","x":1},{"name":"sda"}]}`, `{"/disks/own":{},"/disks/own/x":1}`, `map[/disks:[own sda]]`},
		{"an object in the place of a value", `{"name":{"at":"up"},"spec":{"size":1},"disks":[{"name":"sda"}]}`, `{"/name":{},"/name/at":"up"}`, `map[]`},
	} {
		e, err := EditOf(&k, engine.TypeReplace, []byte(c.body), before, func() ([]byte, error) { return []byte(shown), nil })
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		set, _ := json.Marshal(e.Set)
		if string(set) != c.set || fmt.Sprint(e.Order) != c.order {
			t.Errorf("%s: sets %s in the order %v, want %s and %s", c.why, set, e.Order, c.set, c.order)
		}
		if want := c.why != "an object in the place of a value" && c.why != "another order"; e.Partial != want {
			t.Errorf("%s: partial is %t", c.why, e.Partial)
		}
	}
	// What no client has set is not asked for in vain, and is all that an application is asked for.
	unread := errors.New("not read")
	reads := func() ([]byte, error) { return nil, unread }
	if e, err := EditOf(&k, engine.TypeReplace, []byte(`{"name":"m","spec":{"size":1},"disks":[{"name":"sda"}],"seen":9}`), before, reads); err != nil || e.Partial {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, err := EditOf(&k, engine.TypeReplace, []byte(`{"name":"n","state":{}}`), before, reads); !errors.Is(err, unread) {
		t.Errorf("got %v", err)
	}
	// An application that shows no JSON has nothing of its own.
	e, err := EditOf(&k, engine.TypeReplace, []byte(`{"name":"n","state":{}}`), before, func() ([]byte, error) { return []byte("<x/>"), nil })
	if err != nil || e.Partial || e.Set["/state"] == nil {
		t.Errorf("got %+v, %v", e, err)
	}
}

// TestAMergePatchLeavesOutOfArraysWhatTheApplicationShows: it gives arrays whole, with what the application has set in them by itself. What it says
// of other fields it says on purpose.
func TestAMergePatchLeavesOutOfArraysWhatTheApplicationShows(t *testing.T) {
	k := *lab
	k.Keys = []engine.Key{{At: "/disks", Member: "name"}}
	disk := func(name string) map[Pointer]json.RawMessage {
		at := Pointer("/disks/" + name)
		return map[Pointer]json.RawMessage{"/disks": tree.KeyedBy("name"), at: tree.Object, at + "/size": json.RawMessage("1")}
	}
	begun := disk("sda")
	for p, v := range disk("sdb") {
		begun[p] = v
	}
	before := historyOf(&k, op("a-1", engine.TypeCreate, 1, nil, &Edit{Set: begun, Order: map[Pointer][]string{"/disks": {"sda", "sdb"}}})).Whole(Any)
	const shown = `{"state":"up","disks":[{"name":"sda","size":1,"mode":"rw"},{"name":"sdb","size":1,"mode":"rw"}]}`
	for _, c := range []struct {
		why, body, set, unset string
		partial               bool
	}{
		{"one less", `{"disks":[{"name":"sdb","size":1,"mode":"rw"}]}`, `{}`, `[/disks/sda /disks/sda/size]`, true},
		{"another value of the application's own", `{"disks":[{"name":"sda","size":1,"mode":"ro"},{"name":"sdb","size":1,"mode":"rw"}]}`, `{"/disks/sda/mode":"ro"}`, `[]`, true},
		{"fields beside", `{"state":"up","disks":[{"name":"sda","size":2},{"name":"sdb","size":1}]}`, `{"/disks/sda/size":2,"/state":"up"}`, `[]`, false},
	} {
		e, err := EditOf(&k, engine.TypeMerge, []byte(c.body), before, func() ([]byte, error) { return []byte(shown), nil })
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		set, _ := json.Marshal(e.Set)
		if string(set) != c.set || fmt.Sprint(e.Unset) != c.unset || e.Partial != c.partial {
			t.Errorf("%s: sets %s, takes away %v, partial %t", c.why, set, e.Unset, e.Partial)
		}
	}
	unread := errors.New("not read")
	reads := func() ([]byte, error) { return nil, unread }
	if _, err := EditOf(&k, engine.TypeMerge, []byte(`{"disks":[{"name":"sda","size":1,"mode":"rw"}]}`), before, reads); !errors.Is(err, unread) {
		t.Errorf("got %v", err)
	}
	if _, err := EditOf(&k, engine.TypeMerge, []byte(`{"state":"down","disks":[{"name":"sda","size":1}]}`), before, reads); err != nil {
		t.Errorf("it is read in vain: %v", err)
	}
}

// TestWhatASiteHasForItselfInAnArrayGoesNowhere: a client that puts elements in another order, as it has read them, sends along what its site has
// for itself in them. Other sites are not asked for that.
func TestWhatASiteHasForItselfInAnArrayGoesNowhere(t *testing.T) {
	k := *lab
	k.Keys = []engine.Key{{At: "/ports", Member: "port"}}
	k.Ignore = []Pointer{"/ports/*/node"}
	before := historyOf(&k, op("a-1", engine.TypeCreate, 1, nil, &Edit{Set: map[Pointer]json.RawMessage{"/ports": tree.KeyedBy("port"), "/ports/80": tree.Object, "/ports/443": tree.Object},
		Order: map[Pointer][]string{"/ports": {"80", "443"}}})).Whole(Any)
	const shown = `{"ports":[{"port":80,"node":30001},{"port":443,"node":30002}]}`
	for _, typ := range []engine.Type{engine.TypeMerge, engine.TypeReplace} {
		for body, partial := range map[string]bool{
			`{"ports":[{"port":443,"node":30002},{"port":80,"node":30001}]}`: true,
			`{"ports":[{"port":443},{"port":80}]}`:                           false,
		} {
			e, err := EditOf(&k, typ, []byte(body), before, func() ([]byte, error) { return []byte(shown), nil })
			if err != nil || e.Partial != partial || e.Set["/ports/80/node"] != nil || fmt.Sprint(e.Order) != "map[/ports:[443 80]]" {
				t.Errorf("%s of %s: %+v, %v", typ, body, e, err)
			}
		}
	}
}
