package agent

import (
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/strictyaml"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/meter"
)

// notYet is why keys that configurations of other versions have are refused.
const notYet = "not available in this version"

// readVersion reads what people call a version.
func readVersion(v strictyaml.Value) string {
	if !v.Present() {
		return ""
	}
	s := v.Text()
	if len(s) > 64 || strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) {
		v.Problem("a version has at most 64 bytes, all of them printable")
	}
	return s
}

// configReader fills a configuration. Problems go to the document that is read.
type configReader struct {
	folder    string // of the file
	config    Config
	listeners []listener
}

func (r *configReader) read(v strictyaml.Value) {
	m := v.Mapping("configuration")
	r.config.Accept = r.accepted(m.Optional("accept"))
	r.config.Site = readSite(m.Required("site"))
	r.config.DataDir = r.path(m.Required("data_dir"))
	r.config.EncryptionKey = r.path(m.Optional("encryption_key"))
	r.config.Application = r.file(m.Required("application"))
	r.config.ApplicationVersion = readVersion(m.Optional("application_version"))

	r.api(m.Optional("api"))

	r.mesh(m.Optional("mesh"))

	services := m.Required("services")
	r.config.places.all = placeOf(m.Key("services"))
	for _, e := range services.Mapping("list of services").Entries() {
		name := engine.ServiceName(e.Key)
		r.config.places.services[name] = placeOf(e.At)
		r.config.Services[name] = r.service(e.Key, e.Value)
	}

	limits := m.Optional("limits").Mapping("list of limits")
	if v := limits.Optional("body"); v.Present() {
		if r.config.Limits.Body = v.Size(); r.config.Limits.Body > engine.MaxBlob {
			v.Problem("no body can have more than %s", engine.Bytes(engine.MaxBlob))
		}
	}
	if v := limits.Optional("answer_timeout"); v.Present() {
		r.config.Limits.AnswerTimeout = v.Duration()
	}
	if v := limits.Optional("ask_timeout"); v.Present() {
		r.config.Limits.AskTimeout = v.Duration()
	}
	if v := limits.Optional("clock_skew"); v.Present() {
		r.config.Limits.ClockSkew = v.Duration()
	}
	r.bounds(limits)
	if v := limits.Optional("deletions"); v.Present() {
		r.deletions(v)
	}
	if v := limits.Optional("operations"); v.Present() {
		r.operations(v)
	}
	limits.Done()

	looks := m.Optional("looks").Mapping("configuration of looks")
	if v := looks.Optional("after"); v.Present() {
		r.config.Looks.After = v.Duration()
	}
	if v := looks.Optional("every"); v.Present() {
		r.config.Looks.Every = v.Duration()
	}
	looks.Done()

	r.correlation(m.Optional("correlation"))

	log := m.Optional("log").Mapping("configuration of the log")
	if v := log.Optional("level"); v.Present() {
		r.config.Log.Level = levels[v.Choice("debug", "info", "warn", "error")]
	}
	if v := log.Optional("format"); v.Present() {
		r.config.Log.JSON = v.Choice("text", "json") == "json"
	}
	log.Done()
	if v := m.Optional("access_log"); v.Present() {
		r.accessLog(v.Mapping("configuration of the access log"))
	}
	if v := m.Optional("traces"); v.Present() {
		r.traces(v.Mapping("configuration of traces"))
	}
	m.Done()
}

func (r *configReader) accessLog(m *strictyaml.Mapping) {
	l := &AccessLog{Format: meter.JSON, One: 1}
	if v := m.Required("file"); v.Present() {
		if l.File = v.Text(); l.File != "-" {
			l.File = r.path(v)
		}
	}
	if v := m.Optional("format"); v.Present() {
		l.Format = meter.Format(v.Choice(string(meter.JSON), string(meter.Common)))
	}
	if v := m.Optional("one_of"); v.Present() {
		l.One = v.Count()
	}
	m.Done()
	r.config.AccessLog = l
}

func (r *configReader) correlation(v strictyaml.Value) {
	m, c := v.Mapping("configuration of correlation"), &r.config.Correlation
	if v := m.Optional("headers"); v.Present() {
		c.Headers = []string{}
		for _, e := range v.Sequence() {
			name := e.Text()
			if name != "" && !httpguts.ValidHeaderFieldName(name) {
				e.Problem("%q is no name of a header", name)
			}
			c.Headers = append(c.Headers, name)
		}
	}
	if v := m.Optional("ttl"); v.Present() {
		c.TTL = v.Duration()
	}
	m.Done()
}

