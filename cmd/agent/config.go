package agent

import (
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/accept"
	"github.com/skerry/skerry/glue/strictyaml"
	"github.com/skerry/skerry/web/intercept/carry"
	"github.com/skerry/skerry/web/meter"
)

// Config is the configuration of one site's agent, as Load reads it from a YAML file. The words in brackets are the
// keys of the file. Relative paths in the file count from the folder that the file is in; here all are absolute.
type Config struct {
	// Site [site] is the name of this site, unique in the mesh and what scopes call it: up to 63 letters, digits, "_",
	// "-" and ".", a letter or digit first. Required.
	Site engine.SiteName
	// DataDir [data_dir] is the folder of the identity key, the database and blobs. The agent makes it, with mode
	// 0700; one agent at a time uses it. Required.
	DataDir string
	// EncryptionKey [encryption_key] is the file of the key under which what the application's requests and answers hold is encrypted in
	// DataDir. The agent makes it, with mode 0600, in a folder that is there, such as one on another device. Without it the data
	// cannot be read. Default vault.key in DataDir.
	EncryptionKey string
	// Application [application] is the catalog's file, of the same content at every site. Required.
	Application string
	// ApplicationVersion [application_version] is what this site's instance of the application is, in the operator's words, at
	// most 64 bytes. "skerry sites" shows it, and "skerry explain" warns of sites that differ. Default: not told.
	ApplicationVersion string
	API                API
	Mesh               Mesh
	// Services [services] are this site's instance of the application: every service of the catalog and no other.
	// Required.
	Services map[engine.ServiceName]Service
	// Accept [accept] is what other sites may do here: a list of rules, of which the first counts that is for the site and the kind, and
	// it alone. What it does not let the site do is not accepted, and neither is what no rule is for. The keys of a rule are:
	//
	//   - from: a site's name, a zone's, or "*" for all. Required.
	//   - kinds: a list of SERVICE/KIND, each of which may be "*". Default: all.
	//   - operations: a list of read, create, change, action and delete. Default: all. An empty list lets them do nothing.
	//   - scopes: a list of sharing (a request that runs here alone), replication, cross and exactly-one. Default: all.
	//   - as: whose account operations of other sites run with: agent, that of services.X.credentials. Default agent.
	//
	// Default nil: members may place, change and read whatever the catalog describes. Requests that are passed on run with their
	// caller's credentials, whatever is said here.
	Accept []accept.Rule
	Limits Limits
	Looks  Looks
	// Correlation says how scopes follow workflows.
	Correlation Correlation
	Log         Log
	// AccessLog is what clients have asked of the services; nil: nobody writes that down.
	AccessLog *AccessLog
	// Traces go to a collector; nil: nothing is traced.
	Traces *Traces

	// places are where the file has what Check looks at, for its report.
	places places
}

// API [api] is the REST API, dashboard and metrics.
type API struct {
	// Listen [api.listen] is host and port. Beyond loopback it needs api.tls and api.accounts; with an address that stands
	// for all of the machine's, such as 0.0.0.0, api.hosts too. Default 127.0.0.1:8700, where client commands look first.
	Listen string
	// TLS [api.tls] makes it speak HTTPS. Default nil: plain HTTP.
	TLS *ListenerTLS
	// Probes [api.probes] is host and port of a listener that answers GET /healthz, /readyz and /metrics, and nothing else, to whoever asks and in
	// clear: for what starts agents anew and what gathers metrics. Metrics name sites, services and kinds of conflicts, and nothing of
	// what is in resources. Default empty: there is none.
	Probes string
	// Accounts [api.accounts] is the file of those who may log in, which "skerry accounts" writes; it is read anew for each use.
	// It needs TLS. Default empty: nobody needs to log in, and whoever reaches the address may do everything.
	Accounts string
	// Loopback [api.loopback] is user or open. With user, where nobody needs to log in, only processes of the agent's user, and of root, are let
	// in without a token; with open whoever is on the machine is. Default user, where the kernel tells whose a connection is, as Linux does;
	// elsewhere open.
	Loopback string
	// TrustedProxies [api.trusted_proxies] are addresses or networks of proxies in front of it, which say in X-Forwarded-For who asks: logins are
	// slowed down, and the audit trail written, by that. Default none.
	TrustedProxies []netip.Prefix
	// Hosts [api.hosts] are further names that clients reach the address under, with a port or without: requests for other
	// names are refused. Default none.
	Hosts []string
}

