package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/draft"
	"github.com/skerry/skerry/web/shape"
)

// maxRedirects bounds how often a request for it is sent elsewhere.
const maxRedirects = 5

// maxDescription bounds what an application says of itself.
const maxDescription = 64 << 20

// usual are the paths at which applications tell what they are.
var usual = []string{"/openapi.yaml", "/openapi.json", "/swagger.json", "/v3/api-docs", "/api/openapi.json", "/api/v1/openapi.json",
	"/swagger/v1/swagger.json", "/api-docs", "/docs/openapi.json"}

// FromOpenAPI drafts a catalog from an OpenAPI document, in a file or at an address. The application is where the document is, unless its
// upstream is named.
func FromOpenAPI(ctx context.Context, source string, o Options) (Front, error) {
	if address, ok := web(source); ok {
		if o.Offline {
			return Front{}, errors.New("--offline asks nobody: give --openapi a file, or --upstream alone")
		}
		if o.Upstreams[""] == "" && o.Upstreams[o.Service] == "" {
			o.Upstreams = map[string]string{"": address.Scheme + "://" + address.Host}
		}
	}
	text, err := Description(ctx, source, o)
	if err != nil {
		return Front{}, err
	}
	return drafted(source, text, o)
}

// FromAddress asks an application at the usual places for its OpenAPI document. Without one its catalog has no kinds: requests pass, and a person
// has to say what is replicated.
func FromAddress(ctx context.Context, address string, o Options) (Front, error) {
	u, ok := web(address)
	if !ok {
		return Front{}, fmt.Errorf("%q is no address of an application: give a URL such as http://127.0.0.1:9801", address)
	}
	o.Upstreams = map[string]string{"": u.Scheme + "://" + u.Host}
	var told []string
	if !o.Offline {
		candidates := usual
		if strings.Trim(u.Path, "/") != "" {
			candidates = []string{u.Path}
		}
		told = []string{"no OpenAPI document at " + address}
		for _, path := range candidates {
			at := u.Scheme + "://" + u.Host + path
			if text, err := fetch(ctx, at, o); err == nil {
				if f, err := drafted(at, text, o); err == nil {
					return f, nil
				}
			}
		}
	}
	application, service := orElse(o.Application, "application"), orElse(o.Service, "application")
	f := Front{Catalog: fmt.Appendf(nil, bareCatalog, application, service),
		Told: told,
		Next: []string{"say in catalog.yaml which kinds of resources it has (docs/catalog.md): until then requests pass, and nothing is replicated"}}
	return f.placed(o)
}

const bareCatalog = `# What the application is made of, the same file at every site.
application: %q
services:
  %q:
    kinds: {} # DECIDE: until kinds are listed here requests are forwarded, and nothing is replicated. One looks so:
    # kinds:
    #   image:
    #     collection: /images               # POST creates, GET lists
    #     item: /images/{id}
    #     id: {from: body, at: /id}         # the application assigns it; {from: path}: clients choose it
`

// Description is what an application says of itself, in a file or at an address, up to 64 MiB. An address has twenty seconds to answer. It may redirect,
// five times at most, and to itself alone: the same scheme, host and port. The token of the options is shown to it.
func Description(ctx context.Context, source string, o Options) ([]byte, error) {
	read := func() ([]byte, error) { return os.ReadFile(source) }
	if _, ok := web(source); ok {
		read = func() ([]byte, error) { return fetch(ctx, source, o) }
	}
	b, err := read()
	if err != nil {
		return nil, fmt.Errorf("read the application's description: %w", err)
	}
	return b, nil
}

func drafted(source string, text []byte, o Options) (Front, error) {
	d, err := draft.From(text, draft.Options{Application: o.Application, Service: o.Service})
	if err != nil {
		return Front{}, fmt.Errorf("%s: %w", source, err)
	}
	f := Front{Catalog: d.YAML, Told: []string{fmt.Sprintf("an OpenAPI document at %s, with %s", source, shape.Count(d.Kinds, "kind", "kinds"))}}
	if n := strings.Count(string(d.YAML), "DECIDE"); n > 0 {
		f.Next = []string{fmt.Sprintf("look at the %d lines of catalog.yaml that say DECIDE", n)}
	}
	return f.placed(o)
}

// placed gives the only service its upstream.
func (f Front) placed(o Options) (Front, error) {
	c, err := glue.ParseCatalog("the catalog", f.Catalog)
	if err != nil {
		return Front{}, err
	}
	return f, f.place(c, o)
}

func fetch(ctx context.Context, address string, o Options) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	f, s := Front{}, Service{CA: o.CA, Token: o.Token}
	if r.Header, err = f.credentials(s); err != nil {
		return nil, err
	}
	t, err := f.transport(s)
	if err != nil {
		return nil, err
	}
	defer t.CloseIdleConnections()
	// What it shows of itself, such as a token, is for this application alone.
	c := http.Client{Transport: t, CheckRedirect: func(to *http.Request, before []*http.Request) error {
		if to.URL.Host != r.URL.Host || to.URL.Scheme != r.URL.Scheme {
			return fmt.Errorf("it sends to another application: give %s itself, if you trust that", to.URL)
		}
		if len(before) > maxRedirects {
			return fmt.Errorf("it sends elsewhere more than %d times", maxRedirects)
		}
		return nil
	}}
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, resp.Status)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxDescription+1))
	if len(b) > maxDescription {
		return nil, fmt.Errorf("%s is larger than 64 MiB", address)
	}
	return b, err
}

// web reports whether a text is an address of the web.
func web(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	return u, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
