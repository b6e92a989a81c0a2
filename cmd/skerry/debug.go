package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/skerry/skerry/web/client"
)

type debugCommand struct {
	Bundle   debugBundle   `cmd:"" help:"Write a file with how a site is and what its agent is busy with."`
	LogLevel debugLogLevel `cmd:"" help:"Show from which level on the agent writes its log, or change that while it runs."`
}

type debugLogLevel struct {
	Level string `arg:"" optional:"" help:"debug, info, warn or error; without it, what it is now."`
}

func (debugLogLevel) Help() string {
	return `A change holds until the agent ends, or reads its configuration again, where log.level says what it is from then on. It takes the role admin.

Examples:

    skerry debug log-level
    skerry debug log-level debug`
}

func (c *debugLogLevel) Run(ctx context.Context, p *program) error {
	const path = "/debug/log-level"
	var v struct {
		Level string `json:"level"`
	}
	var b json.RawMessage
	var err error
	if c.Level == "" {
		b, err = p.api.Get(ctx, path, nil)
	} else {
		b, err = p.api.Put(ctx, path, map[string]string{"level": c.Level})
	}
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	switch {
	case err != nil:
		return err
	case p.json:
		return p.printJSON(v)
	}
	_, err = fmt.Fprintln(p.out, v.Level)
	return err
}

type debugBundle struct {
	Seconds int    `default:"5" placeholder:"N" help:"For how long to watch the processor: 1 to 30 (default ${default})."`
	Limit   int    `default:"1000" placeholder:"N" help:"At most so many of the newest resources, operations, conflicts and events each (default ${default})."`
	File    string `arg:"" type:"path" help:"The bundle, a .tar.gz that is not there yet."`
}

func (debugBundle) Help() string {
	return `Gathers, for whoever is to find out what is wrong, what the agent tells of itself: its configuration without secrets, states of sites, resources,
operations and conflicts, the last events, metrics, goroutines, memory, and what the processor does for a while. README.txt in the bundle lists it.
Bodies of requests, and what they set, are left out. Names, identifiers and addresses are in it: look before you hand it on.

Configuration and profiles take the role admin. What cannot be had is left out, and the bundle says why.

Examples:

    skerry debug bundle paris.tar.gz
    skerry debug bundle --seconds 30 "paris-$(date +%F).tar.gz"`
}

// part is one file of a bundle.
type part struct {
	name, about string
	get         func(context.Context) ([]byte, error)
}

func (c *debugBundle) Run(ctx context.Context, p *program) (err error) {
	switch {
	case c.Seconds < 1 || c.Seconds > 30:
		return usagef("--seconds is %d: give a number from 1 to 30", c.Seconds)
	case c.Limit < 1:
		return usagef("--limit is %d: give a number from 1", c.Limit)
	}
	f, err := os.OpenFile(c.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("there is something at %s already", c.File)
	} else if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(f.Name())
		}
	}()
	compressed := gzip.NewWriter(f)
	archive := tar.NewWriter(compressed)
	folder := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(c.File), ".gz"), ".tar")
	write := func(name string, b []byte) error {
		h := &tar.Header{Name: folder + "/" + name, Mode: 0o600, Size: int64(len(b)), ModTime: p.now()}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		_, err := archive.Write(b)
		return err
	}
	readme := fmt.Sprintf("Made by skerry debug bundle (%s) at %s, from %s.\n\n", ownVersion(), p.now().UTC().Format("2006-01-02T15:04:05Z"), p.api.Base())
	missing := 0
	for _, part := range c.parts(p) {
		b, err := part.get(ctx)
		if gone := (*client.Unreachable)(nil); ctx.Err() != nil || errors.As(err, &gone) {
			return err
		}
		if err != nil {
			missing++
			readme += fmt.Sprintf("%s is not there: %s\n", part.name, clean(err.Error()))
			fmt.Fprintf(p.errs, "skerry: %s is left out: %s\n", part.name, clean(err.Error()))
			continue
		}
		readme += part.name + ": " + part.about + "\n"
		if err := write(part.name, b); err != nil {
			return err
		}
	}
	readme += "\nBodies of requests, and what they set, are left out. Read the files ending in .pprof with go tool pprof.\n"
	if err := errors.Join(write("README.txt", []byte(readme)), archive.Close(), compressed.Close(), f.Sync()); err != nil {
		return err
	}
	if p.json {
		return p.printJSON(map[string]any{"file": c.File, "missing": missing})
	}
	fmt.Fprintf(p.out, "%s: what the agent at %s tells of itself; README.txt in it lists it\n", c.File, p.api.Base())
	return nil
}

