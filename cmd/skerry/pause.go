package main

import (
	"context"
)

// replicaOf names one site's replica of a resource.
type replicaOf struct {
	resourceOf
	Site string `required:"" placeholder:"NAME" help:"The site whose replica is meant."`
}

// ask has the agent of that site do what verb says, and shows the resource as that site has it then.
func (r *replicaOf) ask(ctx context.Context, p *program, verb string, body map[string]string) error {
	body["site"] = r.Site
	b, err := r.steer(ctx, p, verb, body)
	if err != nil {
		return err
	}
	return showResource(p, b)
}

type pauseCommand struct {
	replicaOf
	Reason string `placeholder:"TEXT" help:"Why, for those who see it at other sites."`
}

func (pauseCommand) Help() string {
	return `The site's replica takes nothing of other sites until it is resumed, and every site shows it as paused.
Requests of the site's own clients are served as before, and travel.

Examples:

    skerry resources pause debian --site nantes --reason "the disk is being moved"
    skerry resources resume debian --site nantes`
}

func (c *pauseCommand) Run(ctx context.Context, p *program) error {
	body := map[string]string{}
	if c.Reason != "" {
		body["reason"] = c.Reason
	}
	return c.ask(ctx, p, "pause", body)
}

type resumeCommand struct{ replicaOf }

func (resumeCommand) Help() string { return pauseCommand{}.Help() }

func (c *resumeCommand) Run(ctx context.Context, p *program) error {
	return c.ask(ctx, p, "resume", map[string]string{})
}
