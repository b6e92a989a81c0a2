package conform

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/testnet/process"
	agents "github.com/skerry/skerry/testnet/site"
)

// stopping is how long an agent has to end after SIGTERM, starting how long both have to be ready.
const (
	stopping = time.Minute
	starting = 5 * time.Minute
)

// site is one of the two: an agent, and the application behind it.
type site struct {
	name      string
	program   string
	config    agents.Config
	agent     *process.Process
	upstreams map[string]string
	// client asks the site's agent and, where it shows a certificate, its application.
	client *http.Client
	// told guards locals and known: pairs of operations are done side by side.
	told sync.Mutex
	// locals are what this site calls the objects of each kind, by what all sites call them.
	locals map[string]map[string]string
	// known and asks are what its agent said last of resources, and what it asks a person about them, by kind and identifier.
	known map[string]agents.Resource
	asks  map[string]string
}

// Config, Client, Launch and Ended make it an agent that a mesh is made of.
func (s *site) Config() *agents.Config { return &s.config }

func (s *site) Client() *agents.Client {
	return &agents.Client{Base: "http://" + s.config.API, HTTP: http.DefaultClient}
}

func (s *site) Launch() (err error) {
	s.agent, err = process.Start("the agent of "+s.name, s.config.Log(), s.program, "agent", "--config", s.config.File())
	return err
}

func (s *site) Ended() error { return s.agent.Ended() }

// start starts the two agents as one mesh.
func (r *run) start(ctx context.Context) error {
	r.Tell("starting two agents")
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	catalog := filepath.Join(r.Dir, "catalog.yaml")
	if err := os.WriteFile(catalog, r.Text, 0o600); err != nil {
		return fmt.Errorf("write the catalog: %w", err)
	}
	for i, name := range []string{First, Second} {
		ports, err := process.Ports(2 + len(r.Upstreams[i]))
		if err != nil {
			return err
		}
		client, err := trusting(r.TLS[i].Cert)
		if err != nil {
			return err
		}
		s := &site{name: name, program: [2]string{r.Program, cmp.Or(r.Other, r.Program)}[i], upstreams: r.Upstreams[i], client: client, locals: map[string]map[string]string{}, config: agents.Config{
			Name: name, Dir: filepath.Join(r.Dir, name), Catalog: catalog, API: address(ports[0]),
			Mesh: []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", ports[1])},
			// Each deletion is meant, however many a run has.
			Extra: "limits: {deletions: {number: 1000000, share: 100%}}\n",
		}}
		token, header, err := s.credentials(r.Header)
		if err != nil {
			return err
		}
		for j, service := range slices.Sorted(maps.Keys(s.upstreams)) {
			s.config.Services = append(s.config.Services, agents.Service{Name: service, Listen: address(ports[2+j]), Upstream: s.upstreams[service], UpstreamCA: r.TLS[i].Cert, TLS: [2]string{r.TLS[i].Cert, r.TLS[i].Key}, Token: token, Header: header})
		}
		r.sites[i] = s
	}
	return agents.Mesh(ctx, r.sites[:])
}

// trusting is a client that takes the certificates of an authority; an empty file names none beside those of the system.
func trusting(ca string) (*http.Client, error) {
	if ca == "" {
		return http.DefaultClient, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", ca)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	return &http.Client{Transport: t}, nil
}

// credentials writes what the agent asks its application with: the first of the headers that say who asks, which never travel; none without one.
func (s *site) credentials(all http.Header) (file, header string, err error) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		return !slices.Contains([]string{"Authorization", "Cookie", "X-Auth-Token", "X-Api-Key"}, name)
	})
	if len(names) == 0 {
		return "", "", nil
	}
	if err := os.MkdirAll(s.config.Dir, 0o700); err != nil {
		return "", "", err
	}
	file = filepath.Join(s.config.Dir, "credentials")
	return file, names[0], os.WriteFile(file, []byte(all.Get(names[0])), 0o600)
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// stop ends the agents.
func (r *run) stop() error {
	var errs []error
	for _, s := range r.sites {
		if s != nil && s.agent != nil && s.agent.Ended() == nil {
			errs = append(errs, s.agent.Stop(stopping))
		}
	}
	return errors.Join(errs...)
}

// cut ends all connections between the two, and returns when both have noticed.
func (r *run) cut(ctx context.Context) error {
	if err := r.sites[1].Client().Isolate(ctx, true); err != nil {
		return fmt.Errorf("cut %s off: %w", Second, err)
	}
	return r.until(ctx, "the agents notice the cut", func() error {
		for i, s := range r.sites {
			seen, err := s.Client().Sites(ctx)
			if err != nil {
				return err
			}
			other := r.sites[1-i].name
			if slices.ContainsFunc(seen, func(x agents.Seen) bool { return x.Name == other && x.Reachable }) {
				return fmt.Errorf("%s still reaches %s", s.name, other)
			}
		}
		return nil
	})
}

// heal ends the cut.
func (r *run) heal(ctx context.Context) error {
	if err := r.sites[1].Client().Isolate(ctx, false); err != nil {
		return fmt.Errorf("end the cut of %s: %w", Second, err)
	}
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	for i, s := range r.sites {
		if err := s.Client().Reach(ctx, []string{r.sites[1-i].name}, s.Ended); err != nil {
			return fmt.Errorf("after the cut: %w", err)
		}
	}
	return nil
}

// until asks until ok returns nil; what it returned last is the error when patience ends.
func (r *run) until(ctx context.Context, what string, ok func() error) error {
	return within(ctx, r.Patience, what, ok)
}

