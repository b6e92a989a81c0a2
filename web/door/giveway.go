package door

import (
	"crypto/tls"
	"iter"
	"net"
	"time"
)

// compared is how many clients for which everything waits are compared to find one that gives way, of how many that are looked at: who has just
// come hardly ever has been waited for longest of so many.
const compared, looked = 32, 4096

// keeper is a client for which everything waits, and since when.
type keeper struct {
	d     *Door
	conn  net.Conn
	since time.Time
	// forget has it not be found again.
	forget func()
}

// GiveWay closes the connection of a client of one of the doors for which everything waits, longer than for most others: it has no request under
// way, or keeps one from coming in, or takes no answer. So who opens connections without end, and is slow on each, takes them from himself. It
// reports false where there is none.
func GiveWay(doors iter.Seq[*Door]) bool {
	var slowest keeper
	for d := range doors {
		if k := d.slowest(); k.d != nil && (slowest.d == nil || k.since.Before(slowest.since)) {
			slowest = k
		}
	}
	if slowest.d == nil {
		return false
	}
	slowest.forget() // who serves it may take a while to find out
	slowest.d.gaveWay.Add(1)
	if t, ok := slowest.conn.(*tls.Conn); ok {
		slowest.conn = t.NetConn() // who closes TLS takes leave first, which may take its time
	}
	slowest.conn.Close()
	return true
}

// slowest is the one that has been waited for longest of some of the clients; the zero value is none.
func (d *Door) slowest() (k keeper) {
	d.mu.Lock()
	defer d.mu.Unlock()
	note := func(conn net.Conn, since time.Time, forget func()) (waits int) {
		if since.IsZero() {
			return 0
		}
		if k.d == nil || since.Before(k.since) {
			k = keeper{d, conn, since, forget}
		}
		return 1
	}
	seen, found := 0, 0
	for c := range d.clients { // in no order
		since := time.Time{}
		if at := c.waits.Load(); at != 0 {
			since = time.Unix(0, at)
		}
		if seen, found = seen+1, found+note(c.conn, since, c.forget); seen == looked || found == compared {
			break
		}
	}
	seen, found = 0, 0
	for b := range d.lent {
		if seen, found = seen+1, found+note(b.Conn, b.waiting(), b.forget); seen == looked || found == compared {
			break
		}
	}
	return k
}

// GaveWay is how many clients have had to give way.
func (d *Door) GaveWay() uint64 { return d.gaveWay.Load() }

func (c *client) forget() { c.waits.Store(0) }

func (b *begun) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = time.Time{}
}

// waiting is since when net/http waits for the client, zero where it does not.
func (b *begun) waiting() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hijacked || b.multi && b.handled > 0 {
		return time.Time{}
	}
	return b.waits
}
