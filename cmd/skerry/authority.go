package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine/mesh"
	"github.com/skerry/skerry/p2p"
	"github.com/skerry/skerry/web/client"
)

// authority is a key that may say who belongs to the mesh, as the API tells it.
type authority struct {
	Key  string `json:"key"`
	Site string `json:"site"`
	Self bool   `json:"self"`
}

type authorityCommand struct {
	Show    authorityShow    `cmd:"" default:"withargs" help:"List the authorities of the mesh, by rank (the default)."`
	Add     authorityAdd     `cmd:"" help:"Make a key an authority."`
	Remove  authorityRemove  `cmd:"" help:"Have a key be no authority any more."`
	New     authorityNew     `cmd:"" help:"Make a key that is kept off line, and print what it is called."`
	Request authorityRequest `cmd:"" help:"Print a request that an authority signs whose key is kept off line."`
	Sign    authoritySign    `cmd:"" help:"Show what a request says, sign it with a key that is kept off line, and print the answer."`
	Apply   authorityApply   `cmd:"" help:"Have the mesh take in an answer."`
}

func (authorityCommand) Help() string {
	return `Only authorities say who belongs to the mesh, how sites are called, who has to go, and which zones there are. The first site's key
is the first authority. A key of its own, kept off line, can take its place:

    skerry authority new ./mesh.key                        # where it is kept: prints the KEY
    skerry authority add --first KEY                       # at the first site
    skerry authority request --by KEY --remove paris > q   # at any site
    skerry authority sign q --key ./mesh.key > a           # where the key is kept
    skerry authority apply a                               # at any site`
}

type authorityShow struct{ paging }

func (c *authorityShow) Run(ctx context.Context, p *program) error {
	l := listing[authority]{
		paging: c.paging, path: "/authorities",
		columns: []column{{"KEY", 0, 0}, {"SITE", 0, 0}},
		row:     func(a authority) []string { return []string{a.Key, a.Site} },
		key:     func(a authority) string { return a.Key },
	}
	return l.run(ctx, p)
}

type authorityAdd struct {
	Key   string `arg:"" help:"The key, or the name of a site whose key it is."`
	First bool   `help:"Give it the rank before that of this site, and not the lowest: who ranks higher can remove who ranks lower."`
}

func (c *authorityAdd) Run(ctx context.Context, p *program) error {
	_, err := p.api.Post(ctx, "/authorities", map[string]any{"key": c.Key, "first": c.First})
	return err
}

type authorityRemove struct {
	Key string `arg:"" help:"The key, or the name of a site whose key it is."`
}

func (authorityRemove) Help() string {
	return `What it has signed and still counts, this site signs anew in the same act. Nothing else that it has signed counts from then on,
whatever date it has. The last authority stays.

Examples:

    skerry authority remove nantes`
}

func (c *authorityRemove) Run(ctx context.Context, p *program) error {
	return p.api.Delete(ctx, "/authorities/"+url.PathEscape(c.Key))
}

type authorityNew struct {
	File string `arg:"" type:"path" help:"The file to write the key to. Nobody else may read it."`
}

func (c *authorityNew) Run(_ context.Context, p *program) error {
	if _, err := os.Lstat(c.File); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already: choose another file", c.File)
	}
	key, err := p2p.MakeKey(c.File)
	if err != nil {
		return err
	}
	id, err := p2p.SiteIDOf(key)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, id)
	return nil
}

type authorityRequest struct {
	By       string        `required:"" placeholder:"KEY" help:"The authority that is to sign."`
	Certify  string        `xor:"what" placeholder:"SITE" help:"Certify this site, by its name or, of a new one, its peer id."`
	Name     string        `placeholder:"NAME" help:"With --certify: what it is to be called."`
	ValidFor time.Duration `placeholder:"DURATION" help:"With --certify: how long the certificate is good; without it it has no end."`
	Retire   string        `xor:"what" placeholder:"SITE" help:"Retire this site."`
	Revoke   string        `xor:"what" placeholder:"SITE" help:"Revoke the key of this site."`
	Add      string        `xor:"what" placeholder:"KEY" help:"Make this key an authority."`
	First    bool          `help:"With --add: of a rank above that of the one that signs."`
	Remove   string        `xor:"what" placeholder:"KEY" help:"Have this key be no authority any more."`
	Zone     string        `xor:"what" placeholder:"ZONE" help:"Give this zone the sites of --sites; without any it is taken away."`
	Sites    []string      `placeholder:"SITE,…" help:"With --zone: its sites."`
}

func (c *authorityRequest) Run(ctx context.Context, p *program) error {
	ask := map[string]any{"by": c.By}
	for name, v := range map[string]string{"certify": c.Certify, "name": c.Name, "retire": c.Retire, "revoke": c.Revoke, "add": c.Add, "remove": c.Remove, "zone": c.Zone} {
		if v != "" {
			ask[name] = v
		}
	}
	if c.ValidFor != 0 {
		ask["valid_for"] = c.ValidFor.String()
	}
	if c.First {
		ask["first"] = true
	}
	if len(c.Sites) > 0 {
		ask["sites"] = c.Sites
	}
	b, err := p.api.Post(ctx, "/authorities/requests", ask)
	if err != nil {
		return err
	}
	q, err := client.Decode[struct {
		Request string `json:"request"`
	}](b)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, clean(q.Request))
	return nil
}

type authoritySign struct {
	Request string `arg:"" type:"existingfile" help:"The file with the request."`
	Key     string `required:"" type:"path" placeholder:"FILE" help:"The file with the key."`
}

func (authoritySign) Help() string {
	return `What would be signed is told on standard error, each thing on a line of its own; the answer goes to standard output. It takes
no agent and no network.

Examples:

    skerry authority sign request --key ./mesh.key > answer`
}

func (c *authoritySign) Run(_ context.Context, p *program) error {
	text, err := os.ReadFile(c.Request)
	if err != nil {
		return err
	}
	q, words, err := mesh.ReadRequest(string(text))
	if err != nil {
		return err
	}
	key, err := p2p.ReadKey(c.Key)
	if err != nil {
		return err
	}
	signer, err := crdt.New(key)
	if err != nil {
		return err
	}
	if signer.Self() != q.By {
		return fmt.Errorf("the request is for %s, and this is the key of %s", clean(string(q.By)), signer.Self())
	}
	fmt.Fprintf(p.errs, "In the mesh %s it says:\n", clean(q.Mesh))
	for _, w := range words {
		fmt.Fprintf(p.errs, "  %s\n", clean(w))
	}
	fmt.Fprintln(p.out, q.Answer(signer.Sign))
	return nil
}

type authorityApply struct {
	Answer string `arg:"" type:"existingfile" help:"The file with the answer."`
}

func (c *authorityApply) Run(ctx context.Context, p *program) error {
	text, err := os.ReadFile(c.Answer)
	if err != nil {
		return err
	}
	_, err = p.api.Post(ctx, "/authorities/answers", map[string]string{"answer": strings.TrimSpace(string(text))})
	return err
}
