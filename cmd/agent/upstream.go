package agent

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/glue/openstack"
)

func kinds(c *glue.Catalog) []*engine.Kind {
	var all []*engine.Kind
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		all = append(all, c.Services[name].Kinds...)
	}
	return all
}

// NewClient returns what speaks to the services of a configuration, as the agent does. It opens no connection.
func NewClient(cfg Config, catalog *glue.Catalog, log *slog.Logger) (*glue.Client, error) {
	c := glue.ClientConfig{List: catalog.List, Owners: catalog.Owners, HeaderTimeout: cfg.Limits.AnswerTimeout}
	for name, s := range catalog.Services {
		u, err := upstream(name, cfg.Services[name], log)
		if err != nil {
			return nil, err
		}
		u.Kinds, u.Paths, u.Headers = s.Kinds, s.Paths, slices.Concat(s.Headers, cfg.Correlation.Headers)
		if h := cfg.Services[name].UserHeader; h != nil {
			u.UserHeader = glue.UserHeader(h.Name)
			u.Headers = append(slices.Clip(u.Headers), h.Name)
		}
		switch s.Glue {
		case glue.GlueKubernetes:
			u.Dialect = kubernetes.Dialect{}
			u.Headers = slices.Concat(u.Headers, kubernetes.Headers)
		case glue.GlueOpenStack:
			u.Refuser, u.Describes = openstack.Refuser{}, openstack.Describes
			u.Headers = slices.Concat(u.Headers, openstack.Headers)
			if address := cfg.Services[name].Keystone; address != "" {
				if u.Impersonator, err = keystone(address, u, cfg.Services[name].UpstreamTLS, log); err != nil {
					return nil, fmt.Errorf("the Keystone of service %s: %w", name, err)
				}
			}
		}
		c.Upstreams = append(c.Upstreams, u)
	}
	return glue.NewClient(c)
}

// upstream is what the configuration says of this site's instance of a service.
func upstream(name engine.ServiceName, service Service, log *slog.Logger) (glue.Upstream, error) {
	u := glue.Upstream{Service: name}
	var err error
	if u.URL, err = url.Parse(service.Upstream); err != nil {
		return u, fmt.Errorf("upstream of service %s: %w", name, err)
	}
	if t := service.UpstreamTLS; t != nil {
		if u.TLS, err = glue.UpstreamTLS(u.URL.Hostname(), t.CA, t.Cert, t.Key, t.InsecureSkipVerify, log); err != nil {
			return u, fmt.Errorf("upstream of service %s: %w", name, err)
		}
	}
	if f := service.FrontProxy; f != nil {
		var t UpstreamTLS
		if service.UpstreamTLS != nil {
			t = *service.UpstreamTLS
		}
		if u.Front, err = glue.UpstreamTLS(u.URL.Hostname(), t.CA, f.Cert, f.Key, t.InsecureSkipVerify, log); err != nil {
			return u, fmt.Errorf("front proxy of service %s: %w", name, err)
		}
	}
	if k := service.Credentials; k != nil && k.TokenFile != "" {
		u.Credentials = glue.FileCredentials("Authorization", "Bearer ", k.TokenFile)
	} else if k != nil {
		u.Credentials = glue.FileCredentials(k.Header, "", k.ValueFile)
	}
	return u, nil
}

// keystone is what knows who asks a service of OpenStack, and acts for whom.
func keystone(address string, u glue.Upstream, t *UpstreamTLS, log *slog.Logger) (glue.Impersonator, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy, transport.DisableKeepAlives = nil, true // it is asked seldom, and uWSGI ends what is kept without a word
	if t != nil && at.Scheme == "https" {
		if transport.TLSClientConfig, err = glue.UpstreamTLS(at.Hostname(), t.CA, t.Cert, t.Key, t.InsecureSkipVerify, log); err != nil {
			return nil, err
		}
	}
	agent := u.Credentials
	if agent == nil {
		agent = func() (http.Header, error) { return http.Header{}, nil }
	}
	return &openstack.Keystone{URL: at, Via: transport, Agent: agent, Now: time.Now}, nil
}
