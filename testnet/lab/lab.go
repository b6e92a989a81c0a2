package lab

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Names of the services, in the order in which the catalog lists them.
const (
	Images   = "images"
	Networks = "networks"
	Servers  = "servers"
)

// Config says how one instance of lab runs.
type Config struct {
	// Data is the directory of the services' journals and files. It is made where it is missing.
	Data string
	// Images is the base URL at which the servers service reaches the images service, Transport how; nil: over the network.
	Images    string
	Transport http.RoundTripper
}

// Lab is one instance of the application. Its services may be served from any number of goroutines.
type Lab struct {
	services []*Service
}

// New opens an instance with what its data directory holds.
func New(c Config) (*Lab, error) {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	images, networks, servers := imagesSpec(), networksSpec(), serversSpec(c)
	l := &Lab{}
	for _, s := range []spec{images, networks, servers} {
		service, err := open(s, c.Data)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open service %s: %w", s.name, err), l.Close())
		}
		l.services = append(l.services, service)
	}
	return l, nil
}

// Service returns the handler of one service; nil for a name that is none of the three.
func (l *Lab) Service(name string) http.Handler {
	for _, s := range l.services {
		if s.name == name {
			return s
		}
	}
	return nil
}

// Close closes the journals. No request may be running.
func (l *Lab) Close() error {
	var errs []error
	for _, s := range l.services {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// spec is what tells one service from another.
type spec struct {
	name string
	// defaults are the fields that a new item has when its creator does not say otherwise.
	defaults map[string]any
	// check says what is wrong with an item, empty when nothing is.
	check func(fields map[string]any) string
	// before runs ahead of a creation, outside of any lock.
	before func(r *http.Request, fields map[string]any) *problem
	// files says that items have a file, actions what can be POSTed below one.
	files   bool
	actions map[string]action
	// inner are collections inside each item, beside others of the same service.
	inner, beside []spec
	// openAPI is what the service says of itself; nil for nothing.
	openAPI []byte
	// chosen says that clients choose the identifiers: a PUT makes what is not there, and nothing is POSTed.
	chosen bool
}

// action changes the fields of an item as the body of a POST below it asks.
type action func(fields, body map[string]any) *problem

// problem is an answer that refuses.
type problem struct {
	status int
	detail string
}

func (s spec) path(dir, suffix string) string { return filepath.Join(dir, s.name+suffix) }

// stamp is the time as items show it.
func stamp() string { return time.Now().UTC().Format(time.RFC3339Nano) }
