-- What clients of foreign dialects call what is here. A name is its owner's: the
-- same one of another owner is another name.
CREATE TABLE aliases (
	n            INTEGER PRIMARY KEY,
	tenant       TEXT    NOT NULL,
	user         TEXT    NOT NULL,
	dialect      TEXT    NOT NULL,
	kind         TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	id           TEXT    NOT NULL,
	grp          INTEGER NOT NULL, -- of a run
	conversation TEXT    NOT NULL,
	UNIQUE (tenant, user, dialect, kind, name)
);
CREATE INDEX aliases_conversation ON aliases (conversation, n);
