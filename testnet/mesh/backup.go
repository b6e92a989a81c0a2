package mesh

import (
	"maps"

	"github.com/skerry/skerry/testnet/world"
)

// Backup is what a site's disk held at one moment, and its application.
type Backup struct {
	disk    *world.Disk
	blobs   *world.Blobs
	objects map[string]map[string]any
	next    int
}

// Backup copies what the site has on disk, and what its application holds.
func (s *Site) Backup() *Backup {
	return &Backup{s.Disk.Clone(), s.Blobs.Clone(), copied(s.App.objects), s.App.next}
}

// SetBack puts the disk back as it was, the application too where it says so, and starts the site anew.
func (s *Site) SetBack(b *Backup, application bool) error {
	s.Proc.Die()
	s.Site.SetBack(b.disk, b.blobs, nil)
	if application {
		s.App.objects, s.App.next = copied(b.objects), b.next
	}
	return s.begin()
}

func copied(objects map[string]map[string]any) map[string]map[string]any {
	c := make(map[string]map[string]any, len(objects))
	for id, o := range objects {
		c[id] = maps.Clone(o)
	}
	return c
}

// Rejoin empties the site's disk and lets it join the mesh by a new invitation, under its old key.
func (s *Site) Rejoin() error {
	s.Proc.Die()
	s.Site.SetBack(world.NewDisk(s.Clock), world.NewBlobs(), nil)
	if err := s.begin(); err != nil {
		return err
	}
	return s.mesh.Join(s.Site)
}
