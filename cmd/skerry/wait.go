package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/client"
)

// waitCommand follows one operation until nothing more comes of it by itself.
type waitCommand struct {
	ID      string        `arg:"" help:"Identifier of the operation."`
	Site    string        `placeholder:"NAME" help:"Wait for this site alone, which is asked (default: for all that the operation concerns)."`
	Timeout time.Duration `placeholder:"DURATION" help:"Give up after this long (default: never)."`
}

func (waitCommand) Help() string {
	return `What changes on the way is told on standard error, a line each: which site waits for what, how much of a large
body is there, which attempt failed and when the next one is. It ends with status 0 once the operation is applied (or a
later one has taken its place), and with 1 when a site has refused it or a person has to decide first.

Examples:

    skerry operations wait 0190a5c2-8a01-7d20-b1c9-1f6d1f0f2b77
    skerry operations wait 0190a5c2-8a01-7d20-b1c9-1f6d1f0f2b77 --site nantes --timeout 5m`
}

// waitPause is between two looks at what is waited for.
const waitPause = 500 * time.Millisecond

func (c *waitCommand) Run(ctx context.Context, p *program) error {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	told := map[string]string{}
	for {
		b, err := getOperation(ctx, p, c.ID, c.Site)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			o, err := client.Decode[operation](b)
			if err != nil {
				return err
			}
			open, stuck := o.progress(c.Site, func(site, line string) {
				if told[site] != line {
					told[site] = line
					fmt.Fprintln(p.errs, clean(line))
				}
			})
			switch {
			case len(stuck) > 0:
				return fmt.Errorf("operation %s has to be looked at: %s", o.ID, strings.Join(stuck, "; "))
			case !open && p.json:
				return p.printJSON(b)
			case !open:
				fmt.Fprintf(p.out, "operation %s is %s\n", o.ID, o.State)
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("operation %s is not applied yet", c.ID)
		case <-time.After(waitPause):
		}
	}
}

// progress tells a line for each site, or for one only, and reports whether any has something left to do, and which do not go on by
// themselves.
func (o *operation) progress(only string, tell func(site, line string)) (open bool, stuck []string) {
	for _, name := range slices.Sorted(maps.Keys(o.Sites)) {
		if only != "" && name != only {
			continue
		}
		s := o.Sites[name]
		line := name + ": " + s.State
		if o.Blob != nil && s.Fetched > 0 {
			line += fmt.Sprintf(", %s of %s are here", engine.Bytes(s.Fetched), engine.Bytes(o.Blob.Size))
		}
		if s.Attempts > 0 && s.State == "pending" {
			line += fmt.Sprintf(", attempt %d", s.Attempts)
		}
		if s.Error != "" {
			line += ": " + s.Error
		}
		switch s.State {
		case "applied", "superseded":
		case "rejected", "uncertain", "held":
			stuck = append(stuck, line)
		default:
			open = true
		}
		tell(name, line)
	}
	return open || len(o.Sites) == 0, stuck
}
