package failpoint

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
)

// Store returns s with points around its commits. Self is the site whose store it is.
func (h Hit) Store(s engine.Store, self engine.SiteID) engine.Store { return store{s, self, h} }

type store struct {
	engine.Store
	self engine.SiteID
	hit  Hit
}

func (s store) Commit(ctx context.Context, b *engine.Batch) error {
	return around(s.hit, s.what(b), func() error { return s.Store.Commit(ctx, b) })
}

// what tells what a batch is for.
func (s store) what(b *engine.Batch) string {
	switch {
	case slices.ContainsFunc(b.Documents, func(d engine.DocumentRow) bool { return d.Mesh }):
		return CommitMesh
	case len(b.Intents) > 0 && len(b.Operations) > 0:
		return CommitQuestion
	case len(b.Intents) > 0:
		return CommitIntent
	case len(b.Outbox) > 0:
		return CommitKeep
	case len(b.Delivered) > 0:
		return CommitDelivered
	case len(b.Dropped) > 0:
		return CommitDrop
	case slices.ContainsFunc(b.Changes, func(c engine.ChangeRow) bool { return c.Author == s.self }):
		return CommitOwn
	case len(b.Changes) > 0:
		return CommitMerge
	case len(b.Settled) > 0:
		return CommitClose
	}
	return CommitNote
}

// Application returns a with points around its requests.
func (h Hit) Application(a engine.Application) engine.Application { return application{a, h} }

type application struct {
	engine.Application
	hit Hit
}

func (a application) Do(ctx context.Context, c engine.Call) (r engine.Reply, err error) {
	err = around(a.hit, request(c), func() (err error) {
		r, err = a.Application.Do(ctx, c)
		return err
	})
	return r, err
}

func request(c engine.Call) string {
	switch {
	case c.Method == http.MethodGet || c.Method == http.MethodHead:
		return RequestLook
	case c.Method == http.MethodDelete:
		return RequestDelete
	case c.Method == http.MethodPost && !strings.Contains(c.Path, "{id}"):
		return RequestCreate
	case c.Method == http.MethodPost:
		return RequestAction
	}
	return RequestChange
}

// Documents returns d with points around what it writes and merges.
func (h Hit) Documents(d engine.Documents) engine.Documents { return documents{d, h} }

type documents struct {
	engine.Documents
	hit Hit
}

func (d documents) Write(ctx context.Context, id engine.DocumentID, entries []engine.Entry) (row engine.ChangeRow, err error) {
	err = around(d.hit, WriteDocument, func() (err error) {
		row, err = d.Documents.Write(ctx, id, entries)
		return err
	})
	return row, err
}

func (d documents) Merge(ctx context.Context, id engine.DocumentID, changes []engine.SignedChange, writes func(engine.SiteID) bool) (rows []engine.ChangeRow, entries []engine.Entry, err error) {
	err = around(d.hit, MergeDocument, func() (err error) {
		rows, entries, err = d.Documents.Merge(ctx, id, changes, writes)
		return err
	})
	return rows, entries, err
}

// Loader returns l with points around the snapshots that it saves.
func (h Hit) Loader(l crdt.Loader) crdt.Loader { return loader{l, h} }

type loader struct {
	crdt.Loader
	hit Hit
}

func (l loader) SaveSnapshot(ctx context.Context, id engine.DocumentID, b []byte) error {
	return around(l.hit, SaveSnapshot, func() error { return l.Loader.SaveSnapshot(ctx, id, b) })
}

// Ledger returns l with points around reading what another site lacks.
func (h Hit) Ledger(l engine.Ledger) engine.Ledger { return ledger{l, h} }

type ledger struct {
	engine.Ledger
	hit Hit
}

func (l ledger) Changes(ctx context.Context, id engine.DocumentID, have engine.Version, limit int) (rows []engine.ChangeRow, more bool, err error) {
	err = around(l.hit, ListChanges, func() (err error) {
		rows, more, err = l.Ledger.Changes(ctx, id, have, limit)
		return err
	})
	return rows, more, err
}

// Network returns n with points around what it publishes.
func (h Hit) Network(n engine.Network) engine.Network { return network{n, h} }

type network struct {
	engine.Network
	hit Hit
}

func (n network) Publish(placement []engine.SiteID, e engine.Envelope) {
	_ = around(n.hit, Publish, func() error { n.Network.Publish(placement, e); return nil }) // nobody hears of what is not published
}

// Forwarder returns f with points around the requests that it hands on.
func (h Hit) Forwarder(f engine.Forwarder) engine.Forwarder { return forwarder{f, h} }

type forwarder struct {
	engine.Forwarder
	hit Hit
}

func (f forwarder) Forward(ctx context.Context, to engine.SiteID, r engine.Request) (a engine.Answer, err error) {
	err = around(f.hit, Forward, func() (err error) {
		a, err = f.Forwarder.Forward(ctx, to, r)
		return err
	})
	return a, err
}