// parts are the files of a bundle, in the order in which they are gathered.
func (c *debugBundle) parts(p *program) []part {
	told := func(path string) func(context.Context) ([]byte, error) {
		return func(ctx context.Context) ([]byte, error) {
			b, err := p.api.Get(ctx, path, nil)
			if err != nil {
				return nil, err
			}
			return indented(b)
		}
	}
	listed := func(path, cursor string, hidden ...string) func(context.Context) ([]byte, error) {
		return func(ctx context.Context) ([]byte, error) {
			l := listing[json.RawMessage]{paging: paging{Limit: c.Limit}, path: path, cursor: cursor}
			items, next, err := l.fetch(ctx, p.api)
			if err != nil {
				return nil, err
			}
			for i := range items {
				if items[i], err = without(items[i], hidden); err != nil {
					return nil, err
				}
			}
			return indented(map[string]any{"items": items, "more": next != ""})
		}
	}
	raw := func(path string, query url.Values) func(context.Context) ([]byte, error) {
		return func(ctx context.Context) ([]byte, error) { return p.api.Whole(ctx, path, query) }
	}
	profile := func(name string, query url.Values) func(context.Context) ([]byte, error) {
		return raw("/api/v1/debug/profiles/"+name, query)
	}
	return []part{
		{"version.json", "the agent, and whether it is alive", raw("/healthz", nil)},
		{"summary.json", "whether all is well, as far as the site knows", told("/summary")},
		{"configuration.json", "the agent's configuration without secrets", told("/debug/configuration")},
		{"sites.json", "the sites of the mesh, and how they are", listed("/sites", "")},
		{"services.json", "the services of the application", listed("/services", "")},
		{"zones.json", "the zones", listed("/zones", "")},
		{"resources.json", "the newest resources, with their states", listed("/resources", "cursor", "share")},
		{"operations.json", "the newest operations, with their states", listed("/operations", "cursor", "body", "body_encoding", "change")},
		{"conflicts.json", "what waits for a person", listed("/conflicts", "cursor")},
		{"events.json", "the last events, newest first", listed("/events/log", "before")},
		{"metrics.txt", "the metrics", raw("/metrics", nil)},
		{"goroutines.txt", "what each goroutine is at", profile("goroutine", url.Values{"debug": {"2"}})},
		{"heap.pprof", "what memory is used for", profile("heap", nil)},
		{"cpu.pprof", fmt.Sprintf("what the processor did for %d s", c.Seconds), profile("cpu", url.Values{"seconds": {strconv.Itoa(c.Seconds)}})},
	}
}

// without takes members out of a JSON value, at whatever depth they are.
func without(b json.RawMessage, members []string) (json.RawMessage, error) {
	if len(members) == 0 {
		return b, nil
	}
	v, err := client.Decode[any](b)
	if err != nil {
		return nil, err
	}
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			for _, m := range members {
				delete(x, m)
			}
			for _, member := range x {
				walk(member)
			}
		case []any:
			for _, item := range x {
				walk(item)
			}
		}
	}
	walk(v)
	return json.Marshal(v)
}

func indented(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return append(b, '\n'), err
}
