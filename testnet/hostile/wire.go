package hostile

import (
	"bytes"
	"encoding/binary"

	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/skerry/skerry/engine"
)

// The protocols of the sites, as package p2p has them.
const (
	pings    protocol.ID = "/skerry/ping/1"
	letters  protocol.ID = "/skerry/letters/1"
	compares protocol.ID = "/skerry/compare/1"
	blobs    protocol.ID = "/skerry/blob/1"
	requests protocol.ID = "/skerry/http/1"
	joins    protocol.ID = "/skerry/join/1"
)

var protocols = []protocol.ID{pings, letters, compares, blobs, requests, joins}

// frame is a message as it travels: its length, then its bytes.
func frame(b []byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(b))), b...)
}

// letterFrame is a frame of the letters protocol.
func letterFrame(l ...*engine.Letter) []byte { return frame(engine.Encode(l)) }

// garbage are messages that are wrong in different ways.
var garbage = [][]byte{
	{},
	make([]byte, 1024),
	{4, 0xff, 0xff, 0xff, 0xff},
	{0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, // a huge length
	bytes.Repeat([]byte{0xff}, 64),       // an endless one
	[]byte("GET / HTTP/1.1\r\n\r\n"),
	{3, 0xa1, 0x01, 0x80},
	frame(bytes.Repeat([]byte{0x81}, 100)), // nested
	frame(append([]byte{0x9a, 0, 1, 0, 0}, bytes.Repeat([]byte{0xa0}, 1<<16)...)), // 65,536 empty letters
	frame(append([]byte{0x81, 0xa1, 0x01, 0x9a, 0, 1, 0, 0}, bytes.Repeat([]byte{0xa0}, 1<<16)...)),
	frame([]byte{0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), // bytes without end
	frame([]byte{0xf6}),       // null
	frame([]byte{0x81, 0xf6}), // an array of null
}

// Messages of the compare protocol, by the numbers of their fields.
type message map[int]any

func (m message) frame() []byte { return frame(engine.Encode(m)) }

const sumLen = 32

// opening says that everything differs.
func opening(sum func([]byte)) message {
	mesh, parts := make([]byte, sumLen), make([]byte, engine.Ranges*sumLen)
	sum(mesh)
	sum(parts)
	return message{1: 1, 2: mesh, 3: []any{map[int]any{1: engine.Range{}, 2: parts}}}
}

func wanting(documents ...engine.DocumentID) message {
	var want []engine.Have
	for _, d := range documents {
		want = append(want, engine.Have{Document: d})
	}
	return message{1: 7, 7: want}
}
