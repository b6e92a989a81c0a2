package front

import (
	"context"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/waiting"
)

// turns are those of who make an object of one name, say, or who settle what was asked for it. Nobody who has a thing waits for one
// that is named after it here: a name in a container, a choice, what is made, what is settled.
type turns struct{ *waiting.Turns[turn] }

type turn struct {
	what    string
	service engine.ServiceName
	kind    engine.KindName
	name    string
}

// take waits for a thing; release gives it back.
func (t turns) take(ctx context.Context, what string, k *engine.Kind, name string) (release func(), err error) {
	return t.Take(ctx, turn{what, k.Service, k.Name, name})
}

// job names a piece of work that waits: a kept request to hand over or to run, an errand to settle, or a container to be looked into.
// Exactly one field is set.
type job struct {
	kept     engine.OperationID
	errand   engine.OperationID
	contents engine.DocumentID
}

// queue holds the jobs. What hangs in one service of the application takes no place from what is for others.
type queue = waiting.Queue[job]

// ours is the lane of what this agent does by itself; what is kept has others.
const ours waiting.Lane = " ours"
