package p2p

import (
	"cmp"
	"time"

	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/skerry/skerry/engine"
)

// What one other member may cost this site. A member is trusted with what it may write, not with this site's memory.
const (
	// frameBytes is up to how many bytes of letters are joined into one frame: enough that the work for each frame does not
	// count, and under 100 ms on a line of 100 Mbit/s, after which a small letter gets its turn.
	frameBytes = 900 << 10
	maxFrame   = engine.MaxFrame
	// minItem is how many bytes an item of CBOR has at least, on average, beyond the first fewItems, in what an honest site
	// sends: about half of what their identifiers alone come to. Decoded, an item may take ten times as much memory.
	minItem  = 8
	fewItems = 16 << 10

	// queueBytes and queueLetters bound what waits to be sent to one member: about a second of a fast line. What does not fit
	// is dropped, and the member is compared with instead.
	queueBytes   = 16 << 20
	queueLetters = 16 << 10
	// lettersInFlight and bytesInFlight bound the letters of one member that are being taken in, the second as long as the configuration does
	// not. With several, one commit of the engine takes in what has come meanwhile; the rest waits with the sender, which joins it.
	lettersInFlight = 16
	bytesInFlight   = 8 << 20

	// wantDocuments is how many documents one side of a comparison asks for at once: one frame of letters or so.
	wantDocuments = 256
	// wantsAhead is how many such requests are under way: one is answered and one taken in while the third travels.
	wantsAhead = 3
	// maxPulls is how many documents one comparison pulls, 8 MiB of identifiers. The next one does the rest.
	maxPulls = 256 << 10
	// maxBegun and maxServed are how many comparisons this site makes at once, and lets others make with it. One member has
	// one of each. More wait: they all use the same processor and disk.
	maxBegun  = 8
	maxServed = 16
	// compareTime is how long one comparison may take. What it has brought stays, and the next one does the rest; a member that
	// never comes to an end keeps the others from comparing no longer than that.
	compareTime = 10 * time.Minute

	// maxStreams are all streams of one member that are open at once, and those that are being opened or closed, and maxPeerMemory what their
	// buffers may take, as long as the configuration does not say. The table of calls bounds the streams of each protocol.
	maxStreams    = 2048
	maxConns      = 16 // of each direction: two sites may dial each other at once, over several addresses
	maxPeerMemory = 512 << 20

	// stall is how long the other side of a stream may let nothing pass before the stream is given up.
	stall = 20 * time.Second
	// compareStall is the same where the other side may be at work on what it got.
	compareStall = time.Minute
)

// Limits are what one other member may have of this site. A zero field stands for the default named.
type Limits struct {
	// Streams are those open at once in each direction (2048); InFlight are the bytes of its letters that are being taken in (8 MiB),
	// Memory what the buffers of its streams may take (512 MiB).
	Streams          int
	InFlight, Memory int64
}

func (l Limits) withDefaults() Limits {
	l.Streams, l.InFlight, l.Memory = cmp.Or(l.Streams, maxStreams), cmp.Or(l.InFlight, bytesInFlight), cmp.Or(l.Memory, maxPeerMemory)
	return l
}

// streamsOf is how many streams of a protocol one other site may have open at once. A protocol that is not in the table of calls has none.
func streamsOf(id protocol.ID) int {
	if c := engine.PeerCallOf(string(id)); c != nil {
		return c.Streams
	}
	return 0
}
