package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// scopeProxy adds a scope to requests, and has each come after what the command has written before. It listens on loopback, for one command's
// lifetime: on one port as an HTTP proxy, and on one for each service, as if it were that service.
type scopeProxy struct {
	scope string
	url   string // of the proxy
	// tunnels is the address of a proxy that adds nothing, for clients whose requests have the scope already. scoped is that of one for such
	// clients that stands in for services, and adds what is to come after what.
	tunnels, scoped string
	// reaches says how such a service is reached by who trusts what these clients trust, by host and port.
	reaches map[string]http.RoundTripper
	bases   map[string]string // of services, by name
	// listeners are those of the services; what is sent elsewhere gets no scope.
	listeners listeners
	transport *http.Transport
	servers   []*http.Server
	written   written
	// stand is for services of HTTPS; nil: there are none.
	stand *stand
	// next finds the proxy that the command would have used for what is no service; nil: none.
	next func(*url.URL) (*url.URL, error)
	// running ends with the proxy.
	running context.Context
	end     context.CancelFunc
}

// written is what the answers to a command's writes have said of what is to come after them. It is safe for concurrent use.
type written struct {
	mu   sync.Mutex
	last []wrote // the newest last
}

type wrote struct{ resource, after string }

// mostWritten is for how many resources it is carried along; who has written more, has done so longer ago.
const mostWritten = 16

// hear takes in an answer.
func (w *written) hear(h http.Header) {
	n := wrote{h.Get("Skerry-Resource"), h.Get("Skerry-After")}
	if n.after == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = append(slices.DeleteFunc(w.last, func(o wrote) bool { return o.resource == n.resource }), n)
	w.last = w.last[max(0, len(w.last)-mostWritten):]
}

// say is what the next request sends back, empty for nothing.
func (w *written) say() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := make([]string, len(w.last))
	for i, o := range w.last {
		texts[i] = o.after
	}
	return strings.Join(texts, ", ")
}

// established is what a proxy says before it passes bytes.
const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// reachedAt returns where a listener is reached from here. One that listens everywhere, on all addresses, is at that of the agent's API.
func reachedAt(listener, api string) (address string, everywhere bool, err error) {
	u, err := url.Parse(listener)
	if err != nil || u.Host == "" {
		return "", false, fmt.Errorf("the agent says that a service listens at %q, which is no address", listener)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "" || ip != nil && ip.IsUnspecified() {
		everywhere = true
		a, err := url.Parse(api)
		if err != nil {
			return "", false, err
		}
		u.Host = net.JoinHostPort(a.Hostname(), u.Port())
	}
	return u.String(), everywhere, nil
}

// startProxy starts one; like says whom the agent's API is trusted by, and so the services' listeners.
// env is what the command's environment would be without it.
func startProxy(ctx context.Context, scope string, services []service, like *http.Transport, env []string) (*scopeProxy, error) {
	transport := like.Clone()
	transport.ResponseHeaderTimeout, transport.DisableCompression = 0, true // bytes pass as they are, whenever they come
	x := &scopeProxy{scope: scope, bases: map[string]string{}, transport: transport, next: proxies(env)}
	var err error
	if x.listeners, err = newListeners(ctx, services); err != nil {
		return nil, fmt.Errorf("find out where services listen: %w", err)
	}
	if slices.ContainsFunc(services, func(s service) bool { return strings.HasPrefix(s.URL, "https:") }) {
		if x.stand, err = newStand(time.Now()); err != nil {
			return nil, fmt.Errorf("stand in for services of HTTPS: %w", err)
		}
	}
	x.running, x.end = context.WithCancel(ctx)
	if x.url, err = x.listen(ctx, http.HandlerFunc(x.proxy)); err != nil {
		return nil, err
	}
	if x.tunnels, err = x.listen(ctx, http.HandlerFunc(x.tunnel)); err != nil {
		x.close()
		return nil, err
	}
	if x.scoped, err = x.listen(ctx, http.HandlerFunc(x.withScope)); err != nil {
		x.close()
		return nil, err
	}
	for _, s := range services {
		u, err := url.Parse(s.URL)
		if err == nil {
			x.bases[s.Name], err = x.listen(ctx, x.to(u, x.known(s), x.scope))
		}
		if err != nil {
			x.close()
			return nil, err
		}
	}
	return x, nil
}

// known is how a service is reached at the address that the agent tells: by whom its certificate is for, as the agent tells as well.
func (x *scopeProxy) known(s service) http.RoundTripper {
	if s.ServerName == "" {
		return x.transport
	}
	t := x.transport.Clone()
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.TLSClientConfig.ServerName = s.ServerName
	return t
}

// listen serves h on a port of its own and returns its address.
func (x *scopeProxy) listen(ctx context.Context, h http.Handler) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the command's requests: %w", err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	x.servers = append(x.servers, s)
	go func() { _ = s.Serve(l) }() // until close
	return "http://" + l.Addr().String(), nil
}

