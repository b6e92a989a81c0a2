package crdt

import (
	"encoding/hex"

	"github.com/skerry/skerry/engine"
)

// firstActor makes every document's first change, and nothing else: the sixteen zero bytes.
var firstActor actor

// keyAbout is where the root keeps the canonical bytes of the document's About.
const keyAbout = "about"

// firstChange returns the change that begins the document: it makes the maps of the schema, in their order, and
// puts about beside them. It depends on about alone, so that sites which never met make the same one; it
// is never taken from outside.
func firstChange(schema engine.Schema, about []byte) *change {
	c := &change{actor: firstActor, seq: 1, startOp: 1}
	for _, m := range schema.Maps() {
		c.puts = append(c.puts, put{key: string(m), makes: true})
	}
	c.puts = append(c.puts, put{key: keyAbout, value: about})
	return c
}

func documentID(h hash) engine.DocumentID { return engine.DocumentID(hex.EncodeToString(h[:])) }