// bounds reads what bounds clients.
func (r *configReader) bounds(m *strictyaml.Mapping) {
	l := &r.config.Limits
	for name, to := range map[string]*time.Duration{"head_timeout": &l.HeadTimeout, "idle": &l.Idle, "body_stall": &l.BodyStall} {
		if v := m.Optional(name); v.Present() {
			*to = v.Duration()
		}
	}
	if v := m.Optional("head"); v.Present() {
		if l.Head = v.Size(); l.Head < 4<<10 || l.Head > 16<<20 {
			v.Problem("expected from 4KiB to 16MiB")
		}
	}
	if v := m.Optional("bodies"); v.Present() {
		if l.Bodies = v.Size(); l.Bodies < 8<<20 {
			v.Problem("expected at least 8MiB")
		}
	}
	count := func(m *strictyaml.Mapping, name string, to *int) {
		if v := m.Optional(name); v.Present() {
			*to = v.Count()
		}
	}
	c := m.Optional("connections").Mapping("bound on connections")
	count(c, "all", &l.Connections.All)
	count(c, "client", &l.Connections.Client)
	c.Done()
	s := m.Optional("streams").Mapping("bound on streams")
	count(s, "all", &l.Streams.All)
	count(s, "viewer", &l.Streams.Viewer)
	s.Done()
	r.members(m.Optional("members").Mapping("bound on members"))
	k := m.Optional("kept").Mapping("bound on what is kept")
	for name, to := range map[string]*Room{"all": &l.Kept.All, "caller": &l.Kept.Caller, "anonymous": &l.Kept.Anonymous} {
		room := k.Optional(name).Mapping("bound on what is kept")
		count(room, "number", &to.Number)
		if v := room.Optional("bytes"); v.Present() {
			to.Bytes = v.Size()
		}
		room.Done()
	}
	k.Done()
}

func (r *configReader) deletions(v strictyaml.Value) {
	m, d := v.Mapping("bound on deletions"), &r.config.Limits.Deletions
	if v := m.Optional("late"); v.Present() {
		d.Late = v.Duration()
	}
	if v := m.Optional("number"); v.Present() {
		d.Number = v.Count()
	}
	if v := m.Optional("share"); v.Present() {
		d.Share = v.Percent()
	}
	if v := m.Optional("window"); v.Present() {
		d.Window = v.Duration()
	}
	m.Done()
}

func (r *configReader) operations(v strictyaml.Value) {
	m, o := v.Mapping("bound on operations"), &r.config.Limits.Operations
	if v := m.Optional("keep"); v.Present() {
		o.Keep = v.Duration()
	}
	if v := m.Optional("number"); v.Present() {
		o.Number = v.Count()
	}
	m.Done()
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

func (r *configReader) mesh(v strictyaml.Value) {
	m := v.Mapping("configuration of the mesh")
	if v := m.Optional("listen"); v.Present() {
		r.config.Mesh.Listen = nil
		for _, e := range v.Sequence() {
			r.config.Mesh.Listen = append(r.config.Mesh.Listen, readMeshListen(e))
		}
		if v.IsSequence() && len(r.config.Mesh.Listen) == 0 {
			v.Problem("without an address no other site reaches this one")
		}
	}
	m.Exclusive("join", "join_file")
	if v := m.Optional("join"); v.Present() {
		if r.config.Mesh.Join = v.Text(); r.config.Mesh.Join != "" && !strings.HasPrefix(r.config.Mesh.Join, "skr1:") {
			// The text itself may be a secret in the wrong place.
			v.Problem("expected an invitation, which begins with skr1:")
		}
	}
	// The file is not looked at: it is needed once, and may be gone after.
	r.config.Mesh.JoinFile = r.path(m.Optional("join_file"))
	for _, e := range m.Optional("peers").Sequence() {
		r.config.Mesh.Peers = append(r.config.Mesh.Peers, readPeer(e))
	}
	for _, e := range m.Optional("announce").Sequence() {
		r.config.Mesh.Announce = append(r.config.Mesh.Announce, readAnnounce(e))
	}
	if v := m.Optional("relay"); v.Present() {
		r.config.Mesh.Relay = v.Bool()
	}
	m.Done()
}

func (r *configReader) service(name string, v strictyaml.Value) Service {
	var s Service
	m := v.Mapping("service")
	listen, upstream := m.Required("listen"), m.Required("upstream")
	s.Listen = readListen(listen)
	r.listen("services."+name+".listen", listen, s.Listen)
	u := readUpstream(upstream)
	if u != nil {
		s.Upstream = u.String()
		if sameAddress(u.Host, s.Listen) {
			upstream.Problem("the upstream %s is the agent's own listener: requests would go round", s.Upstream)
		}
	}

	s.TLS = r.listenerTLS(m.Optional("tls"))
	if v := m.Optional("upstream_tls"); v.Present() {
		t := v.Mapping("configuration of TLS")
		t.Together("cert", "key")
		s.UpstreamTLS = &UpstreamTLS{
			CA: r.file(t.Optional("ca")), Cert: r.file(t.Optional("cert")), Key: r.file(t.Optional("key")),
			InsecureSkipVerify: t.Optional("insecure_skip_verify").Bool()}
		if s.UpstreamTLS.InsecureSkipVerify {
			t.Exclusive("ca", "insecure_skip_verify")
		}
		t.Done()
		if u != nil && u.Scheme != "https" {
			m.Key("upstream_tls").Problem("the upstream %s has no TLS; it would have with https", s.Upstream)
		}
	}
	s.TrustedProxies = readProxies(m.Optional("trusted_proxies"))
	if v := m.Optional("front_proxy"); v.Present() {
		s.FrontProxy = r.frontProxy(v)
	}
	if v := m.Optional("user_header"); v.Present() {
		s.UserHeader = readUserHeader(v)
	}
	if v := m.Optional("keystone"); v.Present() {
		s.Keystone = readKeystone(v)
	}
	if v := m.Optional("credentials"); v.Present() {
		s.Credentials = r.credentials(v)
	}
	m.Done()
	return s
}

// readKeystone reads the address of Keystone's API, without a slash at its end.
func readKeystone(v strictyaml.Value) string {
	text := strings.TrimSuffix(v.Text(), "/")
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !strings.HasSuffix(u.Path, "/v3") || u.RawQuery+u.Fragment != "" || u.User != nil {
		v.Problem("%q is no address of Keystone's API, such as http://192.0.2.10:5000/v3", text)
	}
	return text
}

// listenerTLS returns nil when there is none.
func (r *configReader) listenerTLS(v strictyaml.Value) *ListenerTLS {
	if !v.Present() {
		return nil
	}
	t := v.Mapping("configuration of TLS")
	defer t.Done()
	return &ListenerTLS{Cert: r.file(t.Required("cert")), Key: r.file(t.Required("key")), ClientCA: r.file(t.Optional("client_ca"))}
}

func (r *configReader) frontProxy(v strictyaml.Value) *FrontProxy {
	m := v.Mapping("front proxy")
	defer m.Done()
	f := &FrontProxy{Cert: r.file(m.Required("cert")), Key: r.file(m.Required("key"))}
	for _, e := range m.Optional("sites").Sequence() {
		f.Sites = append(f.Sites, readSite(e))
	}
	return f
}

func readUserHeader(v strictyaml.Value) *UserHeader {
	m := v.Mapping("header that says who asks")
	defer m.Done()
	name := m.Required("name")
	h := &UserHeader{Name: http.CanonicalHeaderKey(name.Text())}
	if h.Name != "" && (!httpguts.ValidHeaderFieldName(h.Name) || glue.Common(h.Name) || !request.TellsCallersApart(h.Name)) {
		name.Problem("%q is no name of a header that says who asks and nothing else, such as X-Remote-User", h.Name)
	}
	for _, e := range m.Optional("sites").Sequence() {
		h.Sites = append(h.Sites, readSite(e))
	}
	return h
}

func (r *configReader) credentials(v strictyaml.Value) *Credentials {
	m := v.Mapping("set of credentials")
	m.Refuse(notYet+`; a client certificate goes into "upstream_tls"`, "cert", "key")
	m.Exclusive("token_file", "header")
	m.Together("header", "value_file")
	header := m.Optional("header")
	c := &Credentials{
		TokenFile: r.file(m.Optional("token_file")),
		Header:    header.Text(),
		ValueFile: r.file(m.Optional("value_file")),
	}
	m.Done()
	if c.Header != "" && !httpguts.ValidHeaderFieldName(c.Header) {
		header.Problem("%q is no name of a header", c.Header)
	}
	if m.Empty() {
		v.Problem(`expected "token_file", or "header" and "value_file"`)
	}
	return c
}

// path returns a path of the file as an absolute one.
func (r *configReader) path(v strictyaml.Value) string {
	p := v.Text()
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.folder, p)
}

