-- The public log of publications. Each entry contains the hash of the one before it.

CREATE TABLE publication_log (
    sequence   BIGINT           NOT NULL PRIMARY KEY, -- from 1, without gaps
    created_at TIMESTAMPTZ      NOT NULL,
    action     TEXT             NOT NULL,
    app        TEXT COLLATE "C" NOT NULL,
    version    TEXT COLLATE "C", -- NULL: the entry is about the app
    document   TEXT COLLATE "C", -- SHA-256 of the version's signed document
    previous   TEXT COLLATE "C" NOT NULL, -- the hash of the entry before it
    hash       TEXT COLLATE "C" NOT NULL,
    CHECK ((version IS NULL) = (document IS NULL))
);
CREATE INDEX publication_log_of_app ON publication_log (app, sequence);

-- At most one row. Who appends an entry locks it, or inserts it with the first one.
CREATE TABLE publication_log_head (
    id       BIGINT           NOT NULL PRIMARY KEY CHECK (id = 1),
    sequence BIGINT           NOT NULL, -- of the newest entry
    hash     TEXT COLLATE "C" NOT NULL
);
