package mesh

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skerry/skerry/engine"
)

// Bounds of what a record may say. An honest site stays below all of them.
const (
	maxNumber = 1 << 48
	// maxTime is the latest time that is believed, in Unix microseconds: the year 2255.
	maxTime = 1 << 53

	maxName    = 63  // bytes of the name of a site, a zone or a kind of record
	maxAbout   = 256 // of what a key is about
	maxText    = 256 // of a name that the catalog or a configuration gives
	maxReason  = 1024
	maxAddress = 256

	maxAddresses = 64
	maxServices  = 256
	maxRules     = 4096

	maxUses = 1 << 20
	maxTerm = 1 << 32 // seconds of a certificate
	// maxLists is how often the authorities may change: each list stays.
	maxLists = 1024
	// maxOther is the most bytes of a record of a kind that is unknown here, maxOthers how many of them one site may have.
	maxOther  = 16 << 10
	maxOthers = 64
)

const (
	// MaxZone is the most sites that a zone may have, MaxZones how many zones there may be, deleted ones included.
	MaxZone  = 1024
	MaxZones = 1024
	// MaxInvitations is how many invitations of one site may be open at once.
	MaxInvitations = 64
	// MaxHeard is how many other runs under its key a site tells of.
	MaxHeard = 64
	// MaxMembers is how many sites a mesh may ever have had.
	MaxMembers = 1 << 14
	// MaxAuthorities is how many authorities a mesh may have.
	MaxAuthorities = 64
)

// decode decodes and checks the body of r. The error wraps ErrRefused.
func (r *record) decode() error {
	var err error
	switch r.Key.Kind {
	case engine.RecordMesh:
		err = decode(r, func(o engine.MeshOrigin) error { return r.checkOrigin(o) })
	case engine.RecordSite:
		err = decode(r, func(s engine.SiteRecord) error { return first(r.isOf(""), CheckSite(s)) })
	case engine.RecordBulletin:
		err = decode(r, func(b engine.Bulletin) error { return first(r.isOf(""), CheckBulletin(b)) })
	case engine.RecordAuthorities:
		err = decode(r, func(a engine.Authorities) error { return r.checkAuthorities(a) })
	case engine.RecordCertificate:
		err = decode(r, func(c engine.Certificate) error { return r.checkCertificate(c) })
	case engine.RecordRemoval, engine.RecordRevocation:
		err = decode(r, func(m engine.Removal) error { return first(r.isOfSite(), checkTime(m.At)) })
	case engine.RecordInvitation:
		err = decode(r, func(i engine.Invitation) error { return r.checkInvitation(i) })
	case engine.RecordZone:
		err = decode(r, func(z engine.ZoneRecord) error { return r.checkZone(z) })
	default:
		if n := len(r.raw.Record); n > maxOther {
			err = fmt.Errorf("%d bytes of an unknown kind", n)
		}
	}
	if err != nil && !errors.Is(err, engine.ErrRefused) {
		err = fmt.Errorf("%w: %w", engine.ErrRefused, err)
	}
	return err
}

func decode[T any](r *record, check func(T) error) error {
	var said T
	if err := engine.Decode(r.Body, &said); err != nil {
		return err
	}
	if err := check(said); err != nil {
		return err
	}
	r.said = said
	return nil
}

// first returns the first error that there is.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *record) isOf(about string) error {
	if r.Key.About != about {
		return fmt.Errorf("it is about %.60q", r.Key.About)
	}
	return nil
}

func (r *record) isOfSite() error {
	if !validSite(engine.SiteID(r.Key.About)) {
		return fmt.Errorf("%.60q is no site", r.Key.About)
	}
	return nil
}

func (r *record) checkOrigin(o engine.MeshOrigin) error {
	return first(r.isOf(""), checkText("identifier", o.Mesh, 1, maxText), checkTime(o.At))
}

func (r *record) checkAuthorities(a engine.Authorities) error {
	place, err := strconv.Atoi(r.Key.About)
	switch n := len(a.Keys); {
	case err != nil || place < 1 || place > maxLists || strconv.Itoa(place) != r.Key.About:
		return fmt.Errorf("%.20q is no place of a list of authorities", r.Key.About)
	case n == 0 || n > MaxAuthorities:
		return fmt.Errorf("%d authorities", n)
	case len(slices.Compact(slices.Sorted(slices.Values(a.Keys)))) != n:
		return errors.New("an authority twice")
	case slices.ContainsFunc(a.Keys, func(id engine.SiteID) bool { return !validSite(id) }):
		return errors.New("an authority that is no key")
	}
	return nil
}

