package storage

import (
	"context"
	"database/sql"
	"fmt"
)

// applicationID marks the file as ours ("Skry"), see https://www.sqlite.org/pragma.html#pragma_application_id.
const applicationID = 0x536b7279

// migrations bring a database from version i to i+1. user_version holds how many have run. What was released is
// never edited: a change of the schema is a new entry.
var migrations = []string{schema1, schema2}

// schema2 has the one row that says that content is encrypted, by something that the key opens, and whether nothing of a time before that
// is left in the file.
const schema2 = `CREATE TABLE vault (sealed BLOB NOT NULL, clean INTEGER NOT NULL);`

// schema1 is written around the questions that are asked:
//   - Times are nanoseconds since 1970, 0 for none.
//   - Lists go by created_at or issued_at and, within one instant, by n, the order in which rows were stored first;
//     newest first. Every filter that can be rare has an index that ends in that pair, so that a page is read off the
//     index. (SQLite adds n, the rowid, to every index by itself.)
//   - An update costs an index entry out and in for each index with a column that its SET names, changed or not; so
//     what changes often (state, pending, sites) is in few indexes, and live stands in for state in the others.
//   - The index tables resource_sites, operation_sites and document_sites repeat what the JSON column sites says,
//     resource_relations what relations says. Triggers keep them, so that no writer can forget to.
//   - Changes are numbered in the order in which they were stored, so that reading them back in that order meets
//     dependencies first.
const schema1 = `
CREATE TABLE documents (
	id    TEXT PRIMARY KEY,
	about BLOB NOT NULL,
	mesh  INTEGER NOT NULL,
	sites TEXT NOT NULL, -- JSON array of site ids
	leaving TEXT NOT NULL, -- the same
	former  TEXT NOT NULL, -- JSON object of digests in hex by site id
	heads BLOB NOT NULL,
	epoch INTEGER NOT NULL,
	checkpoint BLOB
) WITHOUT ROWID;
CREATE INDEX documents_mesh ON documents (id) WHERE mesh = 1;

CREATE TABLE document_sites (
	site     TEXT NOT NULL,
	document TEXT NOT NULL,
	heads    BLOB, -- what a former site is shown; null: the document's own
	PRIMARY KEY (site, document)
) WITHOUT ROWID;
CREATE INDEX document_sites_document ON document_sites (document);

CREATE TRIGGER documents_inserted AFTER INSERT ON documents BEGIN
	INSERT OR IGNORE INTO document_sites SELECT value, new.id, NULL FROM json_each(new.sites);
	INSERT OR IGNORE INTO document_sites SELECT value, new.id, NULL FROM json_each(new.leaving);
	INSERT OR IGNORE INTO document_sites SELECT key, new.id, unhex(value) FROM json_each(new.former);
END;
CREATE TRIGGER documents_updated AFTER UPDATE OF sites, leaving, former ON documents
WHEN old.sites <> new.sites OR old.leaving <> new.leaving OR old.former <> new.former BEGIN
	DELETE FROM document_sites WHERE document = new.id;
	INSERT OR IGNORE INTO document_sites SELECT value, new.id, NULL FROM json_each(new.sites);
	INSERT OR IGNORE INTO document_sites SELECT value, new.id, NULL FROM json_each(new.leaving);
	INSERT OR IGNORE INTO document_sites SELECT key, new.id, unhex(value) FROM json_each(new.former);
END;

CREATE TRIGGER documents_deleted AFTER DELETE ON documents BEGIN
	DELETE FROM document_sites WHERE document = old.id;
	DELETE FROM changes WHERE document = old.id;
	DELETE FROM snapshots WHERE document = old.id;
END;

CREATE TABLE changes (
	n         INTEGER PRIMARY KEY,
	document  TEXT NOT NULL,
	actor     TEXT NOT NULL,
	seq       INTEGER NOT NULL,
	hash      BLOB NOT NULL,
	author    TEXT NOT NULL,
	signature BLOB NOT NULL,
	bytes     BLOB NOT NULL,
	UNIQUE (document, actor, seq)
);

CREATE TABLE snapshots (
	document TEXT PRIMARY KEY,
	bytes    BLOB NOT NULL
);

CREATE TABLE resources (
	n             INTEGER PRIMARY KEY,
	document      TEXT NOT NULL UNIQUE,
	id            TEXT NOT NULL,
	service       TEXT NOT NULL,
	kind          TEXT NOT NULL,
	collaboration TEXT NOT NULL,
	label         TEXT NOT NULL, -- what people call it
	local         TEXT NOT NULL,
	state         TEXT NOT NULL,
	reason        TEXT NOT NULL,
	created_at    INTEGER NOT NULL,
	updated_at    INTEGER NOT NULL,
	pending       INTEGER NOT NULL,
	live          INTEGER NOT NULL, -- whether it is there: engine.State.Past
	search        TEXT NOT NULL, -- its identifier, those of its replicas and its label, in lower case, one a line
	placement     TEXT NOT NULL, -- JSON array of site ids: the keys of sites
	sites         TEXT NOT NULL, -- JSON object of replica status by site id
	relations     TEXT NOT NULL, -- JSON array of references to other resources
	-- which of several resources has the name: living ones are over 0, those with an object here first, then the earliest;
	-- of those that are past the newest
	rank INTEGER AS (created_at / 1000 * iif(live, -1, 1) + iif(live, iif(local = '', 1 << 55, 1 << 56), -(1 << 60))) VIRTUAL
);
CREATE INDEX resources_id ON resources (id, service, kind, rank);
CREATE INDEX resources_local ON resources (local, service, kind, rank) WHERE local <> '';
CREATE INDEX resources_live ON resources (created_at) WHERE live = 1;
CREATE INDEX resources_service ON resources (service, created_at) WHERE live = 1;
CREATE INDEX resources_kind ON resources (service, kind, created_at) WHERE live = 1;
CREATE INDEX resources_state ON resources (state, created_at);
CREATE INDEX resources_pending ON resources (created_at, document) WHERE pending = 1;
CREATE INDEX resources_related ON resources (created_at) WHERE relations <> '[]';

CREATE TABLE resource_sites (
	site       TEXT NOT NULL,
	live       INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	resource   INTEGER NOT NULL, -- n of resources
	PRIMARY KEY (site, live, created_at, resource)
) WITHOUT ROWID;
CREATE INDEX resource_sites_resource ON resource_sites (resource, site);

CREATE TRIGGER resources_inserted AFTER INSERT ON resources BEGIN
	INSERT INTO resource_sites SELECT value, new.live, new.created_at, new.n FROM json_each(new.placement);
END;
CREATE TRIGGER resources_updated AFTER UPDATE OF placement, live, created_at ON resources
WHEN old.placement <> new.placement OR old.live <> new.live OR old.created_at <> new.created_at BEGIN
	DELETE FROM resource_sites WHERE resource = new.n;
	INSERT INTO resource_sites SELECT value, new.live, new.created_at, new.n FROM json_each(new.placement);
END;

CREATE TABLE resource_relations (
	service    TEXT NOT NULL, -- of what is referred to, as the next two
	kind       TEXT NOT NULL,
	id         TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	resource   INTEGER NOT NULL, -- n of resources: who refers to it
	relies     INTEGER NOT NULL, -- whether one of its references is a reliance
	PRIMARY KEY (service, kind, id, created_at, resource)
) WITHOUT ROWID;
CREATE INDEX resource_relations_resource ON resource_relations (resource);

CREATE TRIGGER resources_related_inserted AFTER INSERT ON resources WHEN new.relations <> '[]' BEGIN
	INSERT INTO resource_relations SELECT value ->> 'service', value ->> 'kind', value ->> 'id', new.created_at, new.n,
		max(value ->> 'type' = 'reliance') FROM json_each(new.relations) GROUP BY 1, 2, 3;
END;
CREATE TRIGGER resources_related_updated AFTER UPDATE OF relations, created_at ON resources
WHEN old.relations <> new.relations OR old.created_at <> new.created_at BEGIN
	DELETE FROM resource_relations WHERE resource = new.n;
	INSERT INTO resource_relations SELECT value ->> 'service', value ->> 'kind', value ->> 'id', new.created_at, new.n,
		max(value ->> 'type' = 'reliance') FROM json_each(new.relations) GROUP BY 1, 2, 3;
END;

-- Who holds a name that is to be held at exactly one site.
CREATE TABLE choices (
	document TEXT PRIMARY KEY,
	id       TEXT NOT NULL,
	service  TEXT NOT NULL,
	kind     TEXT NOT NULL,
	holders  TEXT NOT NULL -- JSON object of what is held by site id
) WITHOUT ROWID;
CREATE INDEX choices_id ON choices (id, service, kind);

CREATE TABLE operations (
	n         INTEGER PRIMARY KEY,
	id        TEXT NOT NULL UNIQUE,
	document  TEXT NOT NULL,
	resource  TEXT NOT NULL,
	type      TEXT NOT NULL,
	service   TEXT NOT NULL,
	kind      TEXT NOT NULL,
	method    TEXT NOT NULL,
	path      TEXT NOT NULL,
	scope     TEXT NOT NULL,
	origin    TEXT NOT NULL,
	user      TEXT NOT NULL,
	issued_at INTEGER NOT NULL,
	parents   TEXT NOT NULL, -- JSON array of operation ids
	state     TEXT NOT NULL,
	sites     TEXT NOT NULL, -- JSON object of operation status by site id
	change    BLOB,
	body      BLOB,
	blob      TEXT NOT NULL, -- the hash of a body that is too large for here, empty for others
	blob_size INTEGER NOT NULL,
	blob_needed INTEGER NOT NULL, -- whether some site may still need it
	settled_at  INTEGER NOT NULL -- since when nothing more becomes of it by itself
);
CREATE INDEX operations_blob ON operations (blob) WHERE blob <> '';
CREATE INDEX operations_issued ON operations (issued_at);
CREATE INDEX operations_state ON operations (state, issued_at);
CREATE INDEX operations_settled ON operations (settled_at) WHERE settled_at > 0;
CREATE INDEX operations_document ON operations (document, issued_at);
CREATE INDEX operations_resource ON operations (resource, issued_at);

CREATE TABLE operation_sites (
	site      TEXT NOT NULL,
	issued_at INTEGER NOT NULL,
	operation INTEGER NOT NULL, -- n of operations
	state     TEXT NOT NULL, -- at this site
	PRIMARY KEY (site, issued_at, operation)
) WITHOUT ROWID;
CREATE INDEX operation_sites_operation ON operation_sites (operation, site);
CREATE INDEX operation_sites_state ON operation_sites (site, state, issued_at, operation);

CREATE TRIGGER operations_inserted AFTER INSERT ON operations BEGIN
	INSERT INTO operation_sites
		SELECT key, new.issued_at, new.n, coalesce(json_extract(value, '$.state'), '') FROM json_each(new.sites);
END;
CREATE TRIGGER operations_moved AFTER UPDATE OF issued_at ON operations WHEN old.issued_at <> new.issued_at BEGIN
	DELETE FROM operation_sites WHERE operation = new.n;
	INSERT INTO operation_sites
		SELECT key, new.issued_at, new.n, coalesce(json_extract(value, '$.state'), '') FROM json_each(new.sites);
END;
CREATE TRIGGER operations_updated AFTER UPDATE OF sites ON operations
WHEN old.sites <> new.sites AND old.issued_at = new.issued_at BEGIN
	DELETE FROM operation_sites WHERE operation = new.n AND site NOT IN (SELECT key FROM json_each(new.sites));
	INSERT INTO operation_sites
		SELECT key, new.issued_at, new.n, coalesce(json_extract(value, '$.state'), '') FROM json_each(new.sites) WHERE true
		ON CONFLICT (site, issued_at, operation) DO UPDATE SET state = excluded.state WHERE state <> excluded.state;
END;

CREATE TRIGGER operations_deleted AFTER DELETE ON operations BEGIN
	DELETE FROM operation_sites WHERE operation = old.n;
END;

CREATE TABLE intents (
	operation TEXT PRIMARY KEY,
	document  TEXT NOT NULL,
	data      BLOB,
	opened_at INTEGER NOT NULL,
	blob      TEXT NOT NULL -- the hash of a body that is too large for data, empty for others
);
CREATE INDEX intents_blob ON intents (blob) WHERE blob <> '';

CREATE TABLE outbox (
	operation TEXT PRIMARY KEY,
	data      BLOB,
	kept_at   INTEGER NOT NULL
);

CREATE TABLE answers (
	key       BLOB PRIMARY KEY,
	body_hash BLOB NOT NULL,
	answer    BLOB,
	at        INTEGER NOT NULL
);
CREATE INDEX answers_at ON answers (at);

-- What waits for people, as it follows from documents and intents.
CREATE TABLE conflicts (
	n        INTEGER PRIMARY KEY,
	id       TEXT NOT NULL UNIQUE,
	document TEXT NOT NULL, -- empty: of an intent
	service  TEXT NOT NULL,
	kind     TEXT NOT NULL,
	site     TEXT NOT NULL,
	since    INTEGER NOT NULL,
	open     INTEGER NOT NULL, -- 0: somebody has accepted that the site differs
	data     BLOB NOT NULL
);
CREATE INDEX conflicts_document ON conflicts (document) WHERE document <> '';
CREATE INDEX conflicts_since ON conflicts (open, since);

CREATE TABLE events (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice, though old ones are trimmed
	type    TEXT NOT NULL,
	subject TEXT NOT NULL,
	time    INTEGER NOT NULL,
	data    BLOB
);

-- What other parts of the agent keep: the meaning of keys and values is theirs.
CREATE TABLE records (
	shelf TEXT NOT NULL, -- whose it is
	key   TEXT NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (shelf, key)
) WITHOUT ROWID;
`

// migrate brings the database to the newest version that steps know, each step in a transaction of its own.
func migrate(ctx context.Context, conn *sql.Conn, steps []string) error {
	var version, id int
	if err := conn.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return fmt.Errorf("read its version: %w", mapped(err))
	}
	if err := conn.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return fmt.Errorf("read its application id: %w", mapped(err))
	}
	switch {
	case version > 0 && id != applicationID:
		return fmt.Errorf("it is another program's database (application id %#x)", id)
	case version > len(steps):
		return fmt.Errorf("it has version %d, made by a newer release; this one knows versions up to %d", version, len(steps))
	}
	for ; version < len(steps); version++ {
		if err := step(ctx, conn, steps[version], version+1); err != nil {
			return fmt.Errorf("bring it to version %d: %w", version+1, mapped(err))
		}
	}
	return nil
}

func step(ctx context.Context, conn *sql.Conn, ddl string, version int) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	// Pragmas take no parameters.
	for _, q := range []string{ddl, fmt.Sprintf(`PRAGMA user_version = %d`, version),
		fmt.Sprintf(`PRAGMA application_id = %d`, applicationID)} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return tx.Commit()
}
