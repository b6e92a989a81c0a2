package setup

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// asking bounds one question to an application.
const asking = 20 * time.Second

// Front is an application that an agent is to stand in front of.
type Front struct {
	// Catalog is its description. Given says that it comes from a file of the person's own, to be copied as it is.
	Catalog []byte
	Given   bool
	// Services are those of the catalog, in its names' order.
	Services []Service
	// Files are what else is written beside the configuration, by name: certificates and tokens. They are secrets.
	Files map[string][]byte
	// Told is what was found out, Next what the person has to look after, a line each.
	Told, Next []string
}

// Service is one service of it.
type Service struct {
	Name     engine.ServiceName
	Upstream string
	// CA names the file of the authorities that its certificate is checked with; empty: the system's.
	CA string
	// Header and Value name a header and the file of its value, Token the file of a bearer token, with which the agent shows who it is.
	Header, Value, Token string
	// TLS says that the agent's listener for it has to speak HTTPS.
	TLS bool
}

// Options are what a person says of an application beside where it is.
type Options struct {
	// Application and Service are the names that a drafted catalog gives. Empty: made from what is found.
	Application, Service string
	// Upstreams are the addresses of services, that of the only one under the empty name.
	Upstreams map[string]string
	// CA is a file of authorities, in PEM, for upstreams of HTTPS; Token a file with the agent's own token there. Empty: none.
	CA, Token string
	// Offline says that nobody is asked.
	Offline bool
}

// FromCatalog has a catalog that is there already, the one of the other sites.
func FromCatalog(path string, text []byte, o Options) (Front, error) {
	c, err := glue.ParseCatalog(path, text)
	if err != nil {
		return Front{}, err
	}
	f := Front{Catalog: text, Given: true, Told: []string{fmt.Sprintf("the catalog of %s, with %d services", c.Application, len(c.Services))}}
	if err := f.place(c, o); err != nil {
		return Front{}, err
	}
	return f, nil
}

// place gives each service of the catalog its upstream.
func (f *Front) place(c *glue.Catalog, o Options) error {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		address := o.Upstreams[string(name)]
		if address == "" && len(c.Services) == 1 {
			address = o.Upstreams[""]
		}
		if address == "" {
			missing = append(missing, fmt.Sprintf("--upstream %s=URL", name))
			continue
		}
		f.Services = append(f.Services, Service{Name: name, Upstream: address, CA: o.CA, Token: o.Token, TLS: c.Services[name].Glue == glue.GlueKubernetes})
	}
	if len(missing) > 0 {
		return fmt.Errorf("where is the application? give %s", strings.Join(missing, ", "))
	}
	return nil
}

// Check asks each service, and returns what is wrong with the first that does not do what its catalog says. Extra files are not written yet,
// so credentials are asked for by value.
func (f *Front) Check(ctx context.Context) error {
	c, err := glue.ParseCatalog("the catalog", f.Catalog)
	if err != nil {
		return err
	}
	for _, s := range f.Services {
		told, err := f.ask(ctx, c, s)
		if err != nil {
			return fmt.Errorf("%s at %s: %w", s.Name, s.Upstream, err)
		}
		f.Told = append(f.Told, fmt.Sprintf("%s at %s, which answers%s", s.Name, s.Upstream, told))
	}
	return nil
}

// Unasked says of each service that nobody has asked it, in place of Check.
func (f *Front) Unasked() {
	for _, s := range f.Services {
		f.Told = append(f.Told, fmt.Sprintf("%s at %s, which nobody has asked", s.Name, s.Upstream))
	}
	f.Next = append(f.Next, "whether it answers, and is what the catalog says, is not known (--offline): start it before \"skerry catalog try\"")
}

func (f *Front) ask(ctx context.Context, c *glue.Catalog, s Service) (told string, err error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	u, err := url.Parse(s.Upstream)
	if err != nil {
		return "", err
	}
	t, err := f.transport(s)
	if err != nil {
		return "", err
	}
	defer t.CloseIdleConnections()
	described := c.Services[s.Name]
	if described.Glue == glue.GlueKubernetes {
		return f.askCluster(ctx, s, u, t)
	}
	path := "/"
	for _, k := range described.Kinds {
		if k.Within == "" {
			path = k.Collection
			break
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath(path).String(), nil)
	if err != nil {
		return "", err
	}
	if r.Header, err = f.credentials(s); err != nil {
		return "", err
	}
	resp, err := t.RoundTrip(r)
	if err != nil {
		return "", fmt.Errorf("it does not answer; see whether it runs and the address is right, or add --offline: %w", err)
	}
	resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		if s.Token == "" && s.Value == "" {
			f.Next = append(f.Next, fmt.Sprintf("%s asks who you are (%d): what other sites do here needs an account of the agent's own (--agent-token, or credentials in the configuration)", s.Name, resp.StatusCode))
			return "", nil
		}
		return "", fmt.Errorf("it does not let the agent in with the credentials that it was given (%d)", resp.StatusCode)
	case resp.StatusCode == http.StatusNotFound && path != "/":
		f.Next = append(f.Next, fmt.Sprintf("%s has nothing at %s (404), where the catalog says a collection is: correct one of the two", s.Name, path))
	case resp.StatusCode >= http.StatusInternalServerError:
		return "", fmt.Errorf("it answers GET %s with %d; see what is wrong with it, or add --offline", path, resp.StatusCode)
	}
	return "", nil
}
