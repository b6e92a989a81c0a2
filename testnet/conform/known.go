package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/testnet/apps/habits"
	"github.com/skerry/skerry/testnet/lab"
)

// Application is one that can be started here, twice.
type Application struct {
	Name string
	// Title and About are what its page says of it.
	Title, About string
	Catalog      []byte
	Bodies       map[string]Body
	Header       http.Header
	// Start starts an instance with its data in dir and returns the addresses of its services. Stop is called once, also where there is an
	// error, unless it is nil.
	Start func(ctx context.Context, dir string) (upstreams map[string]string, stop func() error, err error)
	// Patience is that of its run; 0: a minute.
	Patience time.Duration
	// Found adds what is known once both instances run, with their data in dirs; nil: nothing.
	Found func(ctx context.Context, c *Conformance, dirs [2]string) error
}

// Applications are those that can be started here, in the order of their pages.
var Applications = slices.Concat([]*Application{&Lab}, withHabits(), []*Application{&pocketBase, &jsonServer, &couchDB, &gitea, &vault, &glance, &keystone, &cinder, &neutron, &Kubernetes})

// withHabits are small applications, each with habits of real ones.
func withHabits() (all []*Application) {
	for _, k := range habits.All {
		all = append(all, WithHabits(k))
	}
	return all
}

// WithHabits is one of them.
func WithHabits(k habits.Known) *Application {
	a := &Application{Name: k.Name, Title: k.Name, About: k.About, Catalog: k.Catalog(), Bodies: map[string]Body{}, Header: http.Header{}}
	for of, text := range k.Bodies {
		a.Bodies[of] = Body{Media: k.Media, Text: []byte(text)}
	}
	if k.Header[0] != "" {
		a.Header.Set(k.Header[0], k.Header[1])
	}
	a.Start = func(ctx context.Context, _ string) (map[string]string, func() error, error) {
		return Serve(ctx, map[string]http.Handler{k.Service: habits.New(k.Habits)})
	}
	return a
}

// Lab is the demo application.
var Lab = Application{
	Name: "lab", Title: "lab", About: "The demo application of this project, an ordinary REST application with merge patches, JSON patches, counters and actions.",
	Catalog: lab.Catalog,
	Bodies: map[string]Body{
		"images/image":     {Text: []byte(`{"name":"debian","description":"12","tags":["a","b","c"]}`)},
		"networks/network": {Text: []byte(`{"name":"blue","mtu":1500,"tags":["a","b","c"]}`)},
		"networks/port":    {Text: []byte(`{"name":"front","device":"eth0","tags":["a","b","c"]}`)},
		"servers/server":   {Text: []byte(`{"name":"web","note":"first","tags":["a","b","c"]}`)},
		"servers/key":      {Text: []byte(`{"public":"ssh-ed25519 A","note":"first","tags":["a","b","c"]}`)},
		"servers/use":      {Text: []byte(`{"name":"login","note":"first","tags":["a","b","c"]}`)},
	},
	Start: startLab,
}

func startLab(ctx context.Context, dir string) (map[string]string, func() error, error) {
	var made atomic.Pointer[lab.Lab] // once the addresses are known, by which it finds itself
	service := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { made.Load().Service(name).ServeHTTP(w, r) })
	}
	upstreams, stop, err := Serve(ctx, map[string]http.Handler{lab.Images: service(lab.Images), lab.Networks: service(lab.Networks), lab.Servers: service(lab.Servers)})
	if err != nil {
		return nil, stop, err
	}
	l, err := lab.New(lab.Config{Data: dir, Images: upstreams[lab.Images]})
	if err != nil {
		return nil, stop, err
	}
	made.Store(l)
	return upstreams, func() error { return errors.Join(stop(), l.Close()) }, nil
}

// Serve serves handlers at addresses of their own until stop is called.
func Serve(ctx context.Context, handlers map[string]http.Handler) (upstreams map[string]string, stop func() error, err error) {
	upstreams = map[string]string{}
	var servers []*http.Server
	done := make(chan error, len(handlers))
	stop = func() error {
		var errs []error
		for _, s := range servers {
			errs = append(errs, s.Close())
			if err := <-done; !errors.Is(err, http.ErrServerClosed) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}
	for name, h := range handlers {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, stop, err
		}
		s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
		servers = append(servers, s)
		go func() { done <- s.Serve(l) }()
		upstreams[name] = "http://" + l.Addr().String()
	}
	return upstreams, stop, nil
}

// Conformance starts two instances of the application, has them tried in dir, and ends them.
func (a *Application) Conformance(ctx context.Context, program, dir string, adapt func(*Conformance)) (report Report, err error) {
	catalog, err := glue.ParseCatalog(a.Name+".yaml", a.Catalog)
	if err != nil {
		return report, err
	}
	c := &Conformance{Program: program, Dir: dir, Catalog: catalog, Text: a.Catalog, Bodies: a.Bodies, Header: a.Header, Patience: cmp.Or(a.Patience, time.Minute)}
	for _, name := range slices.Sorted(maps.Keys(catalog.Services)) {
		c.Kinds = append(c.Kinds, catalog.Services[name].Kinds...)
	}
	var dirs [2]string
	for i, name := range []string{First, Second} {
		data := filepath.Join(dir, a.Name+"-"+name)
		if err := os.MkdirAll(data, 0o700); err != nil {
			return report, err
		}
		upstreams, stop, err := a.Start(ctx, data)
		if stop != nil {
			defer func() { err = errors.Join(err, stop()) }()
		}
		if err != nil {
			return report, fmt.Errorf("start %s at %s: %w", a.Name, name, err)
		}
		c.Upstreams[i], dirs[i] = upstreams, data
	}
	if a.Found != nil {
		if err := a.Found(ctx, c, dirs); err != nil {
			return report, fmt.Errorf("ask %s what it has: %w", a.Name, err)
		}
	}
	if adapt != nil {
		adapt(c)
	}
	return c.Run(ctx)
}
