package beside

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// chest is an application that lists tools.
type chest struct {
	lists  map[engine.LocalID]string
	status int
	asked  int
}

func (c *chest) Do(_ context.Context, call engine.Call) (engine.Reply, error) {
	c.asked++
	if call.Path != toolKind.Collection || c.lists[call.Local] == "" {
		return engine.Reply{}, fmt.Errorf("asked for %s of %q", call.Path, call.Local)
	}
	return engine.Reply{Status: c.status, Body: []byte(c.lists[call.Local])}, nil
}

func (c *chest) Items(_ *engine.Kind, body []byte) ([][]byte, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	items := make([][]byte, len(list))
	for i, item := range list {
		items[i] = item
	}
	return items, nil
}

type yard struct {
	*clock
	*desktop
	*shelves
	*chest
	*containers
}

func newYard() *yard {
	y := &yard{clock: newClock(), desktop: &desktop{replicas: map[engine.DocumentID]*replica.Replica{}}, shelves: newShelves(),
		chest: &chest{status: 200, lists: map[engine.LocalID]string{"a-x/": `[{"id":"t"},{"id":"u"}]`}}}
	y.containers = newContainers(containing{self: "a", known: y.shelves, app: y.chest, look: y.desktop.look, tell: y.desktop.tell, now: y.clock.now,
		backoff: seconds, timeout: time.Minute, after: time.Second, log: quiet()})
	y.replicas["x"] = replicaWith(boxKind, "x", engine.Cross)
	y.replicas["x"].Mine.Local = "a-x"
	return y
}

// cross puts the container x, spread over a and b.
func (y *yard) cross() {
	row := y.put(boxKind, "x", "a b")
	row.Collaboration = engine.Cross
	for s, st := range row.Sites {
		st.Part = 1
		row.Sites[s] = st
	}
}

func TestContainersAreLookedInto(t *testing.T) {
	y := newYard()
	y.cross()
	y.changed("x")
	if y.run(y.step); !slices.Equal(y.take(), []string{"x: 2 tool in a-x"}) {
		t.Errorf("told %v", y.told)
	}
	for name, spoil := range map[string]func(*yard){
		"a service that is down":    func(y *yard) { y.status = 503 },
		"what is no list":           func(y *yard) { y.lists["a-x/"] = "{}" },
		"no answer":                 func(y *yard) { y.lists = nil },
		"a part that is not made":   func(y *yard) { y.replicas["x"].Mine.Local = "" },
		"what is not spread out":    func(y *yard) { y.replicas["x"] = replicaWith(boxKind, "x", engine.Replication) },
		"what is not here any more": func(y *yard) { delete(y.replicas, "x") },
	} {
		y := newYard()
		y.cross()
		spoil(y)
		y.changed("x")
		if y.run(y.step); len(y.take()) > 0 || !y.due.next().IsZero() {
			t.Errorf("%s: told %v", name, y.told)
		}
	}
}

// TestAContainerIsLookedIntoWhenSomethingInItChanges: once for all that changes in a while.
func TestAContainerIsLookedIntoWhenSomethingInItChanges(t *testing.T) {
	y := newYard()
	y.cross()
	tool := y.put(toolKind, "x/t", "a b")
	y.kept(&engine.ResourceRow{}, tool)
	y.kept(&engine.ResourceRow{}, y.put(toolKind, "x/u", "a b"))
	if y.run(y.step); len(y.told) > 0 {
		t.Errorf("told at once: %v", y.told)
	}
	y.pass(time.Second)
	if y.run(y.step); !slices.Equal(y.take(), []string{"x: 2 tool in a-x"}) {
		t.Errorf("told %v", y.told)
	}
	y.kept(tool, tool)
	y.kept(&engine.ResourceRow{}, y.put(boxKind, "z", "a"))
	y.kept(&engine.ResourceRow{}, y.put(toolKind, "z/t", "a")) // its container is not spread over sites
	y.pass(time.Second)
	if y.run(y.step); len(y.told) > 0 || y.asked != 1 {
		t.Errorf("told %v, asked %d times", y.told, y.asked)
	}
}