// file returns the path of a file that must be there.
func (r *configReader) file(v strictyaml.Value) string {
	p := r.path(v)
	if p != "" {
		if err := isFile(p); err != nil {
			v.Problem("%v", err)
		}
	}
	return p
}

// siteName is a site of the scope language, of ASCII, since it travels in headers too.
var siteName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

func readSite(v strictyaml.Value) engine.SiteName {
	s := v.Text()
	switch {
	case s == "":
	case !siteName.MatchString(s):
		v.Problem("%q is no name of a site: at most 63 letters, digits, \"_\", \"-\" and \".\", a letter or digit first", s)
	case slices.Contains([]string{"XOR", "around", "quorum", "sync"}, s):
		v.Problem("%q is a word of the scope language: choose another name", s)
	}
	return engine.SiteName(s)
}

func placeOf(v strictyaml.Value) place {
	line, column := v.Position()
	return place{line, column}
}

// members reads what each other member may have.
func (r *configReader) members(m *strictyaml.Mapping) {
	l := &r.config.Limits.Members
	if v := m.Optional("streams"); v.Present() {
		if l.Streams = v.Count(); l.Streams < 64 {
			v.Problem("expected at least 64")
		}
	}
	if v := m.Optional("resources"); v.Present() {
		l.Resources = v.Count()
	}
	if v := m.Optional("bodies"); v.Present() {
		l.Bodies = v.Size()
	}
	if v := m.Optional("in_flight"); v.Present() {
		if l.InFlight = v.Size(); l.InFlight < engine.MaxFrame {
			v.Problem("expected at least %s", engine.Bytes(engine.MaxFrame))
		}
	}
	if v := m.Optional("memory"); v.Present() {
		if l.Memory = v.Size(); l.Memory < 64<<20 {
			v.Problem("expected at least 64MiB")
		}
	}
	m.Done()
}
