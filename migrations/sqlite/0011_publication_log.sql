-- The public log of publications. Each entry contains the hash of the one before it.

CREATE TABLE publication_log (
    sequence   INTEGER NOT NULL PRIMARY KEY, -- from 1, without gaps
    created_at INTEGER NOT NULL,
    action     TEXT    NOT NULL,
    app        TEXT    NOT NULL,
    version    TEXT, -- NULL: the entry is about the app
    document   TEXT, -- SHA-256 of the version's signed document
    previous   TEXT    NOT NULL, -- the hash of the entry before it
    hash       TEXT    NOT NULL,
    CHECK ((version IS NULL) = (document IS NULL))
) STRICT;
CREATE INDEX publication_log_of_app ON publication_log (app, sequence);

-- At most one row. Who appends an entry locks it, or inserts it with the first one.
CREATE TABLE publication_log_head (
    id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    sequence INTEGER NOT NULL, -- of the newest entry
    hash     TEXT    NOT NULL
) STRICT;
