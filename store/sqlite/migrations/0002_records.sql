-- Times are nanoseconds since 1970.
CREATE TABLE conversations (
	n       INTEGER PRIMARY KEY,
	id      TEXT    NOT NULL UNIQUE,
	tenant  TEXT    NOT NULL,
	user    TEXT    NOT NULL,
	title   TEXT    NOT NULL,
	folded  TEXT    NOT NULL, -- the title as search compares it
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	leaf    TEXT    NOT NULL,
	running TEXT    NOT NULL,
	hidden  INTEGER NOT NULL
);
CREATE INDEX conversations_owner ON conversations (tenant, user, updated DESC, n DESC) WHERE hidden = 0;
CREATE INDEX conversations_hidden ON conversations (updated) WHERE hidden = 1;

CREATE TABLE messages (
	n            INTEGER PRIMARY KEY,
	id           TEXT    NOT NULL UNIQUE,
	conversation TEXT    NOT NULL,
	tenant       TEXT    NOT NULL,
	user         TEXT    NOT NULL,
	role         TEXT    NOT NULL,
	parent       TEXT    NOT NULL,
	created      INTEGER NOT NULL,
	status       TEXT    NOT NULL,
	blocks       BLOB    NOT NULL,
	seq          INTEGER NOT NULL,
	finish       TEXT    NOT NULL,
	usage        BLOB    NOT NULL,
	err          BLOB,
	model        BLOB,
	exchange     BLOB,
	activity     BLOB,
	folded       TEXT    NOT NULL -- the text as search compares it
);
CREATE INDEX messages_tree ON messages (conversation, parent, role, n);
CREATE INDEX messages_running ON messages (n) WHERE status = 'running';

-- Three characters at a time, so that it works for every script. Shorter words
-- are looked for in messages.folded itself.
CREATE VIRTUAL TABLE message_index USING fts5(
	folded, content = 'messages', content_rowid = 'n', tokenize = 'trigram case_sensitive 1'
);
CREATE TRIGGER messages_inserted AFTER INSERT ON messages WHEN new.folded <> '' BEGIN
	INSERT INTO message_index (rowid, folded) VALUES (new.n, new.folded);
END;
CREATE TRIGGER messages_deleted AFTER DELETE ON messages WHEN old.folded <> '' BEGIN
	INSERT INTO message_index (message_index, rowid, folded) VALUES ('delete', old.n, old.folded);
END;
CREATE TRIGGER messages_updated AFTER UPDATE OF folded ON messages WHEN old.folded <> new.folded BEGIN
	INSERT INTO message_index (message_index, rowid, folded)
		SELECT 'delete', old.n, old.folded WHERE old.folded <> '';
	INSERT INTO message_index (rowid, folded)
		SELECT new.n, new.folded WHERE new.folded <> '';
END;

CREATE TABLE block_calls (
	block     TEXT PRIMARY KEY,
	message   TEXT NOT NULL,
	tool      TEXT NOT NULL,
	arguments BLOB,
	call      TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX block_calls_message ON block_calls (message);

CREATE TABLE trajectories (
	message TEXT PRIMARY KEY,
	doc     BLOB NOT NULL
);

CREATE TABLE idempotency (
	tenant       TEXT NOT NULL,
	user         TEXT NOT NULL,
	key          TEXT NOT NULL,
	fingerprint  TEXT NOT NULL,
	conversation TEXT NOT NULL,
	message      TEXT NOT NULL,
	question     TEXT NOT NULL, -- the user message
	created      INTEGER NOT NULL,
	PRIMARY KEY (tenant, user, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_conversation ON idempotency (conversation);
CREATE INDEX idempotency_created ON idempotency (created);

CREATE TABLE feed (
	cursor       INTEGER PRIMARY KEY AUTOINCREMENT,
	conversation TEXT    NOT NULL,
	type         TEXT    NOT NULL,
	data         BLOB    NOT NULL,
	created      INTEGER NOT NULL
);
CREATE INDEX feed_conversation ON feed (conversation, cursor);
CREATE INDEX feed_created ON feed (created);
