package main

import (
	"context"
	"encoding/json"
	"fmt"
)

type openCommand struct{}

func (openCommand) Help() string {
	return `Where nobody has an account, only programs of the agent's own user are let in to its page and API ("api.loopback"). The link lets in a browser
that is none of them, of another account or in a container: once, within ten minutes, and then for twelve hours. Who has it may do everything there.

Examples:

    skerry open
    skerry --api http://127.0.0.1:8701 open`
}

func (openCommand) Run(ctx context.Context, p *program) error {
	b, err := p.api.Post(ctx, "/links", struct{}{})
	if err != nil {
		return err
	}
	var link struct{ Path string }
	if err := json.Unmarshal(b, &link); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	_, err = fmt.Fprintln(p.out, p.api.Base()+link.Path)
	return err
}
