-- One row per message that has a log.
CREATE TABLE logs (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	msg      TEXT    NOT NULL UNIQUE,
	grp      INTEGER NOT NULL, -- the last group, open or ended
	base     INTEGER NOT NULL, -- the last seq before that group
	epoch    INTEGER NOT NULL, -- of the last lease
	owner    TEXT    NOT NULL, -- of the last lease
	open     INTEGER NOT NULL, -- 1 while the group has no terminal event
	last_seq INTEGER NOT NULL, -- the last seq in a chunk
	last_at  INTEGER NOT NULL, -- the last event's at
	trimmed  INTEGER NOT NULL DEFAULT 0, -- events up to this seq are forgotten
	ended    INTEGER NOT NULL DEFAULT 0  -- when the last group ended
);
CREATE INDEX logs_open ON logs (id) WHERE open = 1;
CREATE INDEX logs_ended ON logs (ended) WHERE open = 0 AND trimmed < last_seq;

-- The frames of one message, first_seq to last_seq.
CREATE TABLE chunks (
	log       INTEGER NOT NULL,
	first_seq INTEGER NOT NULL,
	last_seq  INTEGER NOT NULL,
	frames    BLOB    NOT NULL
);
CREATE UNIQUE INDEX chunks_seq ON chunks (log, last_seq);

-- What was committed and is in no chunk yet: one row per commit.
CREATE TABLE journal (
	id     INTEGER PRIMARY KEY,
	frames BLOB NOT NULL
);
