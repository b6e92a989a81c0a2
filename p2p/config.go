package p2p

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

// Config says how a site takes part in its mesh. Zero fields have the defaults named here.
type Config struct {
	// Key is the site's identity, as Identity returns it. Required.
	Key crypto.PrivKey
	// Listen are multiaddresses to listen on, QUIC and TCP. Port 0 lets the system choose. Required.
	Listen []string
	// Peers are multiaddresses with /p2p/ID of members, tried beside the addresses that members publish.
	Peers []string
	// Announce are further addresses at which others reach this site: multiaddresses, or DNS names, each of which stands
	// for one address for each of Listen.
	Announce []string
	// Relay lets members talk to each other through this site that cannot reach each other. What passes is encrypted
	// between those two.
	Relay bool
	// Log receives what an operator should know. Default: nothing is logged.
	Log *slog.Logger
	// OnStatus is told when the way to another member opens (up) or closes. It is called from the goroutine that
	// watches that member and must not block for long.
	OnStatus func(site engine.SiteID, up bool)
	// OnCompared is told that this site has, as far as a comparison or a ping has found out, what another one has. It is called often
	// and must not block.
	// First says that it is the first time since the way to that one has opened.
	OnCompared func(site engine.SiteID, first bool)
	// At is where the site was when it last told its coordinate; the zero value: nowhere yet.
	At vivaldi.Coordinate
	// OnMoved is told this site's coordinate when the other sites ought to know it. It is called as OnStatus is.
	OnMoved func(vivaldi.Coordinate)
	// Now is the wall clock that is compared with the other sites'. Default time.Now.
	Now func() time.Time
	// Limits are what each other member may have of this site.
	Limits Limits
	// Options are further options of the libp2p host; simulations bring their own UDP sockets with them.
	Options []libp2p.Option
}

// validate sets the defaults and reports all that is wrong.
func (c *Config) validate() (listen []multiaddr.Multiaddr, peers []peer.AddrInfo, err error) {
	var errs []error
	if c.Key == nil {
		errs = append(errs, errors.New("no key"))
	}
	if len(c.Listen) == 0 {
		errs = append(errs, errors.New("no address to listen on"))
	}
	for _, text := range c.Listen {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("listen address %q: %w", text, err))
			continue
		}
		listen = append(listen, a)
	}
	if _, err := announced(c.Announce, listen); err != nil {
		errs = append(errs, err)
	}
	for _, text := range c.Peers {
		a, err := peer.AddrInfoFromString(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("peer %q: %w", text, err))
			continue
		}
		peers = append(peers, *a)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.OnStatus == nil {
		c.OnStatus = func(engine.SiteID, bool) {}
	}
	if c.OnCompared == nil {
		c.OnCompared = func(engine.SiteID, bool) {}
	}
	if c.OnMoved == nil {
		c.OnMoved = func(vivaldi.Coordinate) {}
	}
	if c.At == (vivaldi.Coordinate{}) {
		c.At = vivaldi.New()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return listen, peers, errors.Join(errs...)
}
