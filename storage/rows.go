package storage

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// statement indexes the prepared statements of the writer.
type statement int

const (
	begin statement = iota
	commit
	rollback
	dropDocument
	putDocument
	addChange
	putSnapshot
	changeResource
	putResource
	putChoice
	changeOperation
	putOperation
	putIntent
	dropIntent
	putKept
	dropKept
	putAnswer
	putConflict
	dropConflict
	addEvent
	trimEvents
	trimAnswers
	putRecord
	dropRecords
	forgetOperations
	statementCount
)

var statementText = [statementCount]string{
	begin:        `BEGIN IMMEDIATE`,
	commit:       `COMMIT`,
	rollback:     `ROLLBACK`,
	dropDocument: `DELETE FROM documents WHERE id = ?`,
	putDocument: `INSERT INTO documents (id, about, mesh, sites, leaving, former, heads, epoch, checkpoint)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET about = excluded.about, mesh = excluded.mesh, sites = excluded.sites,
		leaving = excluded.leaving, former = excluded.former, heads = excluded.heads, epoch = excluded.epoch,
		checkpoint = coalesce(excluded.checkpoint, checkpoint)`,
	addChange: `INSERT INTO changes (document, actor, seq, hash, author, signature, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (document, actor, seq) DO NOTHING`,
	putSnapshot: `INSERT INTO snapshots (document, bytes) VALUES (?, ?)
		ON CONFLICT (document) DO UPDATE SET bytes = excluded.bytes`,
	// The usual update names no column that most indexes have; it finds no row when one of those is to change.
	changeResource: `UPDATE resources SET collaboration = ?, label = ?, state = ?, reason = ?, updated_at = ?, pending = ?, search = ?,
		sites = ? WHERE document = ? AND id = ? AND service = ? AND kind = ? AND local = ? AND created_at = ? AND live = ?
		AND placement = ? AND relations = ?`,
	putResource: `INSERT INTO resources (collaboration, label, state, reason, updated_at, pending, search, sites, document, id,
		service, kind, local, created_at, live, placement, relations) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (document) DO UPDATE SET id = excluded.id, service = excluded.service, kind = excluded.kind,
		collaboration = excluded.collaboration, label = excluded.label, local = excluded.local, state = excluded.state,
		reason = excluded.reason, created_at = excluded.created_at, updated_at = excluded.updated_at,
		pending = excluded.pending, live = excluded.live, search = excluded.search, placement = excluded.placement,
		relations = excluded.relations, sites = excluded.sites`,
	putChoice: `INSERT INTO choices (document, id, service, kind, holders) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (document) DO UPDATE SET holders = excluded.holders`,
	changeOperation: `UPDATE operations SET type = ?, service = ?, kind = ?, method = ?, path = ?, scope = ?, origin = ?,
		user = ?, parents = ?, state = ?, sites = ?, change = ?, body = ?, blob_size = ?, blob_needed = ?,
		settled_at = min(?, coalesce(nullif(settled_at, 0), 9223372036854775807))
		WHERE id = ? AND document = ? AND resource = ? AND issued_at = ? AND blob = ?`,
	putOperation: `INSERT INTO operations (type, service, kind, method, path, scope, origin, user, parents, state, sites,
		change, body, blob_size, blob_needed, settled_at, id, document, resource, issued_at, blob)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET document = excluded.document, resource = excluded.resource,
		type = excluded.type, service = excluded.service, kind = excluded.kind, method = excluded.method,
		path = excluded.path, scope = excluded.scope, origin = excluded.origin, user = excluded.user,
		issued_at = excluded.issued_at, parents = excluded.parents, state = excluded.state,
		sites = excluded.sites, change = excluded.change, body = excluded.body, blob = excluded.blob,
		blob_size = excluded.blob_size, blob_needed = excluded.blob_needed,
		settled_at = min(excluded.settled_at, coalesce(nullif(settled_at, 0), 9223372036854775807))`,
	putIntent: `INSERT INTO intents (operation, document, data, opened_at, blob) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (operation) DO UPDATE SET document = excluded.document, data = excluded.data,
		opened_at = excluded.opened_at, blob = excluded.blob`,
	dropIntent: `DELETE FROM intents WHERE operation = ?`,
	putKept: `INSERT INTO outbox (operation, data, kept_at) VALUES (?, ?, ?)
		ON CONFLICT (operation) DO UPDATE SET data = excluded.data, kept_at = excluded.kept_at`,
	dropKept: `DELETE FROM outbox WHERE operation = ?`,
	putAnswer: `INSERT INTO answers (key, body_hash, answer, at) VALUES (?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET body_hash = excluded.body_hash, answer = excluded.answer, at = excluded.at`,
	putConflict: `INSERT INTO conflicts (id, document, service, kind, site, since, open, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET document = excluded.document, service = excluded.service, kind = excluded.kind,
		site = excluded.site, since = excluded.since, open = excluded.open, data = excluded.data`,
	dropConflict: `DELETE FROM conflicts WHERE id = ?`,
	addEvent:     `INSERT INTO events (type, subject, time, data) VALUES (?, ?, ?, ?)`,
	trimEvents:   `DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - ?`,
	trimAnswers:  `DELETE FROM answers WHERE at < ?`,
	putRecord: `INSERT INTO records (shelf, key, value) VALUES (?, ?, ?)
		ON CONFLICT (shelf, key) DO UPDATE SET value = excluded.value`,
	dropRecords:      `DELETE FROM records WHERE shelf = ? AND key >= ? AND key < ?`,
	forgetOperations: `DELETE FROM operations WHERE n IN (SELECT value FROM json_each(?)) AND settled_at > 0`,
}

