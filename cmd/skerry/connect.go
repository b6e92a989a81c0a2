package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skerry/skerry/web/client"
)

// advice is what to do about an error of the client, in the words of the command line; empty for others.
func advice(err error) string {
	var gone *client.Unreachable
	var stranger *client.Stranger
	var address *client.AddressError
	switch {
	case errors.As(err, &gone) && gone.Untrusted:
		return ": name the authority's with --ca"
	case errors.As(err, &gone) && gone.Silent:
		return ": see its log"
	case errors.As(err, &gone):
		return `: start one with "skerry agent --config FILE", or name another with --api or SKERRY_API`
	case errors.As(err, &stranger):
		return ": check --api and SKERRY_API"
	case errors.As(err, &address) && address.InClear:
		return ": give --api an address with https"
	case errors.As(err, &address):
		return ": give --api a URL such as http://127.0.0.1:8700"
	}
	return ""
}

// follow calls each for every event from now on, or from the one after the event called after, and opened whenever the stream is open. It says
// when it has lost the agent.
func (p *program) follow(ctx context.Context, after string, opened func() error, each func(id string, event json.RawMessage) error) error {
	return p.api.Watch(ctx, client.Watcher{After: after, Event: each, Opened: opened, Pause: p.retry, Lost: func() {
		fmt.Fprintf(p.errs, "skerry: lost the agent at %s; trying again until it is back\n", p.api.Base())
	}})
}
