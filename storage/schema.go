package storage

// applicationID marks the file as ours ("Skry"), see https://www.sqlite.org/pragma.html#pragma_application_id.
const applicationID = 0x536b7279

// firstVersion is that of the first schema here. Those below are of earlier agents, which kept documents and statuses in another way,
// numbered changes by site, or signed changes without their documents.
const firstVersion = 6

// migrations bring a database from one version to the next, the first of them an empty one to firstVersion. user_version says
// which has run. What was released is never edited: a change of the schema is a new entry.
var migrations = []string{schema6}

// schema6 is written around what is done most, a write:
//   - A row of resources holds all that is kept of one, so that a write of it is one statement. Columns that lists read come
//     first, large ones last: a list does not read them. Checkpoints, which are large and change rarely, are apart.
//   - Pages of lists are read off an index in their order: resources_list and operations_list have all rows, and those columns
//     that a filter looks at first. What is not as it is to be is rare, and has indexes of its own: resources_open and
//     operations_open. SQLite adds n, the rowid, to every index; where the order needs it, it is named.
//   - An update takes an index entry out and puts it in again for each index with a column that its SET names, changed or not.
//     So what changes often (state, pending) is in no index but those of what is open.
//   - Times are nanoseconds since 1970, 0 for none. Documents are the 32 bytes of their identifier.
//   - kinds, sites, lines and placements give numbers to what many rows have in common; 0 is nothing.
const schema6 = `
CREATE TABLE vault (sealed BLOB NOT NULL);

CREATE TABLE kinds (
	n       INTEGER PRIMARY KEY,
	service TEXT NOT NULL,
	kind    TEXT NOT NULL,
	UNIQUE (service, kind)
);

CREATE TABLE sites (
	n  INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE
);

CREATE TABLE lines (
	n    INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE
);

CREATE TABLE placements (
	n     INTEGER PRIMARY KEY,
	sites TEXT NOT NULL UNIQUE -- sorted identifiers, one a line
);

CREATE TABLE placement_sites (
	site      INTEGER NOT NULL,
	placement INTEGER NOT NULL,
	place     INTEGER NOT NULL, -- of the site in the placement, from 1
	PRIMARY KEY (site, placement)
) WITHOUT ROWID;

CREATE TABLE resources (
	n             INTEGER PRIMARY KEY,
	document      BLOB NOT NULL UNIQUE,
	digest        BLOB,
	peers         INTEGER NOT NULL DEFAULT 0, -- a placement
	apart         BLOB,                       -- digests by site
	hollow        INTEGER NOT NULL,           -- 1: it is not to be listed; 2: only what refers to it is here
	past          TEXT NOT NULL DEFAULT '',   -- its state where it is no more (engine.State.Past)
	open          INTEGER NOT NULL DEFAULT 0, -- whether it is pending, or is there and not converged
	id            TEXT NOT NULL DEFAULT '',
	kind          INTEGER NOT NULL DEFAULT 0,
	collaboration TEXT NOT NULL DEFAULT '',
	label         TEXT NOT NULL DEFAULT '',
	local         TEXT,                       -- null: the same as id
	state         TEXT NOT NULL DEFAULT '',
	reason        TEXT NOT NULL DEFAULT '',
	created_at    INTEGER NOT NULL DEFAULT 0,
	updated_at    INTEGER NOT NULL DEFAULT 0,
	pending       INTEGER NOT NULL DEFAULT 0,
	placement     INTEGER NOT NULL DEFAULT 0,
	epoch         INTEGER NOT NULL DEFAULT 0,
	search        TEXT NOT NULL DEFAULT '',   -- its identifiers and its label, in lower case, one a line
	relations     TEXT NOT NULL DEFAULT '',   -- JSON array; empty for none
	blobs         TEXT NOT NULL DEFAULT '',   -- those it needs, one a line
	sites         BLOB,                       -- status by site
	about         BLOB,
	mine          BLOB, -- sealed
	statuses      BLOB  -- sealed
);
CREATE INDEX resources_id ON resources (id, kind) WHERE past = '';
CREATE INDEX resources_past ON resources (id, kind, created_at) WHERE past <> '';
CREATE INDEX resources_local ON resources (local, kind) WHERE local <> '';
CREATE INDEX resources_list ON resources (past, created_at, n, placement, kind) WHERE hollow = 0;
CREATE INDEX resources_open ON resources (state, created_at, n) WHERE open = 1;
CREATE INDEX resources_related ON resources (past, created_at, n) WHERE relations <> '';
CREATE INDEX resources_blobs ON resources (blobs) WHERE blobs <> '';

CREATE TABLE checkpoints (
	resource INTEGER PRIMARY KEY,
	bytes    BLOB NOT NULL -- sealed
);

-- What relations says, by what is referred to. Triggers keep it, so that no writer can forget to.
CREATE TABLE resource_relations (
	service    TEXT NOT NULL, -- of what is referred to, as the next two
	kind       TEXT NOT NULL,
	id         TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	resource   INTEGER NOT NULL, -- who refers to it
	relies     INTEGER NOT NULL, -- whether one of its references is a reliance
	PRIMARY KEY (service, kind, id, created_at, resource)
) WITHOUT ROWID;
CREATE INDEX resource_relations_resource ON resource_relations (resource);

CREATE TRIGGER resources_related_inserted AFTER INSERT ON resources WHEN new.relations <> '' BEGIN
	INSERT INTO resource_relations SELECT value ->> 'service', value ->> 'kind', value ->> 'id', new.created_at, new.n,
		max(value ->> 'type' = 'reliance') FROM json_each(new.relations) GROUP BY 1, 2, 3;
END;
CREATE TRIGGER resources_related_updated AFTER UPDATE OF relations, created_at ON resources
WHEN old.relations <> new.relations OR old.relations <> '' AND old.created_at <> new.created_at BEGIN
	DELETE FROM resource_relations WHERE resource = new.n;
	INSERT INTO resource_relations SELECT value ->> 'service', value ->> 'kind', value ->> 'id', new.created_at, new.n,
		max(value ->> 'type' = 'reliance') FROM json_each(iif(new.relations = '', '[]', new.relations)) GROUP BY 1, 2, 3;
END;

CREATE TABLE changes (
	resource  INTEGER NOT NULL,
	epoch     INTEGER NOT NULL,
	line      INTEGER NOT NULL,
	number    INTEGER NOT NULL,
	signature BLOB NOT NULL,
	bytes     BLOB NOT NULL, -- sealed
	PRIMARY KEY (resource, epoch, line, number)
) WITHOUT ROWID;

CREATE TABLE operations (
	n           INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	subject     INTEGER NOT NULL, -- the resource whose document it is in; 0: it waits in the outbox
	resource    TEXT NOT NULL,
	type        TEXT NOT NULL,
	kind        INTEGER NOT NULL,
	method      TEXT NOT NULL,
	path        TEXT NOT NULL,
	scope       TEXT NOT NULL,
	origin      INTEGER NOT NULL,
	user        TEXT NOT NULL,
	issued_at   INTEGER NOT NULL,
	parents     TEXT NOT NULL, -- identifiers, one a line
	state       TEXT NOT NULL,
	open        INTEGER NOT NULL, -- whether it is not applied, or not applied at some site
	placement   INTEGER NOT NULL, -- the sites of which sites tells
	states      TEXT NOT NULL,    -- a letter for the state at each of them, in their order
	settled_at  INTEGER NOT NULL, -- since when nothing more becomes of it by itself
	blob        TEXT NOT NULL,    -- the hash of a body that is too large for here, empty for others
	blob_size   INTEGER NOT NULL,
	blob_needed INTEGER NOT NULL, -- whether some site may still need it
	errors      TEXT NOT NULL,    -- those of all sites, in lower case, one a line
	sites       BLOB,             -- status by site
	change      BLOB, -- sealed
	body        BLOB  -- sealed
);
CREATE INDEX operations_list ON operations (issued_at, n, placement);
CREATE INDEX operations_open ON operations (issued_at, n, state, placement) WHERE open = 1;
CREATE INDEX operations_subject ON operations (subject, issued_at, n);
CREATE INDEX operations_settled ON operations (settled_at) WHERE settled_at > 0;
CREATE INDEX operations_blob ON operations (blob) WHERE blob <> '';

CREATE TABLE errands (
	operation TEXT PRIMARY KEY,
	data      BLOB, -- sealed
	at        INTEGER NOT NULL,
	blob      TEXT NOT NULL -- the hash of a body that is not in data, empty for none
) WITHOUT ROWID;

CREATE TABLE outbox (
	operation TEXT PRIMARY KEY,
	data      BLOB, -- sealed
	kept_at   INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE answers (
	key       BLOB PRIMARY KEY,
	body_hash BLOB NOT NULL,
	answer    BLOB, -- sealed
	at        INTEGER NOT NULL
);
CREATE INDEX answers_at ON answers (at);

-- What waits for people, as it follows from what resources and errands say.
CREATE TABLE conflicts (
	n        INTEGER PRIMARY KEY,
	id       TEXT NOT NULL UNIQUE,
	document BLOB, -- null: of an errand
	service  TEXT NOT NULL,
	kind     TEXT NOT NULL,
	site     TEXT NOT NULL,
	since    INTEGER NOT NULL,
	open     INTEGER NOT NULL, -- 0: somebody has accepted that the site differs
	data     BLOB NOT NULL -- sealed
);
CREATE INDEX conflicts_document ON conflicts (document) WHERE document IS NOT NULL;
CREATE INDEX conflicts_since ON conflicts (open, since);

-- A row is a run of events that were committed together.
CREATE TABLE events (
	last   INTEGER PRIMARY KEY, -- the number of the last of them
	number INTEGER NOT NULL,    -- how many they are
	events BLOB NOT NULL        -- sealed
);

CREATE TABLE mesh (
	author    TEXT NOT NULL,
	kind      TEXT NOT NULL,
	about     TEXT NOT NULL,
	number    INTEGER NOT NULL,
	record    BLOB NOT NULL,
	signature BLOB NOT NULL,
	PRIMARY KEY (author, kind, about)
) WITHOUT ROWID;

-- What other parts of the agent keep: the meaning of keys and values is theirs.
CREATE TABLE records (
	shelf TEXT NOT NULL, -- whose it is
	key   TEXT NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (shelf, key)
) WITHOUT ROWID;

-- The forks of lines. A row has the earliest one of its line that is known, with the two changes that prove it.
CREATE TABLE forks (
	resource         INTEGER NOT NULL,
	line             INTEGER NOT NULL,
	epoch            INTEGER NOT NULL,
	number           INTEGER NOT NULL, -- of the first change that does not count
	at               INTEGER NOT NULL,
	first_signature  BLOB NOT NULL,
	first_bytes      BLOB NOT NULL, -- sealed
	second_signature BLOB NOT NULL,
	second_bytes     BLOB NOT NULL, -- sealed
	PRIMARY KEY (resource, line)
) WITHOUT ROWID;
`