// write is one statement to run; what says for people what it does.
type write struct {
	statement statement
	what      string
	args      []any
	change    *engine.ChangeRow // of addChange
	otherwise statement         // to run with the same arguments when no row was changed; 0: none
}

// encodeBatch does what can be done before it is the batch's turn. What is settled by it has been since now.
func encodeBatch(b *engine.Batch, v *Vault, now time.Time) ([]write, error) {
	writes := make([]write, 0, len(b.Dropped)+len(b.Documents)+len(b.Changes)+len(b.Resources)+len(b.Choices)+len(b.Operations)+len(b.Intents)+
		len(b.Settled)+len(b.Outbox)+len(b.Delivered)+len(b.Answers)+len(b.Conflicts)+len(b.Resolved)+len(b.Events))
	add := func(s statement, what string, args ...any) {
		writes = append(writes, write{statement: s, what: what, args: args})
	}
	for _, id := range b.Dropped {
		add(dropDocument, "document "+string(id), string(id))
	}
	for i := range b.Documents {
		r := &b.Documents[i]
		sites, err := listJSON(r.Sites)
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", r.ID, err)
		}
		leaving, err := listJSON(r.Leaving)
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", r.ID, err)
		}
		former := make(map[engine.SiteID]string, len(r.Former))
		for site, heads := range r.Former {
			former[site] = hex.EncodeToString(heads[:])
		}
		formerJSON, err := mapJSON(former)
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", r.ID, err)
		}
		add(putDocument, "document "+string(r.ID), string(r.ID), blob(r.About), r.Mesh, sites, leaving, formerJSON, r.Heads[:],
			int64(r.Epoch), v.seal(r.Checkpoint, "documents.checkpoint", string(r.ID)))
	}
	for i := range b.Changes {
		r := &b.Changes[i]
		if r.Seq > math.MaxInt64 {
			return nil, fmt.Errorf("change %x: number %d is out of range", r.Hash, r.Seq)
		}
		add(addChange, fmt.Sprintf("change %d of actor %s in document %s", r.Seq, r.Actor, r.Document), string(r.Document),
			r.Actor, int64(r.Seq), r.Hash[:], string(r.Author), blob(r.Signature),
			v.seal(blob(r.Bytes), "changes.bytes", string(r.Document), r.Actor, strconv.FormatUint(r.Seq, 10)))
		writes[len(writes)-1].change = r
	}
	for i := range b.Resources {
		r := &b.Resources[i]
		sites, err := mapJSON(r.Sites)
		if err != nil {
			return nil, fmt.Errorf("resource %s: %w", r.ID, err)
		}
		placement, err := listJSON(slices.Sorted(maps.Keys(r.Sites)))
		if err != nil {
			return nil, fmt.Errorf("resource %s: %w", r.ID, err)
		}
		relations, err := listJSON(r.Relations)
		if err != nil {
			return nil, fmt.Errorf("resource %s: %w", r.ID, err)
		}
		add(changeResource, "resource "+string(r.ID), r.Collaboration, r.Label, string(r.State), r.Reason, nanos(r.UpdatedAt), r.Pending,
			searchText(r), sites, string(r.Document), string(r.ID), string(r.Service), string(r.Kind), string(r.Local),
			nanos(r.CreatedAt), !r.State.Past(), placement, relations)
		writes[len(writes)-1].otherwise = putResource
	}
	for i := range b.Choices {
		r := &b.Choices[i]
		holders, err := mapJSON(r.Holders)
		if err != nil {
			return nil, fmt.Errorf("who holds %s: %w", r.ID, err)
		}
		add(putChoice, "who holds "+string(r.ID), string(r.Document), string(r.ID), string(r.Service), string(r.Kind), holders)
	}
	for i := range b.Operations {
		r := &b.Operations[i]
		sites, err := mapJSON(r.Sites)
		if err != nil {
			return nil, fmt.Errorf("operation %s: %w", r.ID, err)
		}
		parents, err := listJSON(r.Parents)
		if err != nil {
			return nil, fmt.Errorf("operation %s: %w", r.ID, err)
		}
		ref := engine.BlobRef{}
		if r.Blob != nil {
			ref = *r.Blob
		}
		settled := time.Time{}
		if r.Settled() {
			settled = now
		}
		add(changeOperation, "operation "+string(r.ID), string(r.Type), string(r.Service), string(r.Kind), r.Method, r.Path,
			r.Scope, string(r.Origin), r.User, parents, string(r.State), sites, v.seal(r.Change, "operations.change", string(r.ID)),
			v.seal(r.Body, "operations.body", string(r.ID)), ref.Size,
			r.NeedsBlob, nanos(settled), string(r.ID), string(r.Document), string(r.Resource), nanos(r.IssuedAt), string(ref.Hash))
		writes[len(writes)-1].otherwise = putOperation
	}
	for _, r := range b.Intents {
		add(putIntent, "intent of "+string(r.Operation), string(r.Operation), string(r.Document), r.Data, nanos(r.OpenedAt),
			string(r.Blob))
	}
	for _, id := range b.Settled {
		add(dropIntent, "intent of "+string(id), string(id))
	}
	for _, r := range b.Outbox {
		add(putKept, "kept request "+string(r.Operation), string(r.Operation), r.Data, nanos(r.KeptAt))
	}
	for _, id := range b.Delivered {
		add(dropKept, "kept request "+string(id), string(id))
	}
	for i := range b.Answers {
		r := &b.Answers[i]
		add(putAnswer, "answer", r.Key[:], r.BodyHash[:], v.seal(r.Answer, "answers.answer", strings.ToUpper(hex.EncodeToString(r.Key[:]))), nanos(r.At))
	}
	for i := range b.Conflicts {
		c := &b.Conflicts[i]
		data, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("conflict %s: %w", c.ID, err)
		}
		add(putConflict, "conflict "+string(c.ID), string(c.ID), string(c.Document), string(c.Service), string(c.Kind), string(c.Site),
			nanos(c.Since), c.Open(), v.seal(data, "conflicts.data", string(c.ID)))
	}
	for _, id := range b.Resolved {
		add(dropConflict, "conflict "+string(id), string(id))
	}
	for i := range b.Events {
		r := &b.Events[i]
		add(addEvent, "event "+r.Type, r.Type, r.Subject, nanos(r.Time),
			v.seal(r.Data, "events.data", r.Type, r.Subject, strconv.FormatInt(nanos(r.Time), 10)))
	}
	return writes, nil
}

// searchText is what ResourceFilter.Query is looked for in.
func searchText(r *engine.ResourceRow) string {
	var text []string
	seen := map[string]bool{"": true}
	add := func(word string) {
		if !seen[word] {
			seen[word] = true
			text = append(text, word)
		}
	}
	add(string(r.ID))
	add(r.Label)
	add(string(r.Local))
	for _, s := range r.Sites {
		add(string(s.Local))
	}
	return strings.ToLower(strings.Join(text, "\n"))
}

func listJSON[T any](v []T) (string, error) {
	if len(v) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func mapJSON[K ~string, V any](v map[K]V) (string, error) {
	if len(v) == 0 {
		return "{}", nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// blob keeps empty bytes from being stored as NULL where the column has none.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// nanos and instant turn times into columns and back, in UTC. The zero time is 0.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func instant(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
