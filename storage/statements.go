package storage

// statement indexes the prepared statements of the writer.
type statement int

const (
	begin statement = iota
	commit
	rollback

	readVault
	addVault
	findKind
	addKind
	findSite
	addSite
	findLine
	addLine
	findPlacement
	addPlacement
	addPlacementSite

	findResource
	addHollow
	addResource
	changeResource // the first of as many as there are combinations of groups
	putCheckpoint  = changeResource + 1<<groupCount
)

const (
	putMine = putCheckpoint + 1 + iota
	dropEpoch
	addChange
	readChange
	dropVoid
	dropAllVoid
	dropFork
	putFork

	addOperation
	changeOperation
	moveOperation
	forgetOperations

	putErrand
	dropErrand
	putKept
	dropKept
	putAnswer
	dropAnswer
	trimAnswers
	putConflict
	dropConflict
	lastEvent
	addEvents
	trimEvents
	putMesh
	dropMesh

	putShelved
	dropShelved
	statementCount
)

// Columns of resources that change together, and their indexes with them. An update names the groups in which something has
// changed.
const (
	identity = iota // what it is
	placing         // whether and where it is listed
	standing        // how it is
	groupCount
)

// always are the columns that every update names. Values that are not given leave what is there.
const always = `label = ?, reason = ?, updated_at = ?, search = ?, sites = ?, epoch = ?, digest = ?, peers = ?, apart = ?,
	mine = coalesce(?, mine), statuses = coalesce(?, statuses)`

var groups = [groupCount]string{
	identity: `, id = ?, kind = ?, collaboration = ?, created_at = ?, past = ?, relations = ?, blobs = ?, about = coalesce(?, about)`,
	placing:  `, hollow = ?, placement = ?, local = ?`,
	standing: `, state = ?, open = ?, pending = ?`,
}

var statementText = texts()

