package mesh

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
)

// Backup is what a site's disk held at one moment, and its application.
type Backup struct {
	dir     string
	objects map[string]map[string]any
	next    int
}

// Backup ends the site's process, copies its data directory to dir and what its application holds, and starts it anew.
func (s *Site) Backup(ctx context.Context, dir string) (*Backup, error) {
	b := &Backup{dir: dir}
	err := s.replace(ctx, func() error { return os.CopyFS(dir, os.DirFS(s.dir)) })
	s.App.mu.Lock()
	defer s.App.mu.Unlock()
	b.objects, b.next = copied(s.App.objects), s.App.next
	return b, err
}

// SetBack puts the data directory back as it was, the application too where it says so, and starts the site anew.
func (s *Site) SetBack(ctx context.Context, b *Backup, application bool) error {
	return s.replace(ctx, func() error {
		if application {
			s.App.mu.Lock()
			s.App.objects, s.App.next = copied(b.objects), b.next
			s.App.mu.Unlock()
		}
		if err := os.RemoveAll(s.dir); err != nil {
			return err
		}
		return os.CopyFS(s.dir, os.DirFS(b.dir))
	})
}

func copied(objects map[string]map[string]any) map[string]map[string]any {
	c := make(map[string]map[string]any, len(objects))
	for id, o := range objects {
		c[id] = maps.Clone(o)
	}
	return c
}

// replace ends the site's process and starts it anew after f.
func (s *Site) replace(ctx context.Context, f func() error) error {
	s.stop()
	s.mesh.mu.Lock()
	defer s.mesh.mu.Unlock()
	if err := s.store.Close(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.start(ctx)
	return nil
}

// Clone starts another process from a copy of the site's data directory, with the same key and in front of the same
// application. The mesh closes it.
func (s *Site) Clone(ctx context.Context) (*Site, error) {
	c := &Site{ID: s.ID, Name: s.Name, App: s.App, mesh: s.mesh, kinds: s.kinds, key: s.key, log: s.log, dir: filepath.Join(s.mesh.dir, "clone of "+string(s.Name))}
	err := s.replace(ctx, func() error { return os.CopyFS(c.dir, os.DirFS(s.dir)) })
	if err != nil {
		return nil, err
	}
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	c.start(ctx)
	s.mesh.Sites = append(s.mesh.Sites, c)
	return c, nil
}

// Rejoin empties the site's data directory and lets it join the mesh by a new invitation, under its old key or, like a new
// site, under another one and another name.
func (s *Site) Rejoin(ctx context.Context, key bool) error {
	s.stop()
	if err := errors.Join(s.store.Close(), os.RemoveAll(s.dir), os.Mkdir(s.dir, 0o700)); err != nil {
		return err
	}
	s.mesh.mu.Lock()
	defer s.mesh.mu.Unlock()
	if !key {
		s.Name += "b"
		if err := s.newKey(); err != nil {
			return err
		}
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	if err := s.mesh.join(ctx, s); err != nil {
		return err
	}
	s.start(ctx)
	return nil
}
