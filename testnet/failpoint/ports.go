package failpoint

import (
	"context"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Application returns a with points around its requests.
func (h Hit) Application(a engine.Application) engine.Application { return application{a, h} }

type application struct {
	engine.Application
	hit Hit
}

func (a application) Do(ctx context.Context, c engine.Call) (r engine.Reply, err error) {
	err = around(a.hit, request(c), func() (err error) {
		r, err = a.Application.Do(ctx, c)
		return err
	})
	return r, err
}

func request(c engine.Call) string {
	switch {
	case c.Method == http.MethodGet || c.Method == http.MethodHead:
		return RequestLook
	case c.Method == http.MethodDelete:
		return RequestDelete
	case c.Method == http.MethodPost && !strings.Contains(c.Path, "{id}"):
		return RequestCreate
	case c.Method == http.MethodPost:
		return RequestAction
	}
	return RequestChange
}

// Network returns n with points around what it sends and fetches.
func (h Hit) Network(n engine.Network) engine.Network { return network{n, h} }

type network struct {
	engine.Network
	hit Hit
}

func (n network) Send(to []engine.SiteID, l *engine.Letter) {
	thing := Tell
	if len(l.Parcels) > 0 {
		thing = Publish
	}
	_ = around(n.hit, thing, func() error { n.Network.Send(to, l); return nil }) // nobody hears of what is not sent
}

func (n network) Fetch(ctx context.Context, from engine.SiteID, document engine.DocumentID, ref engine.BlobRef, into engine.Incoming) error {
	return around(n.hit, Fetch, func() error { return n.Network.Fetch(ctx, from, document, ref, into) })
}

// Forwarder returns f with points around the requests that it hands on.
func (h Hit) Forwarder(f engine.Forwarder) engine.Forwarder { return forwarder{f, h} }

type forwarder struct {
	engine.Forwarder
	hit Hit
}

func (f forwarder) Forward(ctx context.Context, to engine.SiteID, r engine.Request) (a engine.Answer, err error) {
	err = around(f.hit, Forward, func() (err error) {
		a, err = f.Forwarder.Forward(ctx, to, r)
		return err
	})
	return a, err
}