func within(ctx context.Context, patience time.Duration, what string, ok func() error) error {
	end := time.Now().Add(patience)
	for {
		err := ok()
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: not within %s: %w", what, patience, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// answer is what a request was answered with.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) fine() bool { return a.status >= 200 && a.status < 300 }

func (a answer) gone() bool { return a.status == http.StatusNotFound || a.status == http.StatusGone }

// excerpt is the beginning of an answer, in one line.
func (a answer) excerpt() string {
	text := strings.Join(strings.Fields(string(a.body)), " ")
	if len(text) > 160 {
		text = text[:160] + "…"
	}
	return strings.TrimSpace(fmt.Sprint(a.status, " ", text))
}

// request is one to an item, its collection, or below it.
type request struct {
	kind         *engine.Kind
	method, path string
	// id fills the path: that of the object, or of the container with nothing behind it.
	id     string
	header map[string]string
	body   []byte
	// below is what the path goes on with.
	below string
}

// through sends a request through the site's agent.
func (s *site) through(ctx context.Context, r *run, q request) (answer, error) {
	for _, service := range s.config.Services {
		if service.Name == string(q.kind.Service) {
			scheme := "http://"
			if service.TLS[0] != "" {
				scheme = "https://"
			}
			return s.send(ctx, r, scheme+service.Listen, q)
		}
	}
	return answer{}, fmt.Errorf("the service %s is not tried", q.kind.Service)
}

// direct sends a request to the site's application, past the agent.
func (s *site) direct(ctx context.Context, r *run, q request) (answer, error) {
	return s.send(ctx, r, strings.TrimSuffix(s.upstreams[string(q.kind.Service)], "/"), q)
}

func (s *site) send(ctx context.Context, r *run, base string, q request) (answer, error) {
	path, ok := glue.ExpandPath(q.path, q.id)
	if !ok {
		return answer{}, fmt.Errorf("no path can carry the identifier %q", q.id)
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Patience, starting))
	defer cancel()
	u, err := url.Parse(base + path + q.below)
	if err != nil {
		return answer{}, err
	}
	if strings.HasSuffix(q.header["Content-Type"], "json") && (q.path == q.kind.Collection || q.path == q.kind.Item && q.below == "") {
		q.body = glue.Bare(q.kind, q.body)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, u.String(), bytes.NewReader(q.body))
	if err != nil {
		return answer{}, err
	}
	maps.Copy(req.Header, r.Header)
	for name, value := range q.header {
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, body}, err
}

// scope names both sites for every service.
func (r *run) scope() string {
	var all []string
	for _, service := range slices.Sorted(maps.Keys(r.Upstreams[0])) {
		all = append(all, service+": "+First+" & "+Second)
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// hear asks the site's agent what it knows.
func (s *site) hear(ctx context.Context) error {
	all := map[string]agents.Resource{}
	for cursor := ""; ; {
		var page struct {
			Items []agents.Resource
			Next  string
		}
		if err := s.Client().Call(ctx, http.MethodGet, "/api/v1/resources?limit=1000&cursor="+url.QueryEscape(cursor), nil, &page); err != nil {
			return err
		}
		for _, x := range page.Items {
			all[x.Service+"/"+x.Kind+" "+x.ID] = x
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	s.told.Lock()
	defer s.told.Unlock()
	s.known = all
	for _, x := range all {
		if local := x.Sites[s.name].LocalID; local != "" {
			if s.locals[x.Service+"/"+x.Kind] == nil {
				s.locals[x.Service+"/"+x.Kind] = map[string]string{}
			}
			s.locals[x.Service+"/"+x.Kind][x.ID] = local
		}
	}
	return nil
}

// decisions asks the site's agent what waits for a person.
func (s *site) decisions(ctx context.Context) error {
	var list struct {
		Items []struct{ Service, Kind, Resource, About, Site, Reason string }
	}
	if err := s.Client().Call(ctx, http.MethodGet, "/api/v1/conflicts?limit=1000", nil, &list); err != nil {
		return err
	}
	s.asks = map[string]string{}
	for _, c := range list.Items {
		s.asks[c.Service+"/"+c.Kind+" "+c.Resource] = fmt.Sprintf("%s at %s: %s", c.About, c.Site, c.Reason)
	}
	return nil
}

// local is what the site calls an object.
func (s *site) local(o *object) string { return cmp.Or(s.own(o), o.id) }

// own is the identifier by which only this site knows an object, as far as its agent has told; empty: none.
func (s *site) own(o *object) string {
	s.told.Lock()
	defer s.told.Unlock()
	return s.locals[nameOf(o.kind)][o.id]
}

// common is what all sites call the object of a kind that this one knows by own; empty: it is not known.
func (s *site) common(kind, own string) string {
	s.told.Lock()
	defer s.told.Unlock()
	for id, local := range s.locals[kind] {
		if local == own {
			return id
		}
	}
	return ""
}

// shows is what the site's application shows of an object, nil for nothing.
func (s *site) shows(ctx context.Context, r *run, o *object) (*representation, error) {
	if o.id == "" {
		return nil, nil
	}
	if !o.kind.Natural() && s.own(o) == "" {
		if err := s.hear(ctx); err != nil {
			return nil, err
		}
	}
	a, err := s.direct(ctx, r, request{kind: o.kind, method: http.MethodGet, path: o.kind.Item, id: s.local(o), header: map[string]string{"Accept": "application/json, */*;q=0.1"}})
	switch {
	case err != nil:
		return nil, err
	case a.gone():
		return nil, nil
	case !a.fine():
		return nil, fmt.Errorf("GET %s at %s: %s", o.kind.Item, s.name, a.excerpt())
	}
	return s.read(o.kind, s.local(o), o.id, a.body), nil
}

// pretty is a value in one line.
func pretty(v json.RawMessage) string {
	text := string(v)
	if len(text) > 80 {
		text = text[:80] + "…"
	}
	return text
}
