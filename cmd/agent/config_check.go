package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/strictyaml"
)

// places are positions in the file of a configuration.
type places struct {
	file string
	all  place // the key "services"
	// services has the key of each service.
	services map[engine.ServiceName]place
	kinds    []kindAt // of accept
	as       []asAt   // of accept
}

type place struct{ line, column int }

// Check compares the services of a configuration, and the kinds in its rules, with those of the application. The error is a *strictyaml.Error with
// all differences.
func Check(c Config, catalog *glue.Catalog) error {
	known := make([]string, 0, len(catalog.Services))
	for _, name := range slices.Sorted(maps.Keys(catalog.Services)) {
		known = append(known, string(name))
	}
	var problems []strictyaml.Problem
	note := func(at place, format string, args ...any) {
		problems = append(problems, strictyaml.Problem{
			Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...)})
	}
	for _, name := range known {
		if _, ok := c.Services[engine.ServiceName(name)]; !ok {
			note(c.places.all, "the service %q of the application %s is not configured", name, catalog.Application)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		if catalog.Services[name] == nil {
			note(c.places.services[name], "the application %s has no service %q, it has %s%s", catalog.Application, name,
				strings.Join(known, ", "), strictyaml.DidYouMean(string(name), known))
		} else if catalog.Services[name].Glue == glue.GlueKubernetes {
			checkKubernetes(c.Services[name], func(format string, args ...any) { note(c.places.services[name], format, args...) })
		} else if c.Services[name].FrontProxy != nil {
			note(c.places.services[name], `"front_proxy" is for services of Kubernetes: the application believes nobody's word for who asks`)
		}
		if of := catalog.Services[name]; of != nil && of.Glue != glue.GlueOpenStack && c.Services[name].Keystone != "" {
			note(c.places.services[name], `"keystone" is for services of OpenStack`)
		}
	}
	checkAccepted(c.places.kinds, catalog, note)
	checkActing(c, catalog, note)
	if len(problems) == 0 {
		return nil
	}
	return &strictyaml.Error{File: c.places.file, Problems: problems}
}

// CheckFile looks at a configuration, at the catalog that it names, and at whether the two fit, and returns all that is wrong: of each file
// that is, a *strictyaml.Error or why it cannot be read. It starts nothing and asks nobody.
func CheckFile(path string) (c Config, catalog *glue.Catalog, wrong []error) {
	c, err := read(path)
	if err != nil {
		wrong = append(wrong, err)
	}
	if isFile(c.Application) != nil { // which is among the problems already
		return c, nil, wrong
	}
	if catalog, err = glue.LoadCatalog(c.Application); err != nil {
		return c, nil, append(wrong, err)
	}
	if c.places.all.line > 0 { // else the whole list is missing
		if err := Check(c, catalog); err != nil {
			wrong = append(wrong, err)
		}
	}
	return c, catalog, wrong
}

// checkKubernetes looks for what would not work, or would let in whoever asks, in front of an API server of Kubernetes.
func checkKubernetes(s Service, note func(format string, args ...any)) {
	if s.TLS == nil {
		note(`clients of Kubernetes send their tokens over HTTPS only: give the service "tls"`)
	}
	if s.Credentials == nil {
		note(`the agent needs an account of its own in the cluster: give the service "credentials"`)
	}
	if s.UserHeader != nil {
		note(`"user_header" is not for services of Kubernetes: give it "front_proxy"`)
	}
	if s.UpstreamTLS != nil && s.UpstreamTLS.Cert != "" {
		note(`with a certificate in "upstream_tls" the cluster would take every client for the agent: give the agent a token in "credentials", and clients that show certificates "front_proxy"`)
	}
}
