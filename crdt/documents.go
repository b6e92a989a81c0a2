package crdt

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/skerry/skerry/engine"
)

// Documents implements engine.Documents for one site. It keeps the site's key, and remembers what follows from the names of
// authors and which roots of batches it has verified. It is safe for concurrent use.
type Documents struct {
	scheme  Scheme
	key     ed25519.PrivateKey
	self    *author
	authors authors
	roots   roots
}

var _ engine.Documents = (*Documents)(nil)

// New returns what writes documents in the name of the site of this key, which must be Ed25519.
func New(key crypto.PrivKey) (*Documents, error) { return NewUnder(Ed25519{}, key) }

// NewUnder is New with another scheme, which all sites must have.
func NewUnder(scheme Scheme, key crypto.PrivKey) (*Documents, error) {
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("read the site's key: %w", err)
	}
	raw, err := key.Raw()
	if err != nil {
		return nil, fmt.Errorf("read the site's key: %w", err)
	}
	if key.Type() != crypto.Ed25519 || len(raw) != ed25519.PrivateKeySize {
		return nil, errors.New("read the site's key: it is not Ed25519")
	}
	self, err := newAuthor(engine.SiteID(id.String()))
	if err != nil {
		return nil, fmt.Errorf("read the site's key: %w", err)
	}
	return &Documents{scheme: scheme, key: raw, self: self}, nil
}

// Self is the site in whose name documents are written.
func (d *Documents) Self() engine.SiteID { return d.self.id }

// Identify implements engine.Documents.
func (d *Documents) Identify(about engine.About) ([]byte, engine.DocumentID, error) {
	b, err := d.encodeAbout(about)
	if err != nil {
		return nil, "", fmt.Errorf("identify %.60q: %w: %w", about.Key, engine.ErrRefused, err)
	}
	return b, documentID(firstHash(about.Collaboration, b)), nil
}

// Decode implements engine.Documents.
func (d *Documents) Decode(about []byte) (engine.About, engine.DocumentID, error) {
	a, err := d.decodeAbout(about)
	if err != nil {
		return engine.About{}, "", fmt.Errorf("decode about: %w: %w", engine.ErrRefused, err)
	}
	return a, documentID(firstHash(a.Collaboration, about)), nil
}

// First implements engine.Documents.
func (d *Documents) First(about engine.About, id engine.DocumentID, epoch uint64) engine.Tip {
	if h, ok := hashNamed(id); epoch == 0 && ok {
		return engine.Tip{Hash: h, Last: firstLast(mapsOf[about.Collaboration], 0)}
	}
	_, h, last := firstChange(nil, about.Collaboration, engine.Encode(about), epoch)
	return engine.Tip{Hash: h, Last: last}
}

// maxNumber is how many changes a site may make in one epoch's document: far more than any makes, and so few that no
// counter comes near what Automerge can count to.
const maxNumber = 1 << 19

// mapsOf are the maps of documents by collaboration.
var mapsOf = map[engine.Collaboration][]engine.MapName{
	engine.Replication: engine.Replication.Maps(), engine.Cross: engine.Cross.Maps(), engine.ExactlyOne: engine.ExactlyOne.Maps(),
}

