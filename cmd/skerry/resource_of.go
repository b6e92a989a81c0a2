package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/skerry/skerry/web/client"
)

// resourceOf names a resource.
type resourceOf struct {
	ID      string `arg:"" help:"Its identifier: the one for all sites, or this site's own."`
	Service string `placeholder:"NAME" help:"Its service, where the identifier alone means several."`
	Kind    string `placeholder:"NAME" help:"Its kind, likewise."`
}

// steer has the agent do with the resource what verb says.
func (r *resourceOf) steer(ctx context.Context, p *program, verb string, body any) (json.RawMessage, error) {
	address, err := r.below(verb)
	if err != nil {
		return nil, err
	}
	return p.api.Post(ctx, address, body)
}

// below is the address of something that the resource has.
func (r *resourceOf) below(name string) (string, error) {
	address, err := url.Parse(resourceAddress(r.ID, r.Service, r.Kind))
	if err != nil {
		return "", err
	}
	return address.JoinPath(name).String(), nil
}

// operate is steer for what becomes an operation; does tells what that does.
func (r *resourceOf) operate(ctx context.Context, p *program, verb string, body any, does string) error {
	b, err := r.steer(ctx, p, verb, body)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	v, err := client.Decode[struct {
		Operation string `json:"operation"`
	}](b)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "operation %s %s\n", v.Operation, does)
	return nil
}
