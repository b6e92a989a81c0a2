package script

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// saved is what a site's disk held when a copy of it was made, and its application.
type saved struct {
	dir string
	app application
}

// backup copies what a site has on its disk and in its application, while its agent stands still.
func (w *world) backup(ctx context.Context, s *site) error {
	s.saved = saved{dir: s.dir + ".backup", app: s.app.copied()}
	return s.anew(ctx, func() error {
		return errors.Join(os.RemoveAll(s.saved.dir), os.CopyFS(s.saved.dir, os.DirFS(s.dir)))
	})
}

// restore puts a site's disk back as it was at its backup, and its application where the script says so.
func (w *world) restore(ctx context.Context, s *site, application bool) error {
	if s.saved.dir == "" {
		return errors.New("it has no backup")
	}
	if application {
		*s.app = s.saved.app.copied()
	}
	return s.anew(ctx, func() error {
		return errors.Join(os.RemoveAll(s.dir), os.CopyFS(s.dir, os.DirFS(s.saved.dir)))
	})
}

// clone starts a second agent from a copy of a site's disk, in front of the same application.
func (w *world) clone(ctx context.Context, s *site, name string) error {
	c := &site{world: w, name: name, id: s.id, key: s.key, dir: w.directory(name), app: s.app, kinds: s.kinds, starts: 1000, spoken: s.spoken}
	if err := s.anew(ctx, func() error { return os.CopyFS(c.dir, os.DirFS(s.dir)) }); err != nil {
		return err
	}
	if err := c.start(ctx); err != nil {
		return err
	}
	w.sites = append(w.sites, c)
	c.work(ctx)
	return nil
}

// empty takes away all that a site has on its disk, and lets it join the mesh anew.
func (w *world) empty(ctx context.Context, s *site) error {
	if s == w.sites[0] {
		return errors.New("the first site lets the others in")
	}
	if err := s.anew(ctx, func() error { return os.RemoveAll(s.dir) }); err != nil {
		return err
	}
	return w.join(ctx, s)
}

// rollOut gives a site another catalog.
func (w *world) rollOut(ctx context.Context, s *site, block []string) error {
	catalog, err := parseCatalog(strings.Join(block, "\n"))
	if err != nil {
		return err
	}
	s.kinds = catalog.Services[service].Kinds
	return s.restart(ctx)
}

// anew ends a site's agent, changes its disk, and starts it again.
func (s *site) anew(ctx context.Context, change func() error) error {
	if err := s.stop(); err != nil {
		return err
	}
	s.store = nil
	if err := change(); err != nil {
		return err
	}
	return s.restart(ctx)
}

// parseCatalog reads the catalog of the application's service.
func parseCatalog(yaml string) (*glue.Catalog, error) {
	var text strings.Builder
	text.WriteString("application: script\nservices:\n  " + string(service) + ":\n")
	for line := range strings.Lines(yaml) {
		text.WriteString("  " + line)
	}
	return glue.ParseCatalog("catalog", []byte(text.String()))
}

// copied returns the application as it is now.
func (a *application) copied() application {
	c := *a
	c.files, c.answers, c.acts = maps.Clone(a.files), maps.Clone(a.answers), map[string][]string{}
	for id, done := range a.acts {
		c.acts[id] = append([]string{}, done...)
	}
	c.objects = map[string]map[string]any{}
	if err := json.Unmarshal(encode(a.objects), &c.objects); err != nil {
		panic(err) // it was just encoded
	}
	return c
}

// kindsOf are the kinds that a site starts with.
func (s *site) kindsOf() []*engine.Kind {
	if s.kinds == nil {
		return s.world.catalog.Services[service].Kinds
	}
	return s.kinds
}

// directory is where the site's files are.
func (w *world) directory(name string) string { return filepath.Join(w.dir, name) }
