package crdt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/skerry/skerry/engine"
)

const (
	// maxSites is the most sites that an initial placement may have.
	maxSites = 4096
	// maxName bounds each text of an About, in bytes; a resource may have a long path for its key.
	maxName     = 256
	maxResource = 2048
)

// encodeAbout returns the canonical bytes of about: its JSON as encoding/json writes it.
func encodeAbout(about engine.About) ([]byte, error) {
	if err := checkAbout(about); err != nil {
		return nil, fmt.Errorf("encode about %s: %w", about.Key, err)
	}
	b, err := json.Marshal(about)
	if err != nil {
		return nil, fmt.Errorf("encode about %s: %w", about.Key, err)
	}
	return b, nil
}

// decodeAbout decodes bytes from outside. It takes nothing but what encodeAbout writes.
func decodeAbout(b []byte) (engine.About, error) {
	if len(b) > engine.MaxEntry {
		return engine.About{}, fmt.Errorf("decode about: %w: %d bytes", engine.ErrRefused, len(b))
	}
	var about engine.About
	if err := json.Unmarshal(b, &about); err != nil {
		return engine.About{}, fmt.Errorf("decode about: %w: %w", engine.ErrRefused, err)
	}
	again, err := encodeAbout(about)
	if err != nil {
		return engine.About{}, fmt.Errorf("decode about: %w: %w", engine.ErrRefused, err)
	}
	if !bytes.Equal(again, b) {
		return engine.About{}, fmt.Errorf("decode about: %w: not canonical", engine.ErrRefused)
	}
	return about, nil
}

func checkAbout(a engine.About) error {
	for _, s := range []string{string(a.Service), string(a.Kind), a.Collaboration} {
		if len(s) > maxName || !utf8.ValidString(s) {
			return fmt.Errorf("a name of %d bytes, or no text", len(s))
		}
	}
	if a.Key == "" || len(a.Key) > maxResource || !utf8.ValidString(string(a.Key)) {
		return fmt.Errorf("a key of %d bytes, or no text", len(a.Key))
	}
	switch a.Schema {
	case engine.SchemaResource, engine.SchemaCross:
		cross := a.Schema == engine.SchemaCross
		if a.Service == "" || a.Kind == "" || cross != (a.Collaboration == engine.Cross) || !cross && a.Collaboration != engine.Replication {
			return fmt.Errorf("service %q, kind %q and collaboration %q make no resource", a.Service, a.Kind, a.Collaboration)
		}
	case engine.SchemaChoice:
		if a.Service == "" || a.Kind == "" || a.Collaboration != engine.ExactlyOne || a.Incarnation != 0 || a.Epoch != 0 || len(a.Placement) < 2 {
			return fmt.Errorf("service %q, kind %q and collaboration %q at %d sites give no choice", a.Service, a.Kind, a.Collaboration, len(a.Placement))
		}
	case engine.SchemaMesh:
		if a.Service != "" || a.Kind != "" || a.Collaboration != "" || a.Incarnation != 0 || len(a.Placement) != 1 {
			return errors.New("a mesh has a key and a founder and nothing else")
		}
	default:
		return fmt.Errorf("unknown schema %q", a.Schema)
	}
	if n := len(a.Placement); n == 0 || n > maxSites {
		return fmt.Errorf("a placement of %d sites", n)
	}
	for i, site := range a.Placement {
		if i > 0 && a.Placement[i-1] >= site {
			return errors.New("a placement that is not sorted, or names a site twice")
		}
	}
	switch sites := a.Parts.Sites(); {
	case a.Collaboration != engine.Cross && len(a.Parts) > 0:
		return errors.New("parts of what is not cross")
	case a.Collaboration == engine.Cross && (len(a.Parts) < 2 || !slices.Equal(sites, a.Placement)):
		return errors.New("a cross resource whose parts are not the sites of its placement, or are less than two")
	case slices.ContainsFunc(a.Parts, func(part []engine.SiteID) bool { return len(part) == 0 }):
		return errors.New("a part without a site")
	}
	if i := slices.IndexFunc(a.Placement, func(s engine.SiteID) bool { _, err := decodeSite(s); return err != nil }); i >= 0 {
		return fmt.Errorf("site %q is no peer id", a.Placement[i])
	}
	return nil
}
