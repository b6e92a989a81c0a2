package crdt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/skerry/skerry/engine"
)

const (
	// maxSites is the most sites that an initial placement may have.
	maxSites = 4096
	// maxName bounds the names of an About, in bytes; a resource may have a long path for its key.
	maxName     = 256
	maxResource = 2048
)

// encodeAbout returns the canonical bytes of an About that makes sense.
func (d *Documents) encodeAbout(about engine.About) ([]byte, error) {
	if err := d.checkAbout(about); err != nil {
		return nil, err
	}
	b := engine.Encode(about)
	if len(b) > engine.MaxAbout {
		return nil, fmt.Errorf("%d bytes", len(b))
	}
	return b, nil
}

// decodeAbout takes nothing but what encodeAbout returns.
func (d *Documents) decodeAbout(b []byte) (engine.About, error) {
	if len(b) > engine.MaxAbout {
		return engine.About{}, fmt.Errorf("%d bytes", len(b))
	}
	var about engine.About
	if err := engine.Decode(b, &about); err != nil {
		return engine.About{}, err
	}
	again, err := d.encodeAbout(about)
	if err != nil {
		return engine.About{}, err
	}
	if !bytes.Equal(again, b) {
		return engine.About{}, errors.New("not canonical")
	}
	return about, nil
}

func (d *Documents) checkAbout(a engine.About) error {
	for _, s := range []string{string(a.Service), string(a.Kind)} {
		if s == "" || len(s) > maxName || !utf8.ValidString(s) {
			return fmt.Errorf("a name of %d bytes, or no text", len(s))
		}
	}
	if a.Key == "" || len(a.Key) > maxResource || !utf8.ValidString(string(a.Key)) {
		return fmt.Errorf("a key of %d bytes, or no text", len(a.Key))
	}
	if n := len(a.Placement); n == 0 || n > maxSites {
		return fmt.Errorf("a placement of %d sites", n)
	}
	for i, site := range a.Placement {
		if i > 0 && a.Placement[i-1] >= site {
			return errors.New("a placement that is not sorted, or names a site twice")
		}
		if _, err := d.authors.of(site); err != nil {
			return err
		}
	}
	switch a.Collaboration {
	case engine.Replication:
	case engine.Cross:
		return checkParts(a.Parts, a.Placement)
	case engine.ExactlyOne:
		if a.Incarnation != 0 || len(a.Placement) < 2 {
			return fmt.Errorf("a name in incarnation %d, for %d sites", a.Incarnation, len(a.Placement))
		}
	default:
		return fmt.Errorf("unknown collaboration %.40q", a.Collaboration)
	}
	if len(a.Parts) > 0 {
		return errors.New("parts of what is not cross")
	}
	return nil
}

func checkParts(parts engine.Parts, placement []engine.SiteID) error {
	if len(parts) < 2 || slices.ContainsFunc(parts, func(part []engine.SiteID) bool { return len(part) == 0 }) {
		return errors.New("a cross resource of less than two parts, or with one that no site holds")
	}
	sites := slices.Concat(parts...)
	slices.Sort(sites)
	if !slices.Equal(sites, placement) {
		return errors.New("a cross resource whose parts are not at the sites of its placement")
	}
	return nil
}
