package storage

import (
	"reflect"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestEveryOperationColumnIsWrittenAlone changes one thing of a row at a time, of one that was written lately and of one that
// was not.
func TestEveryOperationColumnIsWrittenAlone(t *testing.T) {
	s := open(t, t.TempDir())
	b := sample(1)
	b.Records = append(b.Records, sample(2).Records...)
	o := b.Operations[0]
	put := func() {
		t.Helper()
		mustCommit(t, s, &engine.Batch{Records: b.Records, Operations: []engine.OperationRow{o}})
		got, err := s.Operation(t.Context(), o.ID)
		if err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("\n got %+v, %v\nwant %+v", got, err, o)
		}
	}
	of := o.Document
	o.Document = ""
	put()
	for i, change := range []func(){
		func() { o.Document = of },
		func() { o.State = engine.StateApplied },
		func() {
			o.Sites = map[engine.SiteID]engine.OperationStatus{"paris": {State: engine.StateRejected, Error: "no"}, "lyon": {}, "nantes": {State: "new"}}
		},
		func() { o.Sites = map[engine.SiteID]engine.OperationStatus{"paris": {State: engine.StateApplied}} },
		func() { o.Sites = nil },
		func() { o.Resource = "other" },
		func() { o.Type = engine.TypeAction },
		func() { o.Service = "other" },
		func() { o.Kind = "other" },
		func() { o.Method = "PUT" },
		func() { o.Path = "/other" },
		func() { o.Scope = "" },
		func() { o.Origin = "lyon" },
		func() { o.User = "ada" },
		func() { o.IssuedAt = o.IssuedAt.Add(time.Hour) },
		func() { o.Parents = []engine.OperationID{"a", "b"} },
		func() { o.Parents = []engine.OperationID{"b"} },
		func() { o.Change = []byte("{}") },
		func() { o.Change = []byte{} },
		func() { o.Change = nil },
		func() { o.Body = []byte{} },
		func() { o.Body = nil },
		func() { o.Blob = &engine.BlobRef{Hash: "b", Size: 7} },
		func() { o.Blob = &engine.BlobRef{Hash: "b", Size: 8} },
		func() { o.NeedsBlob = true },
		func() { o.Blob = nil },
	} {
		change()
		put()
		if i%5 == 0 {
			s.queue.writer.forget()
		}
	}
	// An operation of another document under that identifier is not this one.
	other := o
	other.Document, other.Origin, other.User = document("2"), "nantes", "mallory"
	mustCommit(t, s, &engine.Batch{Records: b.Records, Operations: []engine.OperationRow{other}})
	if got, err := s.Operation(t.Context(), o.ID); err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("another one has taken its row: %+v, %v", got, err)
	}
}

// TestADocumentTellsMoreOfAnOperation has a request that is in no document, and its operation, come in either order and again.
func TestADocumentTellsMoreOfAnOperation(t *testing.T) {
	s := open(t, t.TempDir())
	b := sample(1)
	told, asked := b.Operations[0], b.Operations[0]
	asked.Document, asked.State = "", engine.StateApplied
	for _, row := range []engine.OperationRow{asked, told, asked, asked, told} {
		b.Operations = []engine.OperationRow{row}
		mustCommit(t, s, b)
	}
	if got, err := s.Operation(t.Context(), told.ID); err != nil || !reflect.DeepEqual(got, told) {
		t.Errorf("\n got %+v, %v\nwant %+v", got, err, told)
	}
}
