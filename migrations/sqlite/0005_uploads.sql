-- Apps and versions as developers upload them, the files that they keep, and the checks of versions.

CREATE TABLE uploaded_apps (
    did            TEXT    NOT NULL PRIMARY KEY,
    name           TEXT    NOT NULL UNIQUE,
    owner          TEXT    NOT NULL, -- the developer
    latest_version TEXT    NOT NULL, -- the highest that was uploaded
    block_reason   TEXT,             -- NULL: it is not blocked
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX uploaded_apps_of_owner ON uploaded_apps (owner, did);

CREATE TABLE uploaded_versions (
    id          TEXT    NOT NULL PRIMARY KEY,
    app         TEXT    NOT NULL REFERENCES uploaded_apps (did),
    version     TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    document    TEXT    NOT NULL, -- SHA-256 of the signed manifest as it was sent
    content     TEXT    NOT NULL, -- SHA-256 of the canonical manifest without signatures
    bundle      TEXT    NOT NULL, -- SHA-256 of the bundle
    tarball     TEXT    NOT NULL, -- file name of the bundle
    integrity   TEXT    NOT NULL, -- sha512- and base64
    size        INTEGER NOT NULL, -- bytes of the bundle
    entries     INTEGER NOT NULL,
    unpacked    INTEGER NOT NULL, -- bytes of the tar stream
    source      TEXT    NOT NULL,
    signer      TEXT    NOT NULL, -- the key that signed the manifest
    uploaded_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX uploaded_versions_of_app ON uploaded_versions (app, version);
CREATE UNIQUE INDEX uploaded_versions_tarball ON uploaded_versions (app, tarball);
CREATE INDEX uploaded_versions_under_review ON uploaded_versions (app) WHERE status IN ('PENDING_REVIEW', 'IN_REVIEW', 'APPROVED');
CREATE INDEX uploaded_versions_document ON uploaded_versions (document);
CREATE INDEX uploaded_versions_bundle ON uploaded_versions (bundle);

-- Files of a version beside its manifest and its bundle.
CREATE TABLE version_files (
    version_id TEXT    NOT NULL REFERENCES uploaded_versions (id),
    position   INTEGER NOT NULL,
    role       TEXT    NOT NULL,
    path       TEXT    NOT NULL, -- below package/
    sha256     TEXT    NOT NULL,
    size       INTEGER NOT NULL, -- bytes
    PRIMARY KEY (version_id, position)
) STRICT;
CREATE INDEX version_files_sha256 ON version_files (sha256);

-- Files that uploads have stored, and those that are about to be stored. One that no version refers to is an orphan.
CREATE TABLE stored_files (
    sha256      TEXT    NOT NULL PRIMARY KEY,
    size        INTEGER NOT NULL, -- bytes
    claimed_at  INTEGER NOT NULL, -- the last time that an upload has used it
    is_deleting INTEGER NOT NULL CHECK (is_deleting IN (0, 1))
) STRICT;
CREATE INDEX stored_files_claimed ON stored_files (claimed_at, sha256);
CREATE INDEX stored_files_deleting ON stored_files (sha256) WHERE is_deleting;

-- The results of the checks of a version, each replaced when it is run again.
CREATE TABLE version_checks (
    version_id TEXT    NOT NULL REFERENCES uploaded_versions (id),
    name       TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    findings   TEXT    NOT NULL, -- [{"rule", "file", "line", "detail"}, ...]
    checked_at INTEGER NOT NULL,
    PRIMARY KEY (version_id, name)
) STRICT;

-- Content that no version may contain.
CREATE TABLE blocked_digests (
    sha256     TEXT    NOT NULL PRIMARY KEY, -- of a file or a bundle
    reason     TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
