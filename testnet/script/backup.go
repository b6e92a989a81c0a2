package script

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	net "github.com/skerry/skerry/testnet/world"
)

// saved is what a site's disk held when a copy of it was made, and its application.
type saved struct {
	disk  *net.Disk
	blobs *net.Blobs
	app   application
}

// backup copies what a site has on its disk and in its application.
func (s *site) backup() {
	s.saved = saved{s.Disk.Clone(), s.Blobs.Clone(), s.app.copied()}
}

// restore puts a site's disk back as it was at its backup, and its application where the script says so.
func (s *site) restore(application bool) error {
	if s.saved.disk == nil {
		return errors.New("it has no backup")
	}
	s.stop()
	s.SetBack(s.saved.disk, s.saved.blobs, nil)
	if application {
		glue := s.app.glue
		*s.app = s.saved.app.copied()
		s.app.glue = glue
	}
	return s.restart()
}

// rollOut gives a site another catalog.
func (s *site) rollOut(block []string) error {
	catalog, err := parseCatalog(strings.Join(block, "\n"))
	if err != nil {
		return err
	}
	s.stop()
	if err := s.use(catalog); err != nil {
		return err
	}
	return s.restart()
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