// proxies finds the proxies that an environment names.
func proxies(env []string) func(*url.URL) (*url.URL, error) {
	get := func(name string) string {
		for _, e := range slices.Backward(env) {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				return v
			}
		}
		return ""
	}
	c := httpproxy.Config{HTTPSProxy: cmp.Or(get("https_proxy"), get("HTTPS_PROXY")), NoProxy: cmp.Or(get("no_proxy"), get("NO_PROXY"))}
	return c.ProxyFunc()
}

func (x *scopeProxy) close() {
	x.end()
	for _, s := range x.servers {
		s.Close()
	}
}

// proxy takes requests as an HTTP proxy.
func (x *scopeProxy) proxy(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect && x.stand != nil && x.listeners.has(r.Context(), r.Host):
		x.inside(w, r, x.to(&url.URL{Scheme: "https", Host: r.Host}, x.transport, x.scope))
	case r.Method == http.MethodConnect:
		x.tunnel(w, r)
	case !r.URL.IsAbs():
		http.Error(w, "skerry exec: this is an HTTP proxy; the base URL of a service is {url:NAME}", http.StatusBadRequest)
	default:
		x.to(r.URL, x.transport, x.scope).ServeHTTP(w, r)
	}
}

// withScope takes requests that have their scope, as an HTTP proxy.
func (x *scopeProxy) withScope(w http.ResponseWriter, r *http.Request) {
	via, ok := x.reaches[strings.ToLower(r.Host)]
	if r.Method != http.MethodConnect || !ok {
		http.Error(w, "skerry exec: this proxy is for this site's clusters alone", http.StatusBadRequest)
		return
	}
	x.inside(w, r, x.to(&url.URL{Scheme: "https", Host: r.Host}, via, ""))
}

// trusts has a server, whose certificate is for certified (empty: for its address), reached by who trusts these authorities, in PEM; none: the system's.
func (x *scopeProxy) trusts(server, certified string, ca []byte) {
	u, err := url.Parse(server)
	if err != nil {
		return // it was understood before
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = func(r *http.Request) (*url.URL, error) { return x.next(r.URL) }
	t.DisableCompression, t.ForceAttemptHTTP2, t.TLSClientConfig = true, false, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: certified}
	if len(ca) > 0 {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		t.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca)
	}
	if x.reaches == nil {
		x.reaches = map[string]http.RoundTripper{}
	}
	x.reaches[hostPort(u)] = t
}

// to passes requests on to a service, or to wherever else they go, streaming both ways; an empty scope adds none.
func (x *scopeProxy) to(base *url.URL, via http.RoundTripper, scope string) http.Handler {
	ours := x.listeners.has(x.running, hostPort(base))
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     via,
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = base.Scheme, base.Host
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if values, ok := r.In.Header[name]; ok {
					r.Out.Header[name] = values
				}
			}
			r.Out.Host = r.In.Host
			if !r.In.URL.IsAbs() { // it took the proxy for the service
				r.Out.Host = base.Host
			}
			if after := x.written.say(); ours && after != "" && r.In.Header.Get("Skerry-After") == "" {
				r.Out.Header.Set("Skerry-After", after)
			}
			if ours && scope != "" && r.In.Header.Get("Scope") == "" && r.In.Header.Get("X-Scope") == "" {
				r.Out.Header.Set("Scope", scope)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if ours {
				x.written.hear(r.Header)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			http.Error(w, fmt.Sprintf("skerry exec: %s does not answer: %v", base.Host, err), http.StatusBadGateway)
		},
	}
}

// hostPort returns host and port of an address, the port also where it is the usual one.
func hostPort(u *url.URL) string {
	port := "80"
	if strings.EqualFold(u.Scheme, "https") {
		port = "443"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), port))
}

// tunnel passes bytes both ways, and looks into none.
func (x *scopeProxy) tunnel(w http.ResponseWriter, r *http.Request) {
	there, err := x.through(r.Context(), r.Host)
	if err != nil {
		http.Error(w, "skerry exec: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "skerry exec: "+err.Error(), http.StatusInternalServerError)
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, established); err != nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(there, buffered) // either end closes
		if half, ok := there.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	_, _ = io.Copy(here, there)
	here.Close()
	<-ended
}