func texts() (all [statementCount]string) {
	all = [statementCount]string{
		begin:    `BEGIN IMMEDIATE`,
		commit:   `COMMIT`,
		rollback: `ROLLBACK`,

		readVault:        `SELECT sealed FROM vault`,
		addVault:         `INSERT INTO vault (sealed) VALUES (?)`,
		findKind:         `SELECT n FROM kinds WHERE service = ? AND kind = ?`,
		addKind:          `INSERT INTO kinds (service, kind) VALUES (?, ?)`,
		findSite:         `SELECT n FROM sites WHERE id = ?`,
		addSite:          `INSERT INTO sites (id) VALUES (?)`,
		findLine:         `SELECT n FROM lines WHERE name = ?`,
		addLine:          `INSERT INTO lines (name) VALUES (?)`,
		findPlacement:    `SELECT n FROM placements WHERE sites = ?`,
		addPlacement:     `INSERT INTO placements (sites) VALUES (?)`,
		addPlacementSite: `INSERT INTO placement_sites (placement, place, site) VALUES (?, ?, ?)`,

		findResource: `SELECT n FROM resources WHERE document = ?`,
		addHollow:    `INSERT INTO resources (document, hollow) VALUES (?, 2)`,
		addResource: `INSERT INTO resources (label, reason, updated_at, search, sites, epoch, digest, peers, apart, mine, statuses,
			id, kind, collaboration, created_at, past, relations, blobs, about, hollow, placement, local, state, open, pending, document)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (document) DO NOTHING`,
		putCheckpoint: `INSERT INTO checkpoints (resource, bytes) VALUES (?, ?)
			ON CONFLICT (resource) DO UPDATE SET bytes = excluded.bytes`,

		putMine:   `UPDATE resources SET mine = ? WHERE n = ?`,
		dropEpoch: `DELETE FROM changes WHERE resource = ? AND epoch = ?`,
		addChange: `INSERT INTO changes (resource, epoch, line, number, signature, bytes) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (resource, epoch, line, number) DO NOTHING`,
		readChange: `SELECT bytes FROM changes WHERE resource = ? AND epoch = ? AND line = ? AND number = ?`,

		dropVoid:    `DELETE FROM changes WHERE resource = ? AND line = ? AND (epoch > ? OR epoch = ? AND number >= ?)`,
		dropAllVoid: `DELETE FROM changes WHERE resource = ? AND epoch >= ? AND line IN (SELECT n FROM lines WHERE name = ? OR name > ? AND name < ?)`,
		dropFork:    `DELETE FROM forks WHERE resource = ? AND line = ?`,
		putFork: `INSERT INTO forks (resource, line, epoch, number, at, first_signature, first_bytes, second_signature, second_bytes)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (resource, line) DO UPDATE SET epoch = excluded.epoch, number = excluded.number,
			at = excluded.at, first_signature = excluded.first_signature, first_bytes = excluded.first_bytes,
			second_signature = excluded.second_signature, second_bytes = excluded.second_bytes`,

		addOperation: `INSERT INTO operations (state, open, states, settled_at, blob_needed, errors, sites, placement, subject, resource,
			type, kind, method, path, scope, origin, user, issued_at, parents, blob, blob_size, change, body, id)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		changeOperation: `UPDATE operations SET ` + moves + `, placement = ?, subject = ?, resource = ?, type = ?, kind = ?, method = ?, path = ?,
			scope = ?, origin = ?, user = ?, issued_at = ?, parents = ?, blob = ?, blob_size = ?, change = ?, body = ?
			WHERE id = ? AND (subject = 0 OR subject = ?9)`,
		moveOperation:    `UPDATE operations SET ` + moves + ` WHERE id = ?`,
		forgetOperations: `DELETE FROM operations WHERE n IN (SELECT value FROM json_each(?)) AND settled_at > 0`,

		putErrand: `INSERT INTO errands (operation, data, at, blob) VALUES (?, ?, ?, ?)
			ON CONFLICT (operation) DO UPDATE SET data = excluded.data, at = excluded.at, blob = excluded.blob`,
		dropErrand: `DELETE FROM errands WHERE operation = ?`,
		putKept: `INSERT INTO outbox (operation, data, kept_at) VALUES (?, ?, ?)
			ON CONFLICT (operation) DO UPDATE SET data = excluded.data, kept_at = excluded.kept_at`,
		dropKept: `DELETE FROM outbox WHERE operation = ?`,
		putAnswer: `INSERT INTO answers (key, body_hash, answer, at) VALUES (?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET body_hash = excluded.body_hash, answer = excluded.answer, at = excluded.at`,
		dropAnswer:  `DELETE FROM answers WHERE key = ?`,
		trimAnswers: `DELETE FROM answers WHERE at < ?`,
		putConflict: `INSERT INTO conflicts (id, document, service, kind, site, since, open, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET document = excluded.document, service = excluded.service, kind = excluded.kind,
			site = excluded.site, since = excluded.since, open = excluded.open, data = excluded.data`,
		dropConflict: `DELETE FROM conflicts WHERE id = ?`,
		lastEvent:    `SELECT coalesce(max(last), 0) FROM events`,
		addEvents:    `INSERT INTO events (last, number, events) VALUES (?, ?, ?)`,
		trimEvents:   `DELETE FROM events WHERE last <= ?`,
		putMesh: `INSERT INTO mesh (author, kind, about, number, record, signature) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (author, kind, about) DO UPDATE SET number = excluded.number, record = excluded.record,
			signature = excluded.signature WHERE excluded.number >= number`,
		dropMesh: `DELETE FROM mesh WHERE author = ? AND kind = ? AND about = ? AND number <= ?`,

		putShelved: `INSERT INTO records (shelf, key, value) VALUES (?, ?, ?)
			ON CONFLICT (shelf, key) DO UPDATE SET value = excluded.value`,
		dropShelved: `DELETE FROM records WHERE shelf = ? AND key >= ? AND key < ?`,
	}
	for mask := range statement(1 << groupCount) {
		text := `UPDATE resources SET ` + always
		for i, group := range groups {
			if mask&(1<<i) != 0 {
				text += group
			}
		}
		all[changeResource+mask] = text + ` WHERE n = ?`
	}
	return all
}

// moves are the columns of an operation that change as sites settle it.
const moves = `state = ?, open = ?, states = ?,
	settled_at = min(?, coalesce(nullif(settled_at, 0), 9223372036854775807)), blob_needed = ?, errors = ?, sites = ?`