// URL is where the API is.
func (a API) URL() string {
	if a.TLS != nil {
		return "https://" + a.Listen
	}
	return "http://" + a.Listen
}

// Mesh [mesh] is the network of agents.
type Mesh struct {
	// Listen [mesh.listen] are the multiaddresses that other agents reach this one at: IP with UDP and quic-v1, or with
	// TCP. Default: port 4700 of all addresses, with both.
	Listen []string
	// Join [mesh.join] is an invitation, which is a secret. It is needed once: a site with data has no more use for it,
	// and without one and without data this is the first site of a new mesh.
	Join string
	// JoinFile [mesh.join_file] is a file that holds the invitation, instead of mesh.join. It may be gone when the site
	// has joined.
	JoinFile string
	// Peers [mesh.peers] are multiaddresses of members, each with /p2p/ and the peer's id, to try first. Default none.
	Peers []string
	// Announce [mesh.announce] are addresses at which others reach this site, told to them beside those of its interfaces: multiaddresses, such as
	// the address and port of a NAT, or DNS names, each of which stands for all ports of mesh.listen. Default none.
	Announce []string
	// Relay [mesh.relay] lets members talk to each other through this site that do not reach each other. They encrypt what passes; this site sees
	// who talks to whom, and how much. Default false.
	Relay bool
}

// Service [services.X] is this site's instance of one service.
type Service struct {
	// Listen [services.X.listen] is host and port where clients and other services reach the service, through the agent.
	// Required.
	Listen string
	// Upstream [services.X.upstream] is the address of the unmodified service: http or https, host and port, no path.
	// Required.
	Upstream string
	// TLS [services.X.tls] makes the listener speak HTTPS. Default nil: plain HTTP.
	TLS *ListenerTLS
	// UpstreamTLS [services.X.upstream_tls] is for an upstream of https only. Default nil: the system's authorities.
	UpstreamTLS *UpstreamTLS
	// TrustedProxies [services.X.trusted_proxies] are addresses, or networks such as 10.0.0.0/8, of proxies in front of the listener: what they
	// say in Forwarded and X-Forwarded-* stays. Of everybody else the agent says itself there who asks. Default none.
	TrustedProxies []netip.Prefix
	// FrontProxy [services.X.front_proxy] has the service believe the agent who makes a request. Default nil: it does not.
	FrontProxy *FrontProxy
	// UserHeader [services.X.user_header] has the service believe the agent who makes a request, by a header. Default nil: it does not.
	UserHeader *UserHeader
	// Keystone [services.X.keystone] is the address of the API with which this service of OpenStack checks tokens, such as http://192.0.2.10:5000/v3:
	// by it the agent knows who asks, and acts for users who have trusted its account there. Default empty: neither.
	Keystone string
	// Credentials [services.X.credentials] are what operations of other sites are sent with. Default nil: nothing.
	Credentials *Credentials
}

// ListenerTLS holds the files, in PEM, that a listener speaks HTTPS with.
type ListenerTLS struct {
	// Cert and Key [cert, key] are its certificate chain and private key. Required.
	Cert, Key string
	// ClientCA [client_ca] has the authorities that clients must have a certificate of; with front_proxy they may have one. Default
	// empty: clients need none.
	ClientCA string
}

// UpstreamTLS says how an upstream proves itself and the agent itself to it. Files are in PEM.
type UpstreamTLS struct {
	// CA [ca] has the authorities that the upstream's certificate is checked with. Default empty: the system's. Not
	// with insecure_skip_verify.
	CA string
	// Cert and Key [cert, key] are what the agent shows the upstream. Both or neither; default none.
	Cert, Key string
	// InsecureSkipVerify [insecure_skip_verify] takes any certificate. Default false.
	InsecureSkipVerify bool
}