func (r *record) checkCertificate(c engine.Certificate) error {
	if c.Until != 0 && c.Until <= c.From {
		return fmt.Errorf("good from %d until %d", c.From, c.Until)
	}
	return first(r.isOfSite(), checkText("invitation", c.Invitation, 0, maxText), checkName(string(c.Name)), checkTime(c.At), checkTime(c.From), checkTime(c.Until))
}

func (r *record) checkInvitation(i engine.Invitation) error {
	place, err := strconv.ParseUint(r.Key.About, 10, 16)
	switch {
	case err != nil || place == 0 || place > MaxInvitations || strconv.FormatUint(place, 10) != r.Key.About:
		return fmt.Errorf("%.20q is no place of an invitation", r.Key.About)
	case i.Issuer != r.raw.Author:
		return errors.New("an invitation of somebody else")
	case i.Uses < 0 || i.Uses > maxUses:
		return fmt.Errorf("%d uses", i.Uses)
	case i.Term < 0 || i.Term > maxTerm:
		return fmt.Errorf("certificates for %d seconds", i.Term)
	}
	return checkText("identifier", i.ID, 1, maxText)
}

func (r *record) checkZone(z engine.ZoneRecord) error {
	switch n := len(z.Sites); {
	case n > MaxZone || z.Deleted != (n == 0):
		return fmt.Errorf("a zone of %d sites (deleted %t)", n, z.Deleted)
	case !slices.IsSorted(z.Sites) || len(slices.Compact(slices.Clone(z.Sites))) != n:
		return errors.New("a zone whose sites are not sorted, or twice the same")
	case slices.ContainsFunc(z.Sites, func(id engine.SiteID) bool { return !validSite(id) }):
		return errors.New("a zone of what is no site")
	}
	return first(checkName(r.Key.About), checkTime(z.At))
}

// CheckSite says why a site's record of itself would be refused by others; nil: it would not.
func CheckSite(s engine.SiteRecord) error {
	err := first(checkName(string(s.Name)), checkTexts("addresses", s.Addresses, maxAddresses, maxAddress),
		checkTexts("services", s.Services, maxServices, maxText), checkTexts("runs", s.Heard, MaxHeard, maxText),
		checkText("application", s.Application, 0, maxText), checkText("catalog", s.Catalog, 0, maxText),
		checkText("version", s.Version, 0, maxText), checkText("application's version", s.ApplicationVersion, 0, maxText),
		checkText("run", s.Run, 0, maxText), checkTime(s.At), checkTime(s.Rejoined))
	if err != nil {
		return err
	}
	switch {
	case len(s.Rules) > maxRules || len(s.Queues) > maxServices:
		return fmt.Errorf("rules of %d kinds and queues of %d services", len(s.Rules), len(s.Queues))
	case s.Coordinate != nil && !s.Coordinate.Valid():
		return errors.New("a coordinate that makes no sense")
	}
	for kind, digest := range s.Rules {
		if err := first(checkText("kind", kind, 1, 2*maxText+1), checkText("digest", digest, 1, maxText)); err != nil {
			return err
		}
	}
	for service, q := range s.Queues {
		err := first(checkText("service", string(service), 1, maxText), checkText("state", string(q.State), 1, maxText),
			checkText("reason", q.Reason, 0, maxReason))
		if err != nil {
			return err
		}
	}
	return nil
}

// validSite reports whether id can be a SiteID. That it is one shows when something is signed with its key.
func validSite(id engine.SiteID) bool {
	return id != "" && len(id) <= engine.MaxSiteID && !strings.ContainsFunc(string(id), func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func checkName(s string) error {
	if err := checkText("name", s, 1, maxName); err != nil {
		return err
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
		return fmt.Errorf("%q is no name", s)
	}
	return nil
}

func checkText(what, s string, least, most int) error {
	if len(s) < least || len(s) > most || !utf8.ValidString(s) {
		return fmt.Errorf("%s of %d bytes, or no text", what, len(s))
	}
	return nil
}

func checkTexts[T ~string](what string, list []T, number, most int) error {
	if len(list) > number {
		return fmt.Errorf("%d %s", len(list), what)
	}
	for _, s := range list {
		if err := checkText(what, string(s), 1, most); err != nil {
			return err
		}
	}
	return nil
}

func checkTime(at int64) error {
	if at < 0 || at > maxTime {
		return fmt.Errorf("time %d", at)
	}
	return nil
}
