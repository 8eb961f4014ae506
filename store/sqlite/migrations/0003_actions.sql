-- What the owner thinks of a message, as JSON; NULL for nothing.
ALTER TABLE messages ADD COLUMN feedback BLOB;
CREATE INDEX messages_paused ON messages (conversation) WHERE status = 'paused';

-- Where turns are that have not ended.
CREATE TABLE turn_states (
	message TEXT PRIMARY KEY,
	paused  INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	data    BLOB
);
CREATE INDEX turn_states_paused ON turn_states (expires) WHERE paused = 1;

CREATE TABLE action_calls (
	n            INTEGER PRIMARY KEY,
	id           TEXT    NOT NULL UNIQUE,
	tenant       TEXT    NOT NULL,
	user         TEXT    NOT NULL,
	key          TEXT    NOT NULL, -- empty for none, and when it was forgotten
	fingerprint  TEXT    NOT NULL,
	conversation TEXT    NOT NULL,
	message      TEXT    NOT NULL,
	block        TEXT    NOT NULL,
	action       TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	payload      BLOB,
	trace        TEXT    NOT NULL,
	lang         TEXT    NOT NULL,
	status       TEXT    NOT NULL,
	http         INTEGER NOT NULL DEFAULT 0,
	answer       BLOB,
	holder       TEXT    NOT NULL,
	lease        INTEGER NOT NULL, -- until when the holder has it
	started      INTEGER NOT NULL,
	finished     INTEGER NOT NULL DEFAULT 0,
	report       TEXT    NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX action_calls_key ON action_calls (tenant, user, key) WHERE key <> '';
CREATE INDEX action_calls_running ON action_calls (lease) WHERE status = 'running';
CREATE INDEX action_calls_ended ON action_calls (finished) WHERE status <> 'running';
CREATE INDEX action_calls_conversation ON action_calls (conversation);

-- Confirmations that were used.
CREATE TABLE action_nonces (
	nonce TEXT PRIMARY KEY,
	until INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX action_nonces_until ON action_nonces (until);

CREATE TABLE block_states (
	n       INTEGER PRIMARY KEY,
	block   TEXT    NOT NULL UNIQUE,
	message TEXT    NOT NULL,
	rev     INTEGER NOT NULL,
	state   BLOB,
	locked  INTEGER NOT NULL,
	call    TEXT    NOT NULL, -- which made the state
	running TEXT    NOT NULL, -- the exclusive call that runs; empty when none does
	logged  INTEGER NOT NULL  -- the last rev that the log has
);
CREATE INDEX block_states_message ON block_states (message);
CREATE INDEX block_states_unlogged ON block_states (n) WHERE rev > logged AND running = '';

-- Entries are never changed, and stay when their conversation is deleted.
CREATE TABLE audit (
	id           TEXT    PRIMARY KEY,
	at           INTEGER NOT NULL,
	tenant       TEXT    NOT NULL,
	user         TEXT    NOT NULL,
	conversation TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	entry        BLOB    NOT NULL
) WITHOUT ROWID;
CREATE INDEX audit_owner ON audit (tenant, user, id);
CREATE INDEX audit_tenant ON audit (tenant, id);
CREATE TRIGGER audit_changed BEFORE UPDATE ON audit BEGIN
	SELECT RAISE(ABORT, 'the audit log is append-only');
END;
CREATE TRIGGER audit_deleted BEFORE DELETE ON audit BEGIN
	SELECT RAISE(ABORT, 'the audit log is append-only');
END;

CREATE TABLE assets (
	n            INTEGER PRIMARY KEY,
	id           TEXT    NOT NULL UNIQUE,
	tenant       TEXT    NOT NULL,
	user         TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	mime         TEXT    NOT NULL,
	size         INTEGER NOT NULL,
	sha256       TEXT    NOT NULL,
	status       TEXT    NOT NULL,
	origin       TEXT    NOT NULL,
	created      INTEGER NOT NULL,
	conversation TEXT    NOT NULL,
	facts        BLOB,
	gone         INTEGER NOT NULL DEFAULT 0 -- 1 when its conversation was deleted
);
CREATE INDEX assets_owner ON assets (tenant, user, size) WHERE gone = 0;
CREATE INDEX assets_conversation ON assets (conversation);
CREATE INDEX assets_created ON assets (created);
CREATE INDEX assets_gone ON assets (created) WHERE gone = 1;