// FrontProxy is for services of Kubernetes that take the word of an authenticating proxy (--requestheader-client-ca-file). The agent
// says who a client is that shows a certificate which tls.client_ca has signed, or a token of the agent's own; what clients say
// themselves in those headers never gets through. Other requests go out without this certificate, as they come.
type FrontProxy struct {
	// Cert and Key [cert, key] are what the agent shows the service when it says who asks, in PEM. Required.
	Cert, Key string
	// Sites [sites] are other sites whose agents are believed likewise: theirs can make requests here in anybody's name. Default none.
	Sites []engine.SiteName
}

// UserHeader is for services that take the word of whoever stands in front of them for who asks. The agent says so in the header: what one of
// trusted_proxies has said there, who a client's certificate is for that tls.client_ca has signed, or whose a token of the agent's own is.
// What anybody else says there is taken out.
type UserHeader struct {
	// Name [name] is that of the header. Required.
	Name string
	// Sites [sites] are other sites whose agents are believed likewise: theirs can make requests here in anybody's name. Default none.
	Sites []engine.SiteName
}

// Credentials is a secret in a file, which is read anew for each use. Either TokenFile is set, or ValueFile and what its header is called.
type Credentials struct {
	// TokenFile [token_file] holds a token, sent as "Authorization: Bearer TOKEN". Not with header and value_file.
	TokenFile string
	// Header and ValueFile [header, value_file] are the name of a header and the file of its value. Both or neither.
	Header, ValueFile string
}

// Limits [limits] bound what one request may take.
type Limits struct {
	// Body [limits.body] is the most bytes of body that a request may have, written as 64KiB or 5GiB, at
	// most 64GiB: one with a scope, or about what is replicated. Of other sites' operations it takes no larger ones either, and
	// they wait. Default 5GiB.
	Body int64
	// AnswerTimeout [limits.answer_timeout] is how long the application may take until its answer begins. After that
	// the client gets 504. How long the answer itself takes is not bounded. Default 1m.
	AnswerTimeout time.Duration
	// AskTimeout [limits.ask_timeout] is how long each of several sites that a list is gathered from may take. After
	// that the answer goes out without it. Default 5s.
	AskTimeout time.Duration
	// Head [limits.head] is the most bytes of the head of a request to a service. Default 64KiB.
	Head int64
	// HeadTimeout [limits.head_timeout] is how long a head may take to come in, and TLS to be set up. Default 10s.
	HeadTimeout time.Duration
	// Idle [limits.idle] is how long a connection may have no request. Default 2m.
	Idle time.Duration
	// Bodies [limits.bodies] is how much memory the bodies of requests may take together that are read whole: those with a scope, or about
	// what is replicated, of up to 1 MiB. Those of other sites have as much for themselves. When there is no more, the one that comes in
	// slowest gives way (408), or one waits and is refused (503). At least 8MiB; default 64MiB.
	Bodies int64
	// BodyStall [limits.body_stall] is how long the body of such a request may bring nothing. Default 1m.
	BodyStall time.Duration
	// Connections [limits.connections] bound what clients of the services have open.
	Connections Connections
	// Streams [limits.streams] bound the streams of events of the API and the page.
	Streams Streams
	// Kept [limits.kept] bounds what is kept for sites that cannot be reached (202).
	Kept Kept
	// ClockSkew [limits.clock_skew] is how far ahead of this site's clock another site may date an operation. One from further ahead waits
	// until its time has come, and says so. Default 1h.
	ClockSkew time.Duration
	// Members [limits.members] bound what each other member may have of this site. Past that it waits or is refused, others are not.
	Members Members
	// Deletions [limits.deletions] bound what a site that comes back deletes without being told to.
	Deletions Deletions
	// Operations [limits.operations] bound how long what was done stays in lists.
	Operations Operations
}