// Write implements engine.Documents. The entries of what it returns alias its bytes.
func (d *Documents) Write(about engine.About, id engine.DocumentID, epoch uint64, line engine.Line, tip engine.Tip, entries []engine.Entry) (*engine.Change, error) {
	p := place{line: line, actor: actorOf(line), maps: mapsOf[about.Collaboration], number: tip.Number + 1, previous: tip.Hash, begins: tip.Last + 1}
	switch n := len(entries); {
	case !line.Valid() || line.Site() != d.self.id:
		return nil, fmt.Errorf("write a change: %q is no line of this site", line)
	case n == 0:
		return nil, errors.New("write a change: no entries")
	case n > engine.MaxEntries:
		return nil, fmt.Errorf("write a change: %w: %d entries", engine.ErrTooLarge, n)
	case p.number > maxNumber:
		return nil, fmt.Errorf("write a change: %w: change %d of one document", engine.ErrTooLarge, p.number)
	}
	for i := range entries {
		if p.object(entries[i].Map) == 0 {
			return nil, fmt.Errorf("write a change: a document of %s has no map %q", about.Collaboration, entries[i].Map)
		}
		if n := len(entries[i].Value); n > engine.MaxEntry {
			return nil, fmt.Errorf("write a change: %w: an entry of %d bytes", engine.ErrTooLarge, n)
		}
	}
	chunk, h, values := p.write(entries)
	if len(chunk) > engine.MaxChange {
		return nil, fmt.Errorf("write a change: %w: %d bytes", engine.ErrTooLarge, len(chunk))
	}
	c := &engine.Change{Document: id, Epoch: epoch, Number: p.number, Hash: h, Previous: p.previous, Begins: p.begins, Entries: slices.Clone(entries)}
	for i := range c.Entries {
		n := len(entries[i].Value)
		c.Entries[i].Value, values = values[:n:n], values[n:]
	}
	c.SignedChange = engine.SignedChange{Line: line, Bytes: chunk}
	return c, nil
}

// Read implements engine.Documents. The entries of what it returns alias the bytes of c.
func (d *Documents) Read(about engine.About, id engine.DocumentID, epoch uint64, c engine.SignedChange, trusted bool) (*engine.Change, error) {
	change, err := d.read(about, id, epoch, c, trusted)
	switch {
	case err != nil && trusted:
		return nil, fmt.Errorf("read a change of %.100q: %w", c.Line, err)
	case err != nil:
		return nil, fmt.Errorf("read a change of %.100q: %w: %w", c.Line, engine.ErrRefused, err)
	}
	change.Document, change.Epoch = id, epoch
	return change, nil
}

func (d *Documents) read(about engine.About, id engine.DocumentID, epoch uint64, c engine.SignedChange, trusted bool) (*engine.Change, error) {
	h, err := hashOf(c.Bytes)
	if err != nil {
		return nil, err
	}
	if !c.Line.Valid() {
		return nil, errors.New("no line")
	}
	a, err := d.authors.of(c.Author())
	if err != nil {
		return nil, err
	}
	p := place{line: c.Line, actor: actorOf(c.Line), maps: mapsOf[about.Collaboration]}
	entries, err := p.read(c.Bytes)
	if err != nil {
		return nil, err
	}
	if !trusted {
		if err := p.check(epoch); err != nil {
			return nil, err
		}
		if !p.wrote(c.Bytes, entries) {
			return nil, errors.New("not in the form that our encoder writes")
		}
		if err := d.verifyChange(a, statement(id, epoch, h), c.Signature); err != nil {
			return nil, err
		}
	}
	return &engine.Change{SignedChange: c, Number: p.number, Hash: h, Previous: p.previous, Begins: p.begins, Entries: entries}, nil
}

// check checks what the numbers of a change tell without those before it: each of them has at least one entry, and at most
// engine.MaxEntries.
func (p *place) check(epoch uint64) error {
	if p.number == 0 || p.number > maxNumber {
		return fmt.Errorf("change %d", p.number)
	}
	before, least := p.number-1, firstLast(p.maps, epoch)+1
	if p.begins < least+before || p.begins > least+before*engine.MaxEntries {
		return fmt.Errorf("change %d begins with operation %d", p.number, p.begins)
	}
	return nil
}

// Sign implements engine.Documents.
func (d *Documents) Sign(message []byte) []byte { return d.scheme.Sign(d.key, message) }

// Verify implements engine.Documents.
func (d *Documents) Verify(site engine.SiteID, message, signature []byte) error {
	a, err := d.authors.of(site)
	if err == nil && !d.scheme.Verify(a.key, message, signature) {
		err = errors.New("wrong signature")
	}
	if err != nil {
		return fmt.Errorf("verify a signature of %.60q: %w: %w", site, engine.ErrRefused, err)
	}
	return nil
}
