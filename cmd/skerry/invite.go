package main

import (
	"context"
	"fmt"
	"time"

	"github.com/skerry/skerry/web/client"
)

type inviteCommand struct {
	Expires   time.Duration `default:"1h" placeholder:"DURATION" help:"How long it is good for (default ${default})."`
	Uses      int           `default:"1" placeholder:"N" help:"How many sites it lets in (default ${default})."`
	ValidFor  time.Duration `placeholder:"DURATION" help:"How long the certificates are good that it gives; without it they have no end."`
	Certified bool          `help:"Print what a site joins by that an authority has certified already; any site of the mesh gives that."`
	Quiet     bool          `short:"q" help:"Print the invitation alone, for a file that mesh.join_file names."`
}

func (inviteCommand) Help() string {
	return `Prints what goes into the configuration of a new site, so that it may join the mesh of this one. Whoever has
the invitation can join while it is good: keep it secret. It takes an authority of the mesh to make one, which its first site is; at
any other site you are told who is one.

Examples:

    skerry invite
    skerry invite --expires 24h --uses 3
    skerry invite -q > nantes-invitation`
}

func (c *inviteCommand) Run(ctx context.Context, p *program) error {
	if c.Expires <= 0 {
		return usagef("--expires is %s: give a time to come, such as 1h", c.Expires)
	}
	if c.Uses < 1 {
		return usagef("--uses is %d: give a number from 1", c.Uses)
	}
	ask := map[string]any{"expires": c.Expires.String(), "uses": c.Uses}
	if c.ValidFor != 0 {
		ask["valid_for"] = c.ValidFor.String()
	}
	if c.Certified {
		ask = map[string]any{"certified": true}
	}
	b, err := p.api.Post(ctx, "/invitations", ask)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	i, err := client.Decode[struct {
		ID        string    `json:"id"`
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}](b)
	if err != nil {
		return err
	}
	if c.Quiet {
		fmt.Fprintln(p.out, clean(i.Token))
		return nil
	}
	if c.Certified {
		fmt.Fprintf(p.out, "# A site that has a certificate joins by this. It is no secret; it goes into the site's configuration:\nmesh:\n  join: %s\n", clean(i.Token))
		return nil
	}
	sites := "one site"
	if c.Uses > 1 {
		sites = fmt.Sprintf("%d sites", c.Uses)
	}
	fmt.Fprintf(p.out, "# Invitation %s lets %s in until %s. It is a secret; it goes into the new site's configuration:\n",
		clean(i.ID), sites, i.ExpiresAt.In(p.now().Location()).Format("2006-01-02 15:04:05 -0700"))
	fmt.Fprintf(p.out, "mesh:\n  join: %s\n", clean(i.Token))
	return nil
}