// Connections [limits.connections] bound how many connections clients of the services have open. For one more, one for which everything waits
// gives way. The API has an eighth of them for itself, at least 64, and refuses those that are more.
type Connections struct {
	// All [limits.connections.all] is how many there may be. Each may need another one to the application: twice as many files. Default 8192.
	All int
	// Client [limits.connections.client] is how many one address may have, or one IPv6 network of 64 bits; loopback and trusted
	// proxies may have all of them. Default 1024.
	Client int
}

// Streams [limits.streams] bound how many streams of events are open: of the API, and of open pages, which have one each.
type Streams struct {
	// All [limits.streams.all] is how many there may be. Default 128.
	All int
	// Viewer [limits.streams.viewer] is how many one account may have. Where nobody logs in, each token and each browser that came by a link
	// is one, and all else on the machine together. Default 32.
	Viewer int
}

// Members [limits.members] bound what each other member of the mesh may have of this site.
type Members struct {
	// Streams [limits.members.streams] is how many streams it may have open at once. At least 64; default 2048.
	Streams int
	// InFlight [limits.members.in_flight] is how many bytes of its letters are taken in at once; the rest waits with it. At least 4MiB;
	// default 8MiB.
	InFlight int64
	// Memory [limits.members.memory] is what the buffers of its streams may take. At least 64MiB; default 512MiB.
	Memory int64
	// Resources [limits.members.resources] is up to how many resources this site shares with it before it takes in no more that it places
	// here. Default 250000.
	Resources int
	// Bodies [limits.members.bodies] is what the large bodies of its operations may take on this site's disk, until all sites have applied them. A
	// further one is fetched when there is room; one alone may always come. Default 20GiB.
	Bodies int64
}

// Kept [limits.kept] bounds the requests that are kept, with their bodies, because no site that they are for can be reached or their
// callers do not want to wait. Further ones are refused (503 unreachable).
type Kept struct {
	// All [limits.kept.all] is for all together. Default {number: 10000, bytes: 2GiB}.
	All Room
	// Caller [limits.kept.caller] is for each caller, as their credentials tell them apart. Default {number: 1000, bytes: 256MiB}.
	Caller Room
	// Anonymous [limits.kept.anonymous] is for all together who have shown no credentials. Default {number: 1000, bytes: 64MiB}.
	Anonymous Room
}

// Room is how many requests may be kept, from 1, and how many bytes they may take.
type Room struct {
	// Number [number] is how many requests.
	Number int
	// Bytes [bytes] is how much their bodies take together, written as 64MiB.
	Bytes int64
}

// Operations [limits.operations] bound how many operations that every site has settled are listed one by one. Older ones are
// forgotten; what they have brought about stays.
type Operations struct {
	// Keep [limits.operations.keep] is for how long. Default 720h.
	Keep time.Duration
	// Number [limits.operations.number] is how many, from 1. Default 1000000.
	Number int
}

// Deletions [limits.deletions] bound the deletions of other sites, of those that were issued while this site was away,
// that run here unconfirmed. What is over either bound is held until "skerry sites confirm".
type Deletions struct {
	// Late [limits.deletions.late] is how long after it was issued a deletion has to be heard of to count. Default 1m.
	Late time.Duration
	// Number [limits.deletions.number] is how many of them run within one window, from 1. Default 100.
	Number int
	// Share [limits.deletions.share] is how large a part of the resources that the site replicates they may be, written
	// as 20%; ten always may. Default 20%.
	Share float64
	// Window [limits.deletions.window] is the time in which they are counted together. Default 1h.
	Window time.Duration
}

// Looks [looks] say when the agent reads what the application shows of a replicated resource, to compare it with what the
// other sites show. A resource counts as converged when all show the same.
type Looks struct {
	// After [looks.after] is how long after the last operation on a resource. An application that goes on changing a
	// resource by itself for a while wants more. Default 250ms.
	After time.Duration
	// Every [looks.every] is how often each resource is looked at besides, so that what somebody changed behind the
	// agent is seen. Default 1h.
	Every time.Duration
}

