package glue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/strictyaml"
)

// Catalog describes one application: its services and the kinds of resource they manage. Every site has the same.
// It is made by ParseCatalog, safe for concurrent use and, but for Learn, never changed after.
type Catalog struct {
	Application string
	Services    map[engine.ServiceName]*Service
	// Digest is the lower-case hex SHA-256 of the catalog's content: of the document in JSON, its members sorted.
	// Comments, layout and the order of keys do not count.
	Digest string
	// mu guards the rules of services whose kinds may come later.
	mu sync.RWMutex
}

// Service describes one REST service of the application.
type Service struct {
	Name engine.ServiceName
	// Glue names what speaks the service's API: "http" is any REST API, GlueKubernetes that of Kubernetes, GlueOpenStack one of OpenStack's.
	Glue string
	// Kinds are in the order of the file; those of GlueKubernetes are asked for when the agent starts. A service without kinds is intercepted; nothing of it is replicated, and of other
	// sites nothing reached but Paths.
	Kinds []*engine.Kind
	// Paths are those beside the kinds that a scope may have asked at another site, with the caller's credentials; Headers those beside
	// HTTP's own that go on to another site. One that ends in "*" stands for all that begin so.
	Paths, Headers []string
	// Rules holds for each kind what the engine's Kind has no place for.
	Rules map[engine.KindName]*Rules
}

// GlueKubernetes is the glue of services whose kinds the application tells itself (package kubernetes).
const GlueKubernetes = "kubernetes"

// GlueOpenStack is the glue of services whose clients read errors in OpenStack's form (package openstack).
const GlueOpenStack = "openstack"

// Kind returns a kind by its names, nil when the catalog has none.
func (c *Catalog) Kind(service engine.ServiceName, kind engine.KindName) *engine.Kind {
	s := c.Services[service]
	if s == nil {
		return nil
	}
	for _, k := range s.Kinds {
		if k.Name == kind {
			return k
		}
	}
	return nil
}

// Rules returns the rules of a kind of this catalog, nil for any other kind.
func (c *Catalog) Rules(k *engine.Kind) *Rules {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if s := c.Services[k.Service]; s != nil {
		return s.Rules[k.Name]
	}
	return nil
}

// Learn takes in the rules of kinds that a service has got since the catalog was read.
func (c *Catalog) Learn(service engine.ServiceName, rules map[engine.KindName]*Rules) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.Services[service].Rules, rules)
}

// List returns what the catalog says of the answer to a GET on the kind's collection, nil when it says nothing: then its
// array is the whole document, or the only member of it that is one.
func (c *Catalog) List(k *engine.Kind) *List {
	if r := c.Rules(k); r != nil {
		return r.List
	}
	return nil
}

// Owners returns how objects of the kind say what they were made along with.
func (c *Catalog) Owners(k *engine.Kind) []Owner {
	if r := c.Rules(k); r != nil {
		return r.Owners
	}
	return nil
}

// LoadCatalog reads the catalog in the file at path. The error is a *strictyaml.Error with all problems of the file,
// or says why it cannot be read.
func LoadCatalog(path string) (*Catalog, error) {
	b, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return ParseCatalog(path, b)
}

// ParseCatalog reads a catalog. The name stands for the file in the problems of the *strictyaml.Error. It does not
// keep b.
func ParseCatalog(name string, b []byte) (*Catalog, error) {
	d, err := strictyaml.Parse(name, b)
	if err != nil {
		return nil, err
	}
	r := catalogReader{catalog: &Catalog{Services: map[engine.ServiceName]*Service{}}}
	r.read(d.Root())
	if err := d.Err(); err != nil {
		return nil, err
	}
	canonical := d.Root().JSON()
	if err := d.Err(); err != nil {
		return nil, err
	}
	digest := sha256.Sum256(canonical)
	r.catalog.Digest = hex.EncodeToString(digest[:])
	return r.catalog, nil
}

// Rules are the parts of a kind's description that the engine's Kind has no place for.
type Rules struct {
	Visibility Visibility
	// List is nil when the catalog does not say where a list's array is.
	List *List
	// Owners are where an object tells what it was made along with.
	Owners []Owner
}

// Owner says that an object was made along with one of another kind of its service, in the same container: the elements of an array name
// its owners, those with a member of this value one of the kind.
type Owner struct {
	At engine.Pointer // of the array
	// Member has the value Equals where the element names one of Kind; ID has its identifier.
	Member, Equals, ID string
	Kind               engine.KindName
}

// Scopes of a Visibility.
const (
	VisibilityGlobal    = "global"     // usable from any site
	VisibilityLocal     = "local"      // owned by the site that holds it
	VisibilityLocalWhen = "local-when" // local when its representation has a certain value
)

// Visibility says from where a resource can be used. At and Equals, a JSON value in compact form, are set for
// VisibilityLocalWhen only.
type Visibility struct {
	Scope  string
	At     engine.Pointer
	Equals json.RawMessage
}

// List says where the array is in the answer to a GET on a collection; without Items it is the whole document, or its only array. A list in
// pages has the address of the next one at Next or in NextHeader, or what the next request has in Parameter where that is set; or it takes
// the page's number, from 1, in the parameter Page, or how many items came before it in Offset. Where it says nothing it may be in the
// header Link (RFC 8288).
type List struct {
	Items, Next                         engine.Pointer
	NextHeader, Parameter, Page, Offset string
	// Each is where a representation of its own has what an element of the array shows: in an envelope. Empty: an element is one.
	Each engine.Pointer
	// Watch is the parameter that makes a GET one whose answer goes on without end.
	Watch string
	// Deletes says that a DELETE on the collection deletes what a GET with the same query lists.
	Deletes bool
}

// MethodPath is a method and a path with {id} in the identifier's place.
type MethodPath struct{ Method, Path string }
