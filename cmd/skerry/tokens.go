package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/skerry/skerry/web/client"
)

// token is what the API tells of a token.
type token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	Account   string    `json:"account"`
	Token     string    `json:"token"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

type tokensCommand struct {
	List   tokensList   `cmd:"" default:"withargs" help:"List the tokens (the default)."`
	Add    tokensAdd    `cmd:"" help:"Make a token."`
	Revoke tokensRevoke `cmd:"" help:"Make a token count no more."`
}

func (tokensCommand) Help() string { return tokensList{}.Help() }

type tokensList struct{ paging }

func (tokensList) Help() string {
	return `A token lets a program in, with a role and for a time. An admin sees all tokens, others see their own.

Examples:

    skerry tokens
    skerry tokens add metrics --role viewer --expires 8760h -q > metrics-token
    skerry --token-file metrics-token sites`
}

func (c *tokensList) Run(ctx context.Context, p *program) error {
	l := listing[token]{
		paging: c.paging, path: "/tokens",
		columns: []column{{"ID", 0, 0}, {"NAME", 12, 0}, {"ROLE", 0, 0}, {"MADE BY", 0, 1}, {"AGE", 0, 1}, {"ENDS", 0, 0}},
		row: func(t token) []string {
			return []string{t.ID, t.Name, t.Role, t.Account, ago(p.now(), t.CreatedAt), t.ExpiresAt.In(p.now().Location()).Format("2006-01-02 15:04")}
		},
		key: func(t token) string { return t.ID },
	}
	return l.run(ctx, p)
}

type tokensAdd struct {
	Name    string        `arg:"" help:"What it is for."`
	Role    string        `enum:"viewer,operator,admin" default:"viewer" placeholder:"ROLE" help:"The most that it gives (default ${default})."`
	Expires time.Duration `placeholder:"DURATION" help:"How long it counts, up to 8784h (default 720h)."`
	Account string        `placeholder:"NAME" help:"Log in with this account for it; asks for the password, or takes the first line of the input."`
	Quiet   bool          `short:"q" help:"Print the token alone, for a file."`
}

func (tokensAdd) Help() string {
	return `Prints the token, which is told only now. Where people log in, the first one needs --account; later ones may be made with
another token, and count no longer than that.

Examples:

    skerry tokens add deploy --role operator --expires 24h
    skerry tokens add laptop --role admin --account alice -q > ~/.skerry-token`
}

func (c *tokensAdd) Run(ctx context.Context, p *program) error {
	if c.Account != "" {
		password, err := p.askPassword("Password of " + c.Account)
		if err != nil {
			return err
		}
		if err := p.api.Login(ctx, c.Account, password); err != nil {
			return err
		}
		defer p.api.Logout(context.WithoutCancel(ctx))
	}
	ask := map[string]any{"name": c.Name, "role": c.Role}
	if c.Expires != 0 {
		ask["expires"] = c.Expires.String()
	}
	b, err := p.api.Post(ctx, "/tokens", ask)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	t, err := client.Decode[token](b)
	if err != nil {
		return err
	}
	if c.Quiet {
		fmt.Fprintln(p.out, clean(t.Token))
		return nil
	}
	fields(p.out, "token", t.Token, "id", t.ID, "role", t.Role, "ends", t.ExpiresAt.In(p.now().Location()).Format("2006-01-02 15:04:05 -0700"))
	return nil
}

type tokensRevoke struct {
	ID string `arg:"" help:"Id of the token, as the list has it."`
}

func (tokensRevoke) Help() string {
	return `Examples:

    skerry tokens revoke 5d0c1f9e22a4b871`
}

func (c *tokensRevoke) Run(ctx context.Context, p *program) error {
	return p.api.Delete(ctx, "/tokens/"+url.PathEscape(c.ID))
}