// Correlation [correlation] is for services that know nothing of scopes but pass some header on to the services that they ask: a
// request that came with a scope is remembered under what it has in these headers, and requests that have the same inherit it.
type Correlation struct {
	// Headers [correlation.headers] are names of headers; of traceparent the trace's id counts. An empty list remembers
	// nothing. Default traceparent, X-Request-Id, X-Openstack-Request-Id and X-B3-TraceId.
	Headers []string
	// TTL [correlation.ttl] is how long a scope is remembered after its last use. Default 1h.
	TTL time.Duration
}

// Log [log] is what the agent writes to standard error.
type Log struct {
	// Level [log.level] is debug, info, warn or error. Default info.
	Level slog.Level
	// JSON [log.format] is text, the default, or json, for which this is true.
	JSON bool
}

// AccessLog [access_log] has a line for each request of a client to a service, without its query, which may hold secrets.
type AccessLog struct {
	// File [access_log.file] is written on at its end, so that what turns logs over may copy and truncate it; "-" is the standard output. Required.
	File string
	// Format [access_log.format] is json or common, the Common Log Format of web servers. Default json.
	Format meter.Format
	// One [access_log.one_of] has one of so many requests written, and each that was answered with 500 or more. Default 1: all are.
	One int
}

// Traces [traces] tells a collector of OpenTelemetry the way of requests and operations through all sites (OTLP over HTTP). Without this key nothing
// is traced.
type Traces struct {
	// Endpoint [traces.endpoint] is where the collector is: http or https, host and port. Without a path, /v1/traces is meant. Required.
	Endpoint string
	// Sample [traces.sample] is the part of what clients ask that is traced, written as 5%. Who says in traceparent whether it is
	// traced is believed; with 0% nothing else is. What has begun at another site is traced here where it is there. Default 100%.
	Sample float64
	// Headers [traces.headers] are sent to the collector: each has the name of a header and the file of its value, which is read anew for each
	// use. Default none.
	Headers map[string]string
	// CA [traces.ca] has the authorities, in PEM, that the collector's certificate is checked with. Default empty: the system's.
	CA string
}

// Load reads the configuration in the file at path. The error is a *strictyaml.Error with all problems of the file, or
// says why it cannot be read.
func Load(path string) (Config, error) {
	c, err := read(path)
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

// read is Load that returns what it could read beside the problems.
func read(path string) (Config, error) {
	b, err := strictyaml.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	d, err := strictyaml.Parse(path, b)
	if err != nil {
		return Config{}, err
	}
	r := configReader{folder: filepath.Dir(absolute), config: defaults()}
	r.config.places.file = path
	r.read(d.Root())
	return r.config, d.Err()
}

func defaults() Config {
	return Config{
		API:      API{Listen: "127.0.0.1:8700"},
		Mesh:     Mesh{Listen: []string{"/ip4/0.0.0.0/udp/4700/quic-v1", "/ip4/0.0.0.0/tcp/4700"}},
		Services: map[engine.ServiceName]Service{},
		Limits: Limits{Body: 5 << 30, AnswerTimeout: time.Minute, AskTimeout: 5 * time.Second,
			Head: 64 << 10, HeadTimeout: 10 * time.Second, Idle: 2 * time.Minute, Bodies: 64 << 20, BodyStall: time.Minute,
			Connections: Connections{All: 8192, Client: 1024}, Streams: Streams{All: 128, Viewer: 32},
			Kept:       Kept{All: Room{10_000, 2 << 30}, Caller: Room{1000, 256 << 20}, Anonymous: Room{1000, 64 << 20}},
			Deletions:  Deletions{Late: time.Minute, Number: 100, Share: 0.2, Window: time.Hour},
			Operations: Operations{Keep: 30 * 24 * time.Hour, Number: 1_000_000}},
		Looks:       Looks{After: 250 * time.Millisecond, Every: time.Hour},
		Correlation: Correlation{Headers: carry.CorrelationHeaders, TTL: carry.CorrelationTTL},
		places:      places{services: map[engine.ServiceName]place{}},
	}
}
